"""Pages of reproductions: what they say first, what stands beside what, and that nothing is lost on the way to disk."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from synthetic_reproductions import tables_data

from minutiae.errors import RunError
from minutiae.reproduction.evidence import Evidence
from minutiae.reproduction.numbers import decomposed, decomposition_table, returns_table
from minutiae.reproduction.protocol import ITEMS, item_named, protocol_of
from minutiae.reproduction.reproduce import Reproduction, judged, reproduce, store_folder
from minutiae.studies.results import StudyData

RETURNS = {"ppo": 2513.0, "ppo-m": 2142.0, "trpo": 2043.0, "trpo+": 2466.0, "ppo-noclip": 2371.0}


class Measured:
    """Results of a study that was never trained."""

    def __init__(self, data: StudyData) -> None:
        self._data = data

    def data(self) -> StudyData:
        return self._data

    def seconds(self) -> dict[str, float]:
        ended = self._data.frame.filter(pl.col("status") == "finished")
        return dict.fromkeys(ended["run_id"], 10.0)

    def curves(self, *metrics: str) -> pl.DataFrame:
        return self._data.curves


def page_of(
    name: str, folder: Path, tasks: tuple[str, ...] = ("Hopper", "Walker2d"), **options: object
) -> Reproduction:
    item = item_named(name)
    asked = None if name == "halfcheetah" else tasks
    data = tables_data(folder, RETURNS, tasks=tasks, item=name, **options)  # type: ignore[arg-type]
    return judged(item, protocol_of(item, asked, 5), Measured(data))  # type: ignore[arg-type]


def test_the_answer_comes_first(tmp_path: Path) -> None:
    found = page_of("table2", tmp_path)
    assert found.opening == (
        "Of 6 claims, one per task: 6 supported.",
        "Supported: details over algorithm (Hopper, Walker2d); details help PPO (Hopper, Walker2d); details help TRPO "
        "(Hopper, Walker2d).",
        # Made up: returns around the means of Hopper in both tasks, and best returns a fifth above them.
        "Published means within our 95% intervals: 4 of 8 by the mean return over the last five iterations and 0 of 8 "
        "by the mean return of the best iteration.",
    )
    assert "PPO, PPO-M, PPO-NoClip, TRPO and TRPO+ on Hopper-v4 and Walker2d-v4, 5 agents of each; 50 of 50 runs" in (
        found.about
    )


def test_ours_stands_beside_the_articles(tmp_path: Path) -> None:
    evidence = Evidence(tables_data(tmp_path, RETURNS))
    table = returns_table(evidence, ("ppo", "ppo-m", "ppo-noclip"), "returns")
    assert table.columns == ("task", "algorithm", "ours", "published", "our agents")
    ppo = table.rows[0]
    assert ppo[:2] == ("Hopper", "PPO")
    assert ppo[2].estimate == pytest.approx(2513, abs=40)
    assert (ppo[3].estimate, ppo[3].low, ppo[3].high, ppo[4]) == (2513, 2391, 2632, 5)
    assert table.rows[-1] == ("Hopper", "PPO of Baselines, as quoted", None, 2316, None)


def test_the_decomposition_is_that_of_the_means(tmp_path: Path) -> None:
    evidence = Evidence(tables_data(tmp_path, RETURNS, deviation=1e-6))
    found = decomposed(evidence, "Hopper")
    assert found is not None
    assert found.aai.estimate == pytest.approx(99, abs=1e-3)
    assert found.acli.estimate == pytest.approx(423, abs=1e-3)
    assert found.gain.estimate == pytest.approx(470, abs=1e-3)
    assert found.algorithm.estimate + found.details.estimate == pytest.approx(470, abs=1e-3)
    table = decomposition_table(evidence, "decomposition")
    assert table is not None
    published = {row[1]: row[3] for row in table.rows}
    # (47 + 99) / 2, (371 + 423) / 2, 371 - 423 and 2513 - 2043.
    assert published["Shapley value of the algorithm"] == 73
    assert published["Shapley value of the details"] == 397
    assert published["interaction"] == -52
    assert published["gain from TRPO to PPO"] == 470
    assert (published["AAI: algorithm"], published["ACLI: details"]) == (99, 421)


@pytest.mark.parametrize("name", ["table2", "table3", "figure3", "figure4", "halfcheetah"])
def test_every_page_is_written_whole(name: str, tmp_path: Path) -> None:
    found = page_of(name, tmp_path, ("HalfCheetah",) if name == "halfcheetah" else ("Hopper", "Walker2d"))
    path = found.write_page(tmp_path / "page")
    text = path.read_text()
    assert "too few runs" not in text
    assert found.item.title in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert f"minutiae reproduce {name} --tasks" in text
    readme = (tmp_path / "page" / "README.md").read_text()
    assert found.opening[0] in readme
    for table in found.tables:
        assert (tmp_path / "page" / "tables" / f"{table.name}.csv").read_text().count("\n") == len(table.rows) + 1
    assert list((tmp_path / "page" / "figures").glob("*.svg"))


def test_the_time_is_told_with_that_of_the_articles_agents(tmp_path: Path) -> None:
    text = page_of("table2", tmp_path).write_page(tmp_path / "page").read_text()
    # 50 runs of 61,440 steps in 10 s each; 80 agents of 10 cells are 800 runs, 8,000 s of one core.
    assert "50 runs of 3,072,000 environment steps in all took 0.1 hours of one core: 6,144 steps per second" in text
    assert "80 agents of each of the 10 cells, as in the article, would take two such cores 1 hours." in text


def test_figure_4_shows_fresh_samples(tmp_path: Path) -> None:
    found = page_of("figure4", tmp_path, ("Hopper",))
    assert [sentence for sentence in found.opening if "Published" in sentence] == []
    path = found.write_page(tmp_path / "page")
    names = {file.stem for file in (path.parent / "figures").glob("*.svg")}
    assert names == {"ratio_max_held_out_hopper", "kl_exact_held_out_hopper", "kl_exact_batch_hopper"}


def test_runs_in_which_no_episode_ended_are_told(tmp_path: Path) -> None:
    data = tables_data(tmp_path, RETURNS)
    silent = pl.when(pl.col("preset") == "ppo").then(None).otherwise(pl.col("final_return"))
    frame = data.frame.with_columns(final_return=silent)
    item = item_named("table2")
    measured = Measured(StudyData(data.study, data.folder, frame, data.curves, data.about))
    found = judged(item, protocol_of(item, ["hopper"], 5), measured)  # type: ignore[arg-type]
    assert "In 5 no episode ended, so they have no return." in found.about
    assert "25 of 25 runs have ended" in found.about


def test_a_page_does_not_lie_where_runs_do(tmp_path: Path) -> None:
    for item in ITEMS.values():
        if item.store is not None:
            assert not (tmp_path / item.name).is_relative_to(store_folder(tmp_path, item))


def test_without_runs_there_is_nothing_to_judge(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run of table2 has ended yet in .*; leave out --judge to train"):
        reproduce("table2", tmp_path, tasks=["hopper"], agents=1, train=False)


def test_table_1_is_made_from_the_presets() -> None:
    found = reproduce("table1", tasks=["humanoid"])
    (table,) = found.tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["step"] == ("PPO", "PPO", "PPO", "TRPO", "TRPO")
    assert rows["ratio_clipping"] == ("0.2", "0.2", "off", "–", "–")
    assert rows["value_clipping"] == ("max", "off", "max", "off", "max")
    assert rows["initialization"] == (
        "orthogonal",
        "xavier_uniform",
        "xavier_uniform",
        "xavier_uniform",
        "xavier_uniform",
    )
    assert rows["gradient_clipping"] == ("off", "off", "0.5", "off", "off")
    assert reproduce("table1", tasks=["humanoid"], flavour="paper-text").tables[0] != table
