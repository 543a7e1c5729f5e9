"""`minutiae details`: the catalogue on a page, or one detail in full. The text is made in `reports`."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from minutiae.cli.parsing import make_app
from minutiae.errors import MinutiaeError
from minutiae.reports.catalogue import detail_text, details_text

app = make_app("details", "List every implementation detail with its level in each preset, or show one in full.")


@app.default
def details(
    name: str | None = None,
    /,
    *,
    code: Annotated[bool, Parameter(negative="")] = False,
    preset: str | None = None,
) -> int:
    """
    Parameters
    ----------
    name
        A detail, as in value_clipping or value-clipping; left out: all of them.
    code
        Show the code that implements it as well.
    preset
        Show this preset's levels, and what is allowed, instead of what presets differ in.
    """
    if name is None:
        if code:
            raise MinutiaeError("--code needs the name of a detail, as in: minutiae details value_clipping --code")
        sys.stdout.write(details_text(preset))
    else:
        sys.stdout.write(detail_text(name, code))
    return 0
