"""Text as Markdown. Light to import; knows no page."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """`text` so that Markdown shows it as it is."""
    escaped = re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
