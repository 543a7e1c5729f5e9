"""The measured rows as text and as JSON. Nothing is measured or computed here that `arithmetic` could."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "minutiae",
    "numpy",
    "jax",
    "jaxlib",
    "envpool",
    "gymnasium",
    "mujoco",
    "torch",
    "stable_baselines3",
    "sbx-rl",
)
PEER_HEADINGS = {
    "sb3_one_environment": "x SB3-1",
    "sb3_sixteen_environments": "x SB3-16",
    "sbx_sixteen_environments": "x SBX-16",
}


def versions() -> dict[str, str]:
    """Of everything that could change a figure."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """The processor's own name, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def table(document: Mapping[str, Any]) -> str:
    """Everything in the document that a reader wants to see, in plain text."""
    parts = [_head(document), _rates(document["ceiling"], document["rows"])]
    if any("seconds_per_iteration" in row for row in document["rows"].values()):
        parts += [_splits(document["rows"]), _first_iterations(document["rows"])]
    notes = [f"- {note}" for note in document["notes"]]
    return "\n\n".join([*parts, "\n".join(notes)]) if notes else "\n\n".join(parts)


def _head(document: Mapping[str, Any]) -> str:
    machine = document["machine"]
    return (
        f"{document['environment']} on {machine['cores']} cores of {machine['processor']}, "
        f"load {machine['load_at_start']:.1f} at the start; medians of {document['rounds']} "
        f"round{'s' if document['rounds'] > 1 else ''}"
    )


def _rates(ceiling: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> str:
    peers = [name for name in PEER_HEADINGS if name in rows]
    heading = ["", "steps/s", "of ceiling", "peak MiB", *(PEER_HEADINGS[name] for name in peers)]
    lines = [["EnvPool alone, 16 rows", f"{ceiling['steps_per_second']:,.0f}", "1.00", _mebibytes(ceiling)]]
    lines[0] += [""] * len(peers)
    for row in rows.values():
        cells = [row["title"], f"{row['steps_per_second']:,.0f}", f"{row['share_of_ceiling']:.2f}", _mebibytes(row)]
        lines.append([*cells, *(f"{row['times_as_fast_as'][name]:.1f}" for name in peers)])
    return _aligned([heading, *lines])


def _splits(rows: Mapping[str, Mapping[str, Any]]) -> str:
    parts = ("stepping", "acting", "learning", "writing")
    lines = [["ms per iteration of a worker", *parts, "all"]]
    for row in rows.values():
        if "seconds_per_iteration" in row:
            seconds = row["seconds_per_iteration"]
            total = sum(seconds.values())
            cells = [f"{1e3 * seconds[part]:.1f} ({seconds[part] / total:.0%})" for part in parts]
            lines.append([row["title"], *cells, f"{1e3 * total:.1f}"])
    return _aligned(lines)


def _first_iterations(rows: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [["first iteration done after", "empty cache", "warm cache"]]
    for row in rows.values():
        if "first_iteration_seconds" in row:
            seconds = row["first_iteration_seconds"]
            cells = ("-" if value is None else f"{value:.1f} s" for value in seconds.values())
            lines.append([row["title"], *cells])
    return _aligned(lines)


def _mebibytes(row: Mapping[str, Any]) -> str:
    return "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 2**20:,.0f}"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
