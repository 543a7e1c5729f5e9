"""Factors for the tests of designs."""

from __future__ import annotations

from minutiae.studies.designs import Design, Factor


def switches(count: int) -> list[Factor]:
    """Flags named a, b, c, ..."""
    return [Factor(f"{chr(97 + i % 26)}{i // 26 or ''}", (None, True)) for i in range(count)]


def names_of(design: Design) -> list[str]:
    return [factor.name for factor in design.factors]
