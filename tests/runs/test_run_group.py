"""Runs trained together are found together again, and a group's file cannot point outside of its folder."""

import json
import os
from pathlib import Path

import pytest

from minutiae.errors import RunError
from minutiae.runs import RunDirectory, RunGroup, common_iteration
from minutiae.runs.group import is_group


def test_the_life_of_a_group(tmp_path: Path) -> None:
    path = tmp_path / "sweep"
    RunGroup.create(path, ["seed-0", "seed-1", "seed-2"], [["seed-0", "seed-2"], ["seed-1"]])
    assert is_group(path)
    assert not is_group(tmp_path)
    group = RunGroup.open(path)
    assert group.members == ("seed-0", "seed-1", "seed-2")
    assert group.chunks == (("seed-0", "seed-2"), ("seed-1",))
    assert group.missing == group.members
    assert not group.finished
    for seed, name in enumerate(group.members):
        RunDirectory.create(group.member_path(name), "steps = 3\n", seed)
    assert group.missing == ()
    assert not group.finished
    for name in group.members:
        group.run(name).finish()
    assert group.finished
    assert group.run("seed-1").seed == 1
    with pytest.raises(RunError) as caught:
        group.run("seed1")
    assert str(caught.value) == (
        f"unknown member of the group {path} 'seed1'; did you mean 'seed-1'? allowed: seed-0, seed-1, seed-2"
    )


def test_one_chunk_unless_told(tmp_path: Path) -> None:
    RunGroup.create(tmp_path / "a", ["x", "y"])
    assert RunGroup.open(tmp_path / "a").chunks == (("x", "y"),)


def test_places_that_are_taken(tmp_path: Path) -> None:
    RunGroup.create(tmp_path / "a", ["x"])
    with pytest.raises(RunError, match=f"^{tmp_path}/a already holds a group; use 'minutiae resume {tmp_path}/a' or"):
        RunGroup.create(tmp_path / "a", ["x"])
    RunDirectory.create(tmp_path / "b", "steps = 3\n", 0)
    with pytest.raises(RunError, match=r"b holds other files \(config.toml\); choose another name for the group$"):
        RunGroup.create(tmp_path / "b", ["x"])


def test_a_group_is_not_a_run_nor_the_reverse(tmp_path: Path) -> None:
    RunGroup.create(tmp_path / "a", ["x", "y"])
    RunDirectory.create(tmp_path / "a" / "x", "steps = 3\n", 0)
    with pytest.raises(RunError, match=r"^.*a holds a group of runs; open one of them: x$"):
        RunDirectory.open(tmp_path / "a")
    with pytest.raises(RunError, match=r"x is not a group of runs: it has no group.json; give the folder that holds"):
        RunGroup.open(tmp_path / "a" / "x")


ESCAPES = [
    "../elsewhere", "..", ".", "", "/etc", "a/b", "a\\b", "C:", "C:\\temp", "..\\up", "nul", "COM1.txt",
    " a", "a ", "a.", ".hidden", "a\nb", "a\0b", "a\u202eb", "x" * 256, "é" * 128, "~/\u2028", "a*", "<a>",
]  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_no_way_out(tmp_path: Path, name: str) -> None:
    RunGroup.create(tmp_path / "a", ["x"])
    file = tmp_path / "a" / "group.json"
    file.write_text(json.dumps({"format": 1, "members": ["x", name], "chunks": [["x", name]]}))
    with pytest.raises(RunError) as caught:
        RunGroup.open(tmp_path / "a")
    text = str(caught.value)
    assert text == (
        f"{file} is damaged: the member {name[:60]!r} is not a plain folder name inside the group; "
        "restore it from a copy, or resume the members one by one"
    )
    assert "\n" not in text
    with pytest.raises(RunError, match=r"^cannot make a group at .*b: the member "):
        RunGroup.create(tmp_path / "b", [name])
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("members", "chunks", "problem"),
    [
        ([], [], "'members' must be a list of at least one folder name"),
        ("x", [["x"]], "'members' must be a list of at least one folder name"),
        ([3], [[3]], "'members' must be a list of at least one folder name"),
        (None, None, "'members' must be a list of at least one folder name"),
        (["x", "X"], [["x", "X"]], "two members have the same name"),
        (["x"], "x", "'chunks' must be a list of lists of members, none of them empty"),
        (["x"], [["x"], []], "'chunks' must be a list of lists of members, none of them empty"),
        (["x"], ["x"], "'chunks' must be a list of lists of members, none of them empty"),
        (["x", "y"], [["x"]], "'chunks' must name every member exactly once"),
        (["x", "y"], [["x", "y"], ["x"]], "'chunks' must name every member exactly once"),
        (["x", "y"], [["x", "z"]], "'chunks' must name every member exactly once"),
        (["x"], [[0]], "'chunks' must name every member exactly once"),
    ],
)
def test_lists_that_do_not_fit(tmp_path: Path, members: object, chunks: object, problem: str) -> None:
    file = tmp_path / "group.json"
    file.write_text(json.dumps({"format": 1, "members": members, "chunks": chunks}))
    with pytest.raises(RunError) as caught:
        RunGroup.open(tmp_path)
    assert (
        str(caught.value) == f"{file} is damaged: {problem}; restore it from a copy, or resume the members one by one"
    )


def test_cut_anywhere(tmp_path: Path) -> None:
    RunGroup.create(tmp_path / "a", ["x", "y"])
    file = tmp_path / "a" / "group.json"
    whole = file.read_bytes()
    for length in range(len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(
            RunError, match=r"is damaged: .*; restore it from a copy, or resume the members one by one$"
        ):
            RunGroup.open(tmp_path / "a")


def test_a_member_beside_the_group_by_a_link_is_the_owner_s_choice(tmp_path: Path) -> None:
    """Scratch disks are linked in like that; only names in the file are untrusted."""
    RunDirectory.create(tmp_path / "scratch", "steps = 3\n", 4)
    RunGroup.create(tmp_path / "a", ["x"])
    os.symlink(tmp_path / "scratch", tmp_path / "a" / "x")
    assert RunGroup.open(tmp_path / "a").run("x").seed == 4


def test_where_a_population_goes_on(tmp_path: Path) -> None:
    first, second = (RunDirectory.create(tmp_path / name, "steps = 3\n", 0) for name in ("first", "second"))
    assert common_iteration([first, second]) is None
    first.save_checkpoint(5, {}, {})
    assert common_iteration([first, second]) is None  # killed in the first save
    second.save_checkpoint(5, {}, {})
    first.save_checkpoint(10, {}, {})
    assert common_iteration([first, second]) == 5  # killed in the second
    newest = second.save_checkpoint(10, {}, {})
    assert common_iteration([first, second]) == 10
    newest.write_bytes(b"damaged")
    assert common_iteration([first, second]) == 5
    first.save_checkpoint(15, {}, {})
    with pytest.raises(RunError) as caught:
        common_iteration([first, second])
    assert str(caught.value) == (
        "the runs have no readable checkpoint in common (first has 10, 15; second has 5); resume them one by one"
    )
    (second.checkpoint_path / "000005.safetensors").write_bytes(b"damaged")
    with pytest.raises(RunError, match="nothing readable is left in "):
        common_iteration([first, second])
