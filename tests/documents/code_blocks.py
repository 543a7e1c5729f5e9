"""Fenced blocks of Markdown pages, and how they are scaled down to be run in a test. Nothing is run here."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def is_report(page: Path) -> bool:
    """Whether a generated page stands beside its text."""
    return (page.parent / "index.html").is_file()


PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("examples/**/*.md"),
        *(page for page in ROOT.glob("docs/**/*.md") if page.parent.name != "tables" and not is_report(page)),
    ]
)
"""All pages that people read; reports, which have a page of their own, are generated and hold no code."""

ITERATIONS = 2
SEEDS = 2
EPISODES = 2
STEPS = ITERATIONS * 2048
"""Of a preset's two thousand and some samples an iteration: what `--steps` and `steps =` become in a test."""

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        line: of its fence, from 1.
        language: first word after the fence.
        title: of the file that it shows, or "".
        text: without the fence and its indentation.
    """

    line: int
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order. TOML without a title is named by the last `NAME.toml` of the paragraph before."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        info, indent = match["info"].strip(), len(match["indent"])
        title = re.search(r'title="([^"]+)"', info)
        language = re.split(r"[\s{]", info)[0]
        paragraph = text[: match.start()].rstrip().rpartition("\n\n")[2]
        named = re.findall(r"`([\w/.-]+\.toml)`", paragraph) if language == "toml" else []
        found.append(
            Block(
                line=text[: match.start()].count("\n") + 1,
                language=language,
                title=title[1] if title else named[-1] if named else "",
                text="".join(line[indent:] for line in match["text"].splitlines(keepends=True)),
            )
        )
    return found


def commands(block: Block) -> list[list[str]]:
    """The commands of a `console` block as words, comments left out, `&&` and continued lines resolved."""
    joined = block.text.replace("\\\n", " ")
    lines = [shlex.split(part, comments=True) for line in joined.splitlines() for part in line.split("&&")]
    lines = [words[1:] if words[:1] == ["srun"] else words for words in lines]
    return [[words[0].removeprefix(".venv/bin/"), *words[1:]] for words in lines if words]


def small_command(words: list[str]) -> list[str]:
    """A command that does the same with fewer steps, seeds, episodes, pictures and processes."""
    if words[1:3] == ["benchmarks/returns.py", "train"]:
        words = with_option(with_option(words, "--steps", STEPS, add=True), "--seeds", SEEDS, add=True)
        return with_option(with_option(words, "--tasks", "Hopper-v5", add=True), "--workers", 1, add=True)
    kind = words[1] if len(words) > 1 else ""
    if kind == "train" and not {"--config", "--show-config", "--help"} & set(words):
        words = with_option(with_option(words, "--steps", STEPS, add=True), "--seeds", SEEDS)
        return with_option(words, "--workers", 1, add="--seeds" in words)
    if kind == "evaluate":
        return with_option(words, "--episodes", EPISODES, add=True)
    if kind == "watch":
        return with_option(words, "--max-steps", 3, add=True)
    if kind == "reproduce" and "--archive" in words and "--judge" not in words:
        return [*words, "--judge"]  # by the runs that the archive has
    if kind == "reproduce" and len(words) > 2 and not {"--list", "--judge", "--help"} & set(words):
        words = with_option(with_option(words, "--steps", STEPS, add=True), "--agents", SEEDS, add=True)
        words = with_option(with_option(words, "--tasks", "hopper", add=True), "--workers", 1, add=True)
        return with_option(words, "--learning-rates", 1e-4, add=words[2] == "figure1")
    if words[1:3] == ["study", "run"]:
        # On this machine and in its own folders: clusters have tests of their own.
        words = [word.removeprefix("/") if word.startswith("/shared/") else word for word in words]
        words = with_option(words, "--on", "local")
        return with_option(words, "--workers", 1, add=True)
    if words[1:3] == ["study", "plan"] and "--quick" not in words:
        return [*words, "--quick"]
    return words


def with_option(words: list[str], option: str, value: int | float | str, add: bool = False) -> list[str]:
    """`option` with `value` in place of its own, or added where it is missing and `add` is set."""
    if option in words:
        place = words.index(option) + 1
        return [*words[:place], str(value), *words[place + 1 :]]
    return [*words, option, str(value)] if add else words


def small_toml(text: str) -> str:
    """A study or config file with fewer steps and seeds."""
    text = re.sub(r"^steps = [\d_]+$", f"steps = {STEPS}", text, flags=re.MULTILINE)
    return re.sub(r"^seeds = \d+$", f"seeds = {SEEDS}", text, flags=re.MULTILINE)


def small_python(text: str) -> str:
    """Python with fewer steps, seeds and episodes; presets and trainings that name no steps get few."""
    text = re.sub(r"(minutiae\.(?:preset|train)\((?![^()]*steps)[^()]*)\)", rf"\1, steps={STEPS})", text)
    text = re.sub(r'(\bsteps"?[=:] ?)[\d_]+', rf"\g<1>{STEPS}", text)
    text = re.sub(r"(\bseeds=)\d+", rf"\g<1>{SEEDS}", text)
    text = re.sub(r"(\bepisodes=)\d+", rf"\g<1>{EPISODES}", text)
    return re.sub(r"(for seed in range\()\d+", rf"\g<1>{SEEDS}", text)
