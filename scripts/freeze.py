"""Writes constraints.txt: the newest versions that pip chooses on each Python, merged into one file.

python scripts/freeze.py python3.11 python3.12 python3.13

Run it, then `scripts/test-pythons`, and commit the file only when all tests pass on each.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = """\
# What this release was tested with, on Python {versions}: pip install . -c constraints.txt
# Written by scripts/freeze.py. A package on several lines needs another version on some Pythons.
"""


def frozen(python: str, folder: Path) -> tuple[str, dict[str, str]]:
    """Version of an interpreter, and of every package that installing minutiae brings with it there."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = subprocess.check_output([python, "-c", asked], text=True).strip()
    inside = str(folder / version / "bin" / "python")
    subprocess.check_call([python, "-m", "venv", str(folder / version)])
    subprocess.check_call([inside, "-m", "pip", "install", "--quiet", "--editable", f"{ROOT}[test,lint,docs]"])
    command = [inside, "-m", "pip", "freeze", "--exclude-editable"]
    lines = subprocess.check_output(command, text=True).splitlines()
    return version, dict(line.split("==") for line in lines if "==" in line)


def merged(chosen: dict[str, dict[str, str]]) -> list[str]:
    """One line for each package and version, with a marker where not every Python has it."""
    lines = []
    for name in sorted({name for packages in chosen.values() for name in packages}, key=str.lower):
        by_version: dict[str, list[str]] = {}
        for python, packages in chosen.items():
            if name in packages:
                by_version.setdefault(packages[name], []).append(python)
        for version, pythons in by_version.items():
            marker = " or ".join(f"python_version == '{python}'" for python in pythons)
            everywhere = len(pythons) == len(chosen)
            lines.append(f"{name}=={version}" + ("" if everywhere else f"; {marker}"))
    return lines


def main(pythons: list[str]) -> int:
    """Write the file for these interpreters."""
    if not pythons:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        chosen = dict(frozen(python, Path(folder)) for python in pythons)
    text = HEADER.format(versions=", ".join(chosen)) + "\n".join(merged(chosen)) + "\n"
    (ROOT / "constraints.txt").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
