"""Where a detail is implemented, and the text of that code. Reads sources as text: nothing is imported or run."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from minutiae.details import Detail
from minutiae.errors import MinutiaeError


@dataclass(frozen=True)
class Implementation:
    """`text` begins at `line` (from 1) of the file `path`; `place` is how the catalogue spells it."""

    place: str
    path: Path
    line: int
    text: str


def implementation(detail: Detail) -> Implementation:
    """The code that the catalogue's entry names, as it is installed here.

    Raises:
        MinutiaeError: the file or the definition is missing, as in an installation without sources.
    """
    module, _, qualified = detail.where.partition(":")
    path = _source_of(module)
    if path is None:
        raise MinutiaeError(f"the source of {module} is not installed; install minutiae from a wheel or checkout")
    text = path.read_text(encoding="utf-8")
    node: ast.AST | None = ast.parse(text)
    for name in qualified.split("."):
        node = _definition(node, name)
    if node is None:
        raise MinutiaeError(f"{path} has no {qualified}; the installation is damaged, so install minutiae again")
    first, last = _lines(node)
    return Implementation(detail.where, path, first, "\n".join(text.splitlines()[first - 1 : last]) + "\n")


def _source_of(module: str) -> Path | None:
    # Not `inspect`, which would import the module, and JAX with it.
    package, *parts = module.split(".")
    spec = importlib.util.find_spec(package)
    if spec is not None and not parts and spec.origin is not None:
        return Path(spec.origin)
    if spec is None or not spec.submodule_search_locations:
        return None
    base = Path(spec.submodule_search_locations[0]).joinpath(*parts)
    found = (path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file())
    return next(found, None)


def _definition(node: ast.AST | None, name: str) -> ast.AST | None:
    """The function, class or variable `name` right inside `node`."""
    for child in getattr(node, "body", []):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name:
            return child
        targets = child.targets if isinstance(child, ast.Assign) else [getattr(child, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return child
    return None


def _lines(node: ast.AST) -> tuple[int, int]:
    """First line, decorators included, and last line of a definition."""
    decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
    line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    return min([line, *decorators]), end
