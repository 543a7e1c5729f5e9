"""What MkDocs does beyond its plugins: pages from the catalogue, equations as MathML, links to and from reports.

Loaded by mkdocs.yml. The texts come from `minutiae.reports.detail_pages`; nothing is decided here about a detail.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from minutiae.details import CATALOGUE, THEMES
from minutiae.reports.detail_pages import catalogue_page, detail_page
from minutiae.reports.measured_effects import measured_effects, pages_with_effects
from minutiae.reports.study.words import capitalized
from minutiae.reproduction.protocol import ITEMS, Protocol

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

FROM_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files that GitHub wants at the root of the repository and the site shows as pages."""

TRACKERS = {
    "Brax": "google/brax",
    "CleanRL": "vwxyzjn/cleanrl",
    "IsaacLab": "isaac-sim/IsaacLab",
    "PureJaxRL": "luchris429/purejaxrl",
    "ray": "ray-project/ray",
    "Stable-Baselines3": "DLR-RM/stable-baselines3",
    "TF-Agents": "tensorflow/agents",
    "Tianshou": "thu-ml/tianshou",
    "TorchRL": "pytorch/rl",
    "TRL": "huggingface/trl",
    "verl": "volcengine/verl",
}
"""Where the issues and pull requests live that a page tells by `PROJECT #NUMBER`."""

ISSUES = re.compile(rf"\b({'|'.join(TRACKERS)})(\s+#\d+(?:,\s+#\d+)*)")

# Not inside code, nor where it is a link already.
ARXIV = re.compile(r"(?<![\[`/])\barXiv (\d{4}\.\d{5})\b")
REPOSITORY = re.compile(r"(?<![\[`/.\w])github\.com/([\w.-]+/[\w.-]*[\w-])")

SHORT_CODE = re.compile(r"<code>([^<]{1,28})</code>")

EQUATION = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)

FUNCTION = re.compile(r"(?<!<msup>)(?<!<msub>)(<mi>(?:log|tanh)</mi>)(?!<mo stretchy=\"false\">&#x00028;|</mrow>)")


def mathml(latex: str, block: bool) -> str:
    """LaTeX as MathML, which browsers draw by themselves: no script, no font, no network.

    Raises:
        ValueError: something of the LaTeX is unknown and would be shown as it is.
    """
    converted = str(convert(latex, display="block" if block else "inline")).replace("\\_", "_")
    # A function and its argument stand apart, unless there is a parenthesis between them.
    converted = FUNCTION.sub(r"\1<mspace width='0.17em'/>", converted)
    if re.search(r"\\|<m[ion]>&</m[ion]>", converted):
        raise ValueError(f"no MathML for {latex!r}; write it with what latex2mathml knows")
    return converted


def with_equations(page: str) -> str:
    """The HTML of a page, its equations (as pymdownx.arithmatex leaves them) turned into MathML."""

    def replaced(found: re.Match[str]) -> str:
        block = found[1] == "div"
        converted = mathml(html.unescape(found[2]).strip(), block)
        return f'<div class="equation" tabindex="0">{converted}</div>' if block else converted

    return EQUATION.sub(replaced, page)


def reproduction_bundles() -> dict[str, list[str]]:
    """The factors of the reproduction that turn several details together: its pages have no study.toml beside them."""
    bundles = {}
    for item in ITEMS.values():
        if item.study is not None:
            for factor, levels in item.study(Protocol(item.tasks, item.agents)).bundles.items():
                bundles[factor] = sorted({name for details in levels.values() for name in details})
    return bundles


def generated_pages() -> dict[str, str]:
    """Path below docs/ and Markdown of every page that no file holds."""
    reports, bundles = pages_with_effects(DOCS), reproduction_bundles()
    effects = {name: measured_effects(name, reports, bundles) for name in CATALOGUE}
    pages = {"details/index.md": catalogue_page(effects)}
    for name, found in effects.items():
        links = [f"../{effect.page.relative_to(DOCS).as_posix()}/index.html" for effect in found]
        pages[f"details/{name}.md"] = detail_page(name, found, links)
    for source, target in FROM_ROOT.items():
        pages[target] = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
    return pages


