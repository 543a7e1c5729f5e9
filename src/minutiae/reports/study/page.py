"""One self-contained HTML page: no network, light and dark, any width, prints well. Knows no statistics."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from minutiae.reports.study.canvas import NARROW, WIDE, Picture
from minutiae.reports.study.tables import Table

STYLE = """
:root{color-scheme:light dark;--ground:#fff;--ink:#1d2026;--soft:#545b66;--faint:#a3a9b3;--line:#e1e4e8;--wash:#f4f6f8;
--shade:#0003;--accent:#1f6fb2}
@media(prefers-color-scheme:dark){:root{--ground:#15181d;--ink:#e4e7ec;--soft:#a9b0bb;--faint:#6a717c;--line:#2c3139;
--wash:#1d2128;--shade:#000a;--accent:#6db3ec}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"DejaVu Sans",sans-serif}
main{max-width:47rem;margin:0 auto;padding:1.5rem 1.1rem 4rem}
h1{font-size:1.65rem;line-height:1.25;margin:.5rem 0 .75rem;text-wrap:balance}
h2{font-size:1.2rem;margin:2.75rem 0 .5rem;padding-top:.9rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.75rem 0 .25rem}
p{margin:.5rem 0}
a{color:var(--accent)}
.kind{color:var(--soft);font-size:.85rem;margin:0}
.answer{background:var(--wash);border-left:4px solid var(--accent);border-radius:4px;
padding:.75rem 1rem;margin:1.25rem 0}
.answer p:first-child{font-weight:600}
nav{font-size:.9rem;line-height:1.9}
nav a{margin-right:1rem;white-space:nowrap}
figure{margin:1.25rem 0 2rem}
figure svg{display:block;height:auto;margin:0 auto}
figcaption{color:var(--soft);font-size:.88rem;line-height:1.5;margin-bottom:.75rem}
.narrow{display:none}
.table{overflow-x:auto;margin:1rem 0 .25rem;background:linear-gradient(to right,var(--ground) 30%,transparent) 0 0,
linear-gradient(to left,var(--ground) 30%,transparent) 100% 0,linear-gradient(to right,var(--shade),transparent) 0 0,
linear-gradient(to left,var(--shade),transparent) 100% 0;background-repeat:no-repeat;
background-size:2.5rem 100%,2.5rem 100%,.8rem 100%,.8rem 100%;background-attachment:local,local,scroll,scroll}
table{border-collapse:collapse;font-size:.88rem;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding-bottom:.4rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--soft);white-space:nowrap}
td{overflow-wrap:break-word;min-width:2.5rem;max-width:22rem}
.number{text-align:right;white-space:nowrap}
.note{color:var(--soft);font-size:.82rem;line-height:1.45;margin-top:.25rem}
.files,.name{white-space:nowrap}
wbr{display:none}
summary{cursor:pointer;font-size:.9rem;color:var(--accent);margin:1rem 0 .25rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.25rem;font-size:.9rem}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
code,pre{font:.85rem/1.45 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--wash);padding:.75rem;overflow-x:auto;border-radius:4px}
@media(max-width:640px){main{padding:1rem .9rem 3rem}h1{font-size:1.35rem}.wide{display:none!important}
.narrow{display:block!important}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
th,td{padding-right:.7rem}table{font-size:.8rem}td{max-width:11rem}td:first-child{min-width:7.2rem;max-width:8.5rem}
.name{white-space:normal}wbr{display:inline}}
@media print{:root{--ground:#fff;--ink:#000;--soft:#333;--faint:#888;--line:#ccc;--wash:#f4f4f4;color-scheme:light}
body{font-size:10.5pt}main{max-width:none;padding:0}nav,.files{display:none}figure,tr{break-inside:avoid}
h2,h3,figcaption{break-after:avoid}.table{overflow:visible}.wide{display:block!important}.narrow{display:none!important}
a{color:inherit;text-decoration:none}}
"""


@dataclass
class Section:
    """A heading and what stands under it, in order: paragraphs, figures, tables, or ready HTML."""

    title: str
    parts: list[str | Picture | Table | Sequence[str]] = field(default_factory=list)

    def html(self) -> str:
        """With an id to link to."""
        body = "\n".join(_part(part) for part in self.parts)
        return f'<section id="{anchor(self.title)}"><h2>{html.escape(self.title)}</h2>\n{body}\n</section>'


def anchor(title: str) -> str:
    """A title as an id."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>"


def heading(text: str) -> str:
    """A heading within a section."""
    return f"<h3>{html.escape(text)}</h3>"


def definitions(entries: dict[str, str]) -> str:
    """Names and their values."""
    pairs = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in entries.items())
    return f"<dl>{pairs}</dl>"


def bullets(lines: Sequence[str]) -> str:
    """A list of plain texts."""
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def preformatted(text: str) -> str:
    """Text as it is, in a box that scrolls."""
    return f"<pre tabindex=0>{html.escape(text)}</pre>"


def figure(picture: Picture) -> str:
    """A figure drawn twice, for wide and for narrow pages, with its explanation above."""
    return (
        f"<figure><figcaption>{html.escape(picture.caption)} "
        f'<span class=files><a href="figures/{picture.name}.svg">SVG</a>, '
        f'<a href="figures/{picture.name}.png">PNG</a></span></figcaption>'
        f"<div class=wide>{picture.inline(WIDE)}</div><div class=narrow>{picture.inline(NARROW)}</div></figure>"
    )


def page(kind: str, title: str, introduction: str, answer: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole document.

    Args:
        kind: what the page is, above its title.
        title: of the page.
        introduction: a paragraph.
        answer: sentences that stand out, the first most.
        sections: those without parts are left out.
    """
    shown = [section for section in sections if section.parts]
    links = "".join(f'<a href="#{anchor(section.title)}">{html.escape(section.title)}</a> ' for section in shown)
    body = "\n".join(section.html() for section in shown)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<p class=kind>{html.escape(kind)}</p>\n<h1>{html.escape(title)}</h1>\n{paragraph(introduction)}\n"
        f'<div class="answer">{"".join(paragraph(text) for text in answer)}</div>\n'
        f"<nav>{links}</nav>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _part(part: str | Picture | Table | Sequence[str]) -> str:
    if isinstance(part, Picture):
        return figure(part)
    if isinstance(part, Table):
        return part.html()
    return part if isinstance(part, str) else bullets(part)
