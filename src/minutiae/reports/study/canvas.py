"""How figures look, in light and dark and at any width: colors, fonts, panels in inches. No data is known here."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

WIDE = 7.4
NARROW = 3.5
"""Inches: the text column of a page, and a phone. Text keeps its size, so each gets a drawing of its own."""

INK = "#737a85"
FAINT = "#a3a9b3"
"""Grays that can be read on white and on near black; the page replaces them by its own text colors."""

SERIES = ("#2f7fc1", "#d9730d", "#1a9470", "#b8559a", "#8f7a00", "#7d6bd0", "#c2483d", "#4b98a8")
"""After Okabe and Ito 2008, each at least 3 : 1 against white and near black; first blue and orange, safe for all."""

DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2)))
"""Lines differ in their dashes too, for print without color."""

BLUE, ORANGE = SERIES[0], SERIES[1]
TEXT = 9.0
SMALL = 8.0
_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": TEXT,
    "svg.fonttype": "none",
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": TEXT,
    "axes.labelsize": SMALL,
    "axes.linewidth": 0.8,
    "axes.unicode_minus": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Picture:
    """A figure that can be drawn at any width.

    Attributes:
        name: of its files.
        title: what it shows, for those who do not see it.
        caption: how to read it, in plain words.
        draw: makes it, from a width in inches.
    """

    name: str
    title: str
    caption: str
    draw: Callable[[float], Figure]

    def files(self) -> tuple[bytes, bytes]:
        """SVG and PNG at full width, on a transparent ground."""
        with _style(self.name):
            figure = self.draw(WIDE)
            return _saved(figure, "svg"), _saved(figure, "png")

    def inline(self, width: float) -> str:
        """SVG for a page, in the page's text colors, which scales down but never up."""
        with _style(f"{self.name}{width}"):
            figure = self.draw(width)
            text = _saved(figure, "svg").decode()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
        text = _own_ids(text, f"{self.name}-{round(width)}-")
        text = text.replace(INK, "currentColor").replace(FAINT, "var(--faint)")
        pixels = round(width * 96)
        head = f'<svg role="img" aria-label="{_attribute(self.title)}" style="width:100%;max-width:{pixels}px" '
        return re.sub(r'<svg (.*?)width="[^"]*"', rf"{head}\1", text, count=1, flags=re.DOTALL).replace(
            f'height="{_points(figure)}pt"', "", 1
        )


def _own_ids(text: str, prefix: str) -> str:
    """Ids that only this drawing has, since a page may have each once; those that nothing refers to go."""
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    return re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{prefix}", text)


def _points(figure: Figure) -> str:
    height = f"{figure.get_figheight() * 72:f}".rstrip("0").rstrip(".")
    return height


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace("\\", "\\\\")


@contextmanager
def _style(salt: str) -> Iterator[None]:
    # The salt makes ids, and so the file, the same at every run.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": salt}):
        yield


def _saved(figure: Figure, kind: str) -> bytes:
    image = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(image, format=kind, dpi=150, metadata=metadata)
    return image.getvalue()


def wrapped(text: str, width: float, size: float = SMALL) -> str:
    """`text` in lines that fit `width` inches, broken at blanks, and after underscores where a word is too long."""
    # The mean letter of DejaVu Sans is 0.56 of its size wide; other fonts are narrower.
    most = max(8, int(width * 72 / (0.56 * size)))
    lines = [""]
    for word in text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}").split(" "):
        for index, part in enumerate(re.findall(r"[^_]*_+|[^_]+", word) if len(word) > most else [word]):
            blank = " " if lines[-1] and index == 0 else ""
            if lines[-1] and len(lines[-1]) + len(blank) + len(part) > most:
                lines.append(part)
            else:
                lines[-1] += blank + part
    return "\n".join(lines)


def sheet(width: float, height: float, note: str, top: float = 0.0) -> tuple[Figure, float, float]:
    """A figure with room for `height` inches of drawing above its note, which says how intervals were made.

    Returns:
        The figure, its height, and the height of the note, both in inches.
    """
    text = wrapped(note, width - 0.1, 7.5)
    below = 0.14 * (text.count("\n") + 1) + 0.12
    total = height + below + top
    figure = Figure(figsize=(width, total))
    figure.text(0.05 / width, 0.05 / total, text, fontsize=7.5, color=INK, va="bottom", ha="left", linespacing=1.25)
    return figure, total, below


def place(figure: Figure, left: float, bottom: float, width: float, height: float, **options: Any) -> Axes:
    """Axes at a place in inches."""
    across, up = figure.get_size_inches()
    axes = figure.add_axes((left / across, bottom / up, width / across, height / up), **options)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def tick_text(value: float, _: object = None) -> str:
    """Short numbers for axes: `2.5k`, `−3M`, `0.01`."""
    for limit, unit in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{value / scale:,.3g}{unit}".replace("-", "−")
    return f"{value:,.6g}".replace("-", "−")


