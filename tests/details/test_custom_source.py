"""Hashes of the source of custom details: of the module's text, kept by whoever made a run, and compared."""

from __future__ import annotations

import hashlib
from pathlib import Path

import outside_details
from minutiae.details import Config
from minutiae.details.custom_source import changed_sources, source_hashes

NEGATED = "outside_details:negated"


def test_the_hash_is_of_the_modules_text() -> None:
    plain = Config(environment="Hopper-v5")
    on = plain.replace(**{NEGATED: True})
    digest = hashlib.sha256(Path(outside_details.__file__).read_bytes()).hexdigest()[:16]
    assert (source_hashes(plain), source_hashes(on)) == ({}, {NEGATED: digest})
    assert changed_sources(on, {NEGATED: digest, "jax": "0"}) == []
    assert changed_sources(on, {NEGATED: "0" * 16}) == [NEGATED]
    # Runs of earlier versions have none: nothing is known of their source.
    assert changed_sources(on, {"jax": "0"}) == []
