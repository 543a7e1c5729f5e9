"""Tables of metrics come back as they were, in a stable order, and never hold an iteration twice."""

import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutiae.errors import RunError
from minutiae.runs.metrics import MetricsLog, read_table

COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "loss": st.floats() | st.none(),
        "episodes": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "stopped": st.booleans() | st.none(),
        "tensor": st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.none(),
    },
)


def test_a_hand_written_table(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    log.append({"loss": 1.5, "iteration": 1, "episodes": 3})
    log.append({"iteration": 2, "stopped": True, "loss": math.nan})
    log.append({"iteration": 5, "tensor": "policy/head/bias", "loss": None, "episodes": np.int32(4)})
    log.save()
    frame = read_table(tmp_path / "metrics.parquet")
    assert dict(frame.schema) == {
        "iteration": polars.Int64,
        "loss": polars.Float64,
        "episodes": polars.Int64,
        "stopped": polars.Boolean,
        "tensor": polars.String,
    }
    assert str(frame.rows()) == str(
        [
            (1, 1.5, 3, None, None),
            (2, math.nan, None, True, None),  # measured, and not a number
            (5, None, 4, None, "policy/head/bias"),  # not measured
        ]
    )
    assert log.columns == ["iteration", "loss", "episodes", "stopped", "tensor"]
    assert (len(log), log.last, log.column("episodes")) == (3, 5, [3, None, 4])
    assert next(iter(log)) == {"iteration": 1, "loss": 1.5, "episodes": 3, "stopped": None, "tensor": None}


@given(st.lists(COLUMNS, max_size=6), st.integers(0, 7))
def test_loading_truncating_and_going_on_changes_nothing(rows: list[dict], cut: int) -> None:
    """The table of a run that was killed and resumed is the table of one that was not."""
    with tempfile.TemporaryDirectory() as folder:
        straight, stopped = (MetricsLog(Path(folder) / name) for name in ("straight", "stopped"))
        numbered = [{"iteration": number, **row} for number, row in enumerate(rows, start=1)]
        for row in numbered:
            straight.append(row)
            stopped.append(row)
        stopped.save()
        resumed = MetricsLog.load(stopped.path)
        resumed.truncate(cut)
        assert resumed.last == (min(cut, len(rows)) or None)
        for row in numbered[cut:]:
            resumed.append(row)
        straight.save()
        resumed.save()
        assert resumed.frame().equals(straight.frame(), null_equal=True) or str(list(resumed)) == str(list(straight))
        assert resumed.columns == straight.columns
        assert str(list(MetricsLog.load(resumed.path))) == str(list(straight))


def test_whole_numbers_and_fractions_in_one_column(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    log.append({"iteration": 1, "loss": 1, "nothing": None})
    log.append({"iteration": 2, "loss": 0.5})
    log.save()
    frame = read_table(log.path)
    assert frame["loss"].to_list() == [1.0, 0.5]
    assert frame.schema["nothing"] == polars.Float64


def test_arrays_of_one_number_are_numbers(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    log.append({"iteration": np.int64(1), "loss": np.array(0.5, np.float32), "stopped": np.bool_(True)})
    assert list(log) == [{"iteration": 1, "loss": 0.5, "stopped": True}]
    with pytest.raises(TypeError, match=r"^the metric 'loss' is a list; give one number, flag or text per iteration$"):
        log.append({"iteration": 2, "loss": [1.0]})
    with pytest.raises(TypeError, match="the metric 'loss' is a ndarray"):
        log.append({"iteration": 2, "loss": np.zeros(1)})
    assert len(log) == 1


def test_an_iteration_comes_once_and_in_order(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    log.append({"iteration": 3})
    for iteration in (3, 2):
        with pytest.raises(ValueError) as caught:
            log.append({"iteration": iteration})
        assert str(caught.value) == f"iteration {iteration} does not follow 3; truncate the log before repeating one"
    for iteration in (None, 1.5, True, "4"):
        with pytest.raises(ValueError, match=r"^a row needs a whole 'iteration'; got "):
            log.append({"iteration": iteration})
    log.truncate(2)
    log.append({"iteration": 2})
    assert log.column("iteration") == [2]


def test_a_column_keeps_its_kind(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    log.append({"iteration": 1, "loss": 1.0})
    with pytest.raises(TypeError, match=r"^column 'loss' holds a number and was given text 'nan'; rename one$"):
        log.append({"iteration": 2, "loss": "nan", "fresh": 1})
    assert log.columns == ["iteration", "loss"]  # the refused row left no trace


def test_damaged_tables(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.parquet")
    for iteration in range(1, 40):
        log.append({"iteration": iteration, "loss": iteration / 7})
    log.save()
    whole = log.path.read_bytes()
    for length in range(0, len(whole), 7):
        log.path.write_bytes(whole[:length])
        with pytest.raises(RunError) as caught:
            MetricsLog.load(log.path)
        text = str(caught.value)
        assert text.startswith(f"{log.path} is truncated or damaged: ")
        assert text.endswith("; restore it from a copy, or train the run again under another name")
        assert "\n" not in text
    with pytest.raises(RunError, match="does not exist"):
        MetricsLog.load(tmp_path / "nowhere.parquet")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (polars.DataFrame({"a": [1]}), "has no column 'iteration'; it is not a table of minutiae"),
        (polars.DataFrame({"iteration": [1, 1]}), "the iterations in .* do not increase; "),
        (polars.DataFrame({"iteration": [1, None]}), "do not increase; "),
        (polars.DataFrame({"iteration": [1.0]}), "do not increase; "),
        (
            polars.DataFrame({"iteration": [1], "odd": [[1, 2]]}),
            r"holds columns that minutiae never writes: odd \(List\(Int64\)\); ",
        ),
    ],
)
def test_foreign_tables(tmp_path: Path, frame: polars.DataFrame, message: str) -> None:
    frame.write_parquet(tmp_path / "metrics.parquet")
    with pytest.raises(RunError, match=message):
        MetricsLog.load(tmp_path / "metrics.parquet")


def test_importing_runs_is_cheap() -> None:
    code = (
        "import sys, minutiae.runs, minutiae.runs.sinks, minutiae.runs.sinks.testing\n"
        "heavy = ('jax', 'polars', 'gymnasium', 'tensorboardX', 'wandb', 'mlflow', 'minutiae.control')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert output.stdout == "[]\n"
