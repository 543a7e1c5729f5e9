"""The benchmark as a program: what its JSON holds, and what it says when it cannot measure."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import pytest

import throughput
from measuring import processes, report
from measuring.rows import ROWS, chosen_rows
from measuring.session import THOROUGH, Reading, Session

NOTHING = {"stable_baselines3": False, "sbx": False}
EVERYTHING = {"stable_baselines3": True, "sbx": True}


def test_the_command_writes_a_row_with_every_figure(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    words = ["--quick", "--environment", "CartPole-v1", "--only", "ppo_one_agent", "--seconds", "0.2"]
    done = subprocess.run([sys.executable, throughput.__file__, *words, "--json", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(file.read_text())
    assert document["environment"] == "CartPole-v1"
    assert document["machine"]["cores"] >= 1
    assert document["ceiling"]["steps_per_second"] > 0
    assert document["ceiling"]["measured"] == 2
    assert list(document["rows"]) == ["ppo_one_agent"]
    row = document["rows"]["ppo_one_agent"]
    assert row["name"] == "ppo_one_agent"
    assert 0 < row["share_of_ceiling"] < 1
    assert math.isclose(
        row["share_of_ceiling"],
        row["steps_per_second"] / ((document["ceiling"]["lowest"] + document["ceiling"]["highest"]) / 2),
    )
    assert set(row["seconds_per_iteration"]) == {"stepping", "acting", "learning", "writing"}
    assert math.isclose(sum(row["seconds_per_iteration"].values()), 2048 / row["steps_per_second"], rel_tol=0.2)
    assert row["first_iteration_seconds"]["empty_cache"] > 0
    assert row["first_iteration_seconds"]["warm_cache"] is None
    assert row["peak_bytes"] is None or row["peak_bytes"] > 50 * 2**20
    assert "PPO, one agent, 16 x 128" in done.stdout


def _session(rows: list[str], readings: dict[str, list[Reading]]) -> Session:
    session = Session("Hopper-v5", [row for row in ROWS if row.name in rows], THOROUGH, 2, lambda line: None)
    session.ceilings = [100.0, 110.0, 90.0]
    session.readings.update(readings)
    return session


def test_results_are_medians_over_rounds_with_ratios_to_the_peers() -> None:
    from measuring.arithmetic import Split

    parts = Split(0.6, 0.1, 0.2, 0.1)
    session = _session(
        ["ppo_one_agent", "sb3_one_environment"],
        {
            "ppo_one_agent": [Reading(60.0, 0.6, 5, 7.5, parts), Reading(70.0, 0.7, 9, 3.5, parts)],
            "sb3_one_environment": [Reading(6.0, 0.06, None), Reading(5.0, 0.05, None)],
        },
    )
    rows = session.results()
    ours, peer = rows["ppo_one_agent"], rows["sb3_one_environment"]
    assert (ours["steps_per_second"], ours["share_of_ceiling"], ours["peak_bytes"]) == (65.0, pytest.approx(0.65), 9)
    assert ours["times_as_fast_as"] == {"sb3_one_environment": pytest.approx(12.0)}  # of 10 and 14
    assert ours["first_iteration_seconds"] == {"empty_cache": 7.5, "warm_cache": 3.5}
    assert peer["peak_bytes"] is None
    assert "seconds_per_iteration" not in peer
    document = throughput.make_document(session, 0.1, ["sbx_sixteen_environments"])
    assert document["notes"] == [
        "PPO, one agent, 16 x 128: stepping limits it, with 60% of the time; were all the rest free, it would be "
        "1.67 times as fast.",
        "Left out, not installed: sbx_sixteen_environments; pip install 'minutiae[bench]'",
    ]
    lines = report.table(document).splitlines()
    assert lines[2].split() == ["steps/s", "of", "ceiling", "peak", "MiB", "x", "SB3-1"]
    assert lines[4].split()[-4:] == ["65", "0.65", "0", "12.0"]
    assert lines[5].split()[-4:] == ["6", "0.06", "-", "1.0"]


def test_more_cores_and_a_busy_neighbour_are_put_into_words() -> None:
    shares = {"ppo_population": 0.72, "ppo_population_one_worker": 0.4, "busy_neighbour": 0.54}
    rows = {name: {"title": name, "share_of_ceiling": share} for name, share in shares.items()}
    assert throughput.notes(rows, 2, 0.0, []) == [
        "The population is 1.80 times as fast on 2 cores as on one.",
        "busy_neighbour: 75% of the speed is left; without that core at all 50% would be.",
    ]


def test_a_busy_machine_is_told() -> None:
    assert throughput.notes({}, 2, 3.0, []) == [
        "The machine was busy when this began (load 3.0): do not trust these figures."
    ]


def test_peers_are_left_out_by_name_where_they_are_not_installed() -> None:
    rows, missing = chosen_rows([], False, NOTHING)
    assert all(row.trains_minutiae for row in rows)
    assert missing == ["sb3_one_environment", "sb3_sixteen_environments", "sbx_sixteen_environments"]
    rows, missing = chosen_rows([], False, EVERYTHING)
    assert (rows, missing) == (list(ROWS), [])


def test_quick_keeps_the_main_rows_and_whatever_is_named() -> None:
    rows, _ = chosen_rows([], True, EVERYTHING)
    assert [row.name for row in rows] == ["ppo_one_agent", "ppo_population", "trpo_one_agent", "trpo_population"]
    rows, _ = chosen_rows(["busy_neighbour"], True, EVERYTHING)
    assert [row.name for row in rows] == ["busy_neighbour"]


def test_every_row_of_ours_gathers_as_much_and_learns_as_much_per_iteration() -> None:
    from minutiae.details import preset

    for row in ROWS:
        if row.trains_minutiae:
            config = preset(row.preset, "Hopper-v5", **row.details)
            assert config.samples_per_iteration == 2048
            assert (config.minibatches, config.epochs, config.value_epochs) == (32, 10, 10)
            assert config.policy_hidden_sizes == config.value_hidden_sizes == (64, 64)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--only", "ppo_populaton"], "error: unknown row 'ppo_populaton'; did you mean 'ppo_population'?"),
        (["--environment", "Hoper-v5"], "error: unknown environment 'Hoper-v5'; did you mean 'Hopper-v5'?"),
        (
            ["--environment", "gymnasium:Hopper-v5"],
            "error: gymnasium:Hopper-v5 is not served by EnvPool, whose speed is the ceiling; choose an id of EnvPool",
        ),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_exit_code_2(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert throughput.main(words) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(error)


def test_memory_is_that_of_a_process_and_all_below_it() -> None:
    code = (
        "import subprocess, sys\n"
        "taken = bytearray(64 * 2**20)\n"
        "subprocess.run([sys.executable, '-c', 'import time; taken = bytearray(96 * 2**20); time.sleep(1.5)'])"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    peaks: dict[int, int] = {}
    while process.poll() is None:
        peaks |= processes.peak_memory(process.pid)
    if not peaks:
        return  # not Linux: memory is not measured there
    assert len(peaks) == 2
    assert 160 * 2**20 < sum(peaks.values()) < 320 * 2**20


def test_a_neighbour_computes_until_it_is_let_go() -> None:
    with processes.busy_neighbour() as neighbour:
        time.sleep(0.5)
        assert neighbour.poll() is None
        if Path("/proc/self/stat").exists():
            fields = Path(f"/proc/{neighbour.pid}/stat").read_text().rsplit(")", 1)[1].split()
            assert int(fields[11]) > 0  # clock ticks spent computing
    assert neighbour.poll() is not None
