"""The built site: complete, without a request to anywhere else, without a link that leads nowhere."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import minutiae
from minutiae import statistics
from minutiae.details import CATALOGUE
from minutiae.reports.detail_pages import UNMEASURED

ROOT = Path(__file__).resolve().parents[2]

LOADS = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}
"""Elements that make a browser ask for something, and the attribute that says for what."""

NOT_LOADED = {"canonical", "prev", "next", "alternate", "edit"}
"""Relations of `link` that only tell."""


class Page(HTMLParser):
    """What a page loads, where it leads, and which anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADS and not set(given.get("rel", "").split()) & NOT_LOADED:
            self.loads.append(given.get(LOADS[tag], ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All pages, those of reports among them, but the one for missing pages."""
    found = [path for path in site.rglob("*.html") if path.name != "404.html"]
    return {path: Page(path.read_text(encoding="utf-8")) for path in found}


def test_every_detail_has_a_page(site: Path) -> None:
    for name, detail in CATALOGUE.items():
        text = html.unescape(re.sub(r"<[^>]+>", "", (site / "details" / f"{name}.html").read_text(encoding="utf-8")))
        known = detail.finding if detail.finding != UNMEASURED else "No published measurement is known to us."
        for part in (known, detail.rule):
            assert " ".join(part.split()) in " ".join(text.split()), name
        assert detail.where in text
        for level in detail.who.values():
            assert level in text


def test_reports_lead_back_to_the_site(pages: dict[Path, Page], site: Path) -> None:
    for report, above in (
        ("reproduction/table2/index.html", "../index.html"),
        ("studies/four-details/report/index.html", "../../index.html"),
    ):
        links = pages[site / report].links
        assert links[:2] == [f"{'../' * report.count('/')}index.html", above]


def test_sources_and_issues_are_links(pages: dict[Path, Page], site: Path) -> None:
    assert "https://arxiv.org/abs/2005.12729" in pages[site / "details" / "index.html"].links
    assert "https://github.com/openai/baselines" in pages[site / "details" / "index.html"].links
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    numbers = {f"issues/{number}" for number in re.findall(r"#(\d+)", text)}
    assert {"/".join(link.split("/")[-2:]) for link in pages[site / "faults.html"].links} >= numbers


def test_the_presets_are_listed(site: Path) -> None:
    page = (site / "presets.html").read_text(encoding="utf-8")
    assert all(f">{name}</code></td>" in page for name in minutiae.preset_names())


def test_equations_are_drawn_by_the_browser(site: Path) -> None:
    for name, detail in CATALOGUE.items():
        page = (site / "details" / f"{name}.html").read_text(encoding="utf-8")
        assert page.count('<div class="equation"') == (
            len(detail.equation.split(r" \qquad ")) if detail.equation else 0
        )
        assert "arithmatex" not in page


def test_nothing_is_asked_of_anywhere_else(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        assert [load for load in page.loads if urlsplit(load).netloc or load.startswith("//")] == [], path
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)]*", text) == [], sheet


def test_no_link_leads_nowhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.relative_to(site)}: {link}"


def test_the_api_is_complete(site: Path) -> None:
    anchors = {anchor for path in (site / "api").glob("*.html") for anchor in Page(path.read_text()).anchors}
    missing = {f"minutiae.{name}" for name in minutiae.__all__} | {
        f"minutiae.statistics.{name}" for name in statistics.__all__ if name != "StatisticsError"
    }
    assert missing - anchors == set()


def test_the_navigation_leads_to_every_detail(site: Path, pages: dict[Path, Page]) -> None:
    links = {Path(urlsplit(link).path).name for link in pages[site / "start.html"].links if "details/" in link}
    assert {f"{name}.html" for name in CATALOGUE} <= links
