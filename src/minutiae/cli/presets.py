"""`minutiae presets`: what each preset sets. The text is made in `reports`."""

from __future__ import annotations

import sys

from minutiae.cli.parsing import make_app
from minutiae.reports.catalogue import presets_text

app = make_app("presets", "List the presets and what each of them sets away from the defaults.")


@app.default
def presets(name: str | None = None, /) -> int:
    """
    Parameters
    ----------
    name
        A preset, to list its flavours and tasks too; left out: all plain presets.
    """
    sys.stdout.write(presets_text(name))
    return 0