def number_axis(axis: Any, most: int = 5) -> None:
    """Few ticks with short numbers."""
    # One tick alone would tell no scale.
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(tick_text))


def panels(
    width: float, titles: Sequence[str], note: str, *, least: float = 1.4, tall: float = 1.25, top: float = 0.0,
    across: str = "", up: str = "", under: int = 0,
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """Small panels of one scale: as many columns as fit, axis texts at the rim only.

    Args:
        width: inches.
        titles: one per panel, wrapped to it.
        note: below all.
        least: width of a panel, at least.
        tall: height of each.
        top: room above, for a legend.
        across, up: what the axes show.
        under: lines left free between title and panel.
    """
    left, right, gap = 0.7, 0.12, 0.26
    columns = max(1, min(4, len(titles), int((width - left - right + gap) // (least + gap))))
    rows = -(-len(titles) // columns)
    wide = (width - left - right - gap * (columns - 1)) / columns
    lines = [wrapped(title, wide, SMALL) + "\n" * under for title in titles]
    head = 0.14 * max(text.count("\n") + 1 if text else 0 for text in lines) + 0.1
    # Full rows share ticks; where the last row is short, the panels above its gap carry their own.
    step, foot = head + tall + 0.08, 0.38
    ragged = len(titles) % columns != 0 and rows > 1
    step += 0.2 if ragged else 0
    figure, total, below = sheet(width, rows * step + foot, note, top)
    axes: list[Axes] = []
    for index, text in enumerate(lines):
        row, column = divmod(index, columns)
        bottom = total - top - (row + 1) * step + 0.08 + (0.2 if ragged else 0)
        one = place(figure, left + column * (wide + gap), bottom, wide, tall, **_shared(axes))
        # Not a title: matplotlib would measure all ticks to place one, the slowest part of a drawing.
        one.text(0, 1 + 0.05 / tall, text, transform=one.transAxes, fontsize=SMALL, va="bottom", linespacing=1.1)
        number_axis(one.yaxis, 4)
        number_axis(one.xaxis, 2 if wide < 2 else 3 if wide < 2.5 else 5)
        one.tick_params(labelleft=column == 0, labelbottom=index + columns >= len(titles), length=2.5)
        one.grid(color=FAINT, alpha=0.3, linewidth=0.5)
        one.set_axisbelow(True)
        axes.append(one)
    middle = (below + foot + total - top) / 2 / total
    figure.text(0.02 / width, middle, up, rotation=90, va="center", ha="left", fontsize=SMALL)
    figure.text(
        (left + (width - left - right) / 2) / width, (below + 0.02) / total, across, ha="center", fontsize=SMALL
    )
    return figure, axes


def logarithmic_axis(axes: Axes, low: float, high: float) -> None:
    """A vertical axis over several magnitudes, with plain numbers."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 200 * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(tick_text))
    axes.yaxis.set_minor_locator(NullLocator())


def _shared(axes: Sequence[Axes]) -> dict[str, Any]:
    return {"sharex": axes[0], "sharey": axes[0]} if axes else {}


def legend(figure: Figure, entries: Sequence[tuple[str, str, Any]], width: float) -> None:
    """Lines and their names in rows from the top left; entries are (name, color, dashes)."""
    total = figure.get_figheight()
    for (name, color, dashes), (left, row) in zip(
        entries, _places([entry[0] for entry in entries], width), strict=True
    ):
        y = (total - 0.12 - 0.19 * row) / total
        figure.add_artist(
            matplotlib.lines.Line2D(
                [(left) / width, (left + 0.28) / width], [y, y], color=color, linestyle=dashes, linewidth=2
            )
        )
        figure.text((left + 0.35) / width, y, name, va="center", fontsize=SMALL)


def legend_height(names: Sequence[str], width: float) -> float:
    """Inches that `legend` takes."""
    return 0.19 * (max(row for _, row in _places(names, width)) + 1) + 0.08 if names else 0.0


def _places(names: Sequence[str], width: float) -> list[tuple[float, int]]:
    places, left, row = [], 0.05, 0
    for name in names:
        wide = 0.35 + len(name) * 0.56 * SMALL / 72 + 0.22
        if left > 0.05 and left + wide > width:
            left, row = 0.05, row + 1
        places.append((left, row))
        left += wide
    return places


def span(arrays: Sequence[np.ndarray], margin: float = 0.08) -> tuple[float, float] | None:
    """From the least to the largest finite value, and a margin; `None` without any."""
    finite = np.concatenate([np.asarray(a, dtype=float).ravel() for a in arrays]) if arrays else np.empty(0)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    room = margin * (high - low or abs(high) or 1.0)
    return low - room, high + room
