"""Every detail and every level changes what it says it changes, and nothing else."""

from __future__ import annotations

from typing import Any

import contract_host_rows
import contract_learner_rows
import contract_outputs
import numpy as np
import pytest
from contract_switch import Switch

from minutiae.details import CATALOGUE
from minutiae.details.levels import Choice, Flag

TABLE = [*contract_host_rows.ROWS, *contract_learner_rows.ROWS]

pytestmark = pytest.mark.usefixtures("quick_compilation")


def rows() -> list[Any]:
    """One row for each level of each switch."""
    return [
        pytest.param(switch, level, id=f"{switch.detail}={CATALOGUE[switch.detail].format(level)}")
        for switch in TABLE
        for level in switch.levels
    ]


@pytest.mark.parametrize("detail", CATALOGUE)
def test_every_detail_and_every_level_has_a_row(detail: str) -> None:
    levels = {level for switch in TABLE if switch.detail == detail for level in switch.levels}
    kind = CATALOGUE[detail].levels
    if isinstance(kind, (Choice, Flag)):
        assert levels == set(kind.order if isinstance(kind, Choice) else (None, True))
    else:
        assert len(levels - {None}) >= 2, "a number shows its effect between two values"
        assert (None in levels) == kind.off


@pytest.mark.parametrize(("switch", "level"), rows())
def test_a_level_changes_what_it_says_and_nothing_else(switch: Switch, level: Any) -> None:
    config = switch.config(level)
    assert config.applies(switch.detail)
    outputs = contract_outputs.of(config, switch.update)
    for other in switch.levels:
        if other != level:
            others = contract_outputs.of(switch.config(other), switch.update)
            changed = contract_outputs.changed(outputs, others)
            assert changed - switch.rounded == switch.expected(level, other) - switch.rounded, f"against {other}"
            for name in switch.rounded:
                np.testing.assert_allclose(outputs[name], others[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("switch", "level"), [row for row in rows() if row.values[0].by_hand])
def test_a_level_is_what_its_rule_says(switch: Switch, level: Any) -> None:
    config = switch.config(level)
    outputs = contract_outputs.of(config, update=False)
    for work_out in switch.by_hand:
        for name, expected in work_out(config, outputs).items():
            np.testing.assert_allclose(outputs[name], expected, rtol=2e-5, atol=2e-6, err_msg=name)