def with_details(nav: list[Any]) -> list[Any]:
    """The navigation with the pages of all details, by theme, below the catalogue's."""
    result: list[Any] = []
    for entry in nav:
        ((title, below),) = entry.items() if isinstance(entry, dict) else ((None, entry),)
        if isinstance(below, list):
            result.append({title: with_details(below)})
        else:
            result.append(entry)
        if below == "details/index.md":
            for theme in THEMES:
                names = [name for name, detail in CATALOGUE.items() if detail.theme == theme]
                result.append({capitalized(theme): [f"details/{name}.md" for name in names]})
    return result


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation."""
    config.nav = with_details(config.nav or [])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """The tables of reports as they are, where the reports link to them; and from every report a way back."""
    site = Path(config.site_dir)
    for table in DOCS.glob("**/tables/*.md"):
        copy = site / table.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, copy)
    for report in DOCS.glob("**/index.html"):
        page = site / report.relative_to(DOCS)
        page.write_text(with_way_back(report.read_text(encoding="utf-8"), page, site), encoding="utf-8")


def with_way_back(report: str, page: Path, site: Path) -> str:
    """A report's page, which by itself stands alone, with the site's icon and links to the site and to what holds it.

    Args:
        report: its HTML.
        page: where it lies in the site.
        site: the site's folder.
    """
    holder = next(folder / "index.html" for folder in page.parents[1:] if (folder / "index.html").is_file())
    title = re.search(r"<title>(.*?)</title>", holder.read_text(encoding="utf-8"), re.DOTALL)
    name = "" if title is None else title[1].partition(" - ")[0].strip()
    home, up = (Path(os.path.relpath(target, page.parent)).as_posix() for target in (site / "index.html", holder))
    icon = Path(os.path.relpath(site / "assets/images/favicon.png", page.parent)).as_posix()
    way = f'<nav aria-label="Site"><a href="{home}">minutiae</a> <a href="{up}">{name}</a></nav>'
    return report.replace("</head>", f'<link rel="icon" href="{icon}">\n</head>', 1).replace(
        "<main>", f"<main>\n{way}", 1
    )


def with_sources(markdown: str) -> str:
    """Markdown whose papers and repositories, told by arXiv number and address, are links."""
    markdown = ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", markdown)
    return REPOSITORY.sub(r"[github.com/\1](https://github.com/\1)", markdown)


def with_issues(markdown: str) -> str:
    """Markdown whose issues, told as `PROJECT #NUMBER`, are links."""

    def linked(found: re.Match[str]) -> str:
        address = f"https://github.com/{TRACKERS[found[1]]}/issues"
        return found[1] + re.sub(r"#(\d+)", rf"[#\1]({address}/\1)", found[2])

    return ISSUES.sub(linked, markdown)


def with_links(markdown: str) -> str:
    """A table of another trainer's arguments, its third column (our details) linked to their pages."""
    lines = markdown.splitlines()
    for place, line in enumerate(lines):
        cells = line.split("|")
        if len(cells) > 4 and (found := re.fullmatch(r" `(\w+)`(.*)", cells[3])) and found[1] in CATALOGUE:
            cells[3] = f" [`{found[1]}`](../details/{found[1]}.md){found[2]}"
            lines[place] = "|".join(cells)
    return "\n".join(lines)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links: to papers, repositories and issues, and from other trainers' arguments to details."""
    markdown = with_sources(markdown)
    if page.file.src_uri == "faults.md":
        return with_issues(markdown)
    if page.file.src_uri == "reproduction/README.md":
        # Who reads the repository gets each item's text, who reads the site its page.
        return re.sub(r"\((\w+)/README\.md\)", r"(\1/index.html)", markdown)
    if not page.file.src_uri.startswith("coming-from/"):
        return markdown
    page.meta["hide"] = ["toc"]  # the tables are wide
    return with_links(markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Equations as MathML, and words of code that must not be broken at a dash marked as such."""
    return SHORT_CODE.sub(r'<code class="short">\1</code>', with_equations(content))
