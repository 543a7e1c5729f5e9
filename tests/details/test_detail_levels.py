"""Kinds of level: what each accepts, what it refuses and with which words, text in and out."""

from __future__ import annotations

import numpy as np
import pytest
from config_strategies import levels_of_kind
from hypothesis import given
from hypothesis import strategies as st

from minutiae.details import CATALOGUE
from minutiae.details.levels import choice, flag, integer, number, sizes, text
from minutiae.errors import ConfigError


@pytest.mark.parametrize(
    ("levels", "value", "level"),
    [
        (choice("max", "min", off=True), "max", "max"),
        (choice("max", "min", off=True), None, None),
        (choice("max", "min", off=True), "off", None),
        (flag(), True, True),
        (flag(), False, None),
        (flag(), None, None),
        (flag(), "on", True),
        (flag(), "false", None),
        (number(above=0, off=True), 1, 1.0),
        (number(above=0, off=True), np.float32(0.5), 0.5),
        (number(above=0, off=True), "off", None),
        (number(at_least=0, at_most=1), 0, 0.0),
        (integer(at_least=1), 1e6, 1_000_000),
        (integer(at_least=1), np.int64(3), 3),
        (integer(at_least=1, off=True, off_word="automatic"), None, None),
        (integer(at_least=1, off=True, off_word="automatic"), "automatic", None),
        (sizes(), [64, 32.0], (64, 32)),
        (text(), "Hopper-v5", "Hopper-v5"),
    ],
)
def test_values_take_the_one_form_of_their_level(levels, value, level):
    checked = levels.check("d", value)
    assert checked == level
    assert type(checked) is type(level)


@pytest.mark.parametrize(
    ("levels", "value", "message"),
    [
        (
            choice("max", "min", off=True),
            "mx",
            "unknown level of d 'mx'; did you mean 'max'? allowed: off, max, min",
        ),
        (choice("max", "min"), None, "d cannot be off; allowed: max, min"),
        (choice("max", "min"), "off", "unknown level of d 'off'; allowed: max, min"),
        (choice("max", "min"), 1, "unknown level of d '1'; allowed: max, min"),
        (flag(), "onn", "unknown level of d 'onn'; did you mean 'on'? allowed: on, off"),
        (flag(), 1, "unknown level of d '1'; allowed: on, off"),
        (number(above=0, off=True), 0, "d = 0 is out of range; allowed: off or a number above 0"),
        (number(above=0, off=True), True, "d = True is not a number; allowed: off or a number above 0"),
        (number(above=0), None, "d cannot be off; allowed: a number above 0"),
        (number(above=0), "0.2", "d = '0.2' is not a number; allowed: a number above 0"),
        (number(above=0, at_most=1), 2, "d = 2 is out of range; allowed: a number above 0 and at most 1"),
        (number(below=3), 3.0, "d = 3.0 is out of range; allowed: a number below 3"),
        (number(), float("nan"), "d = nan is not finite; allowed: a number"),
        (number(off=True), float("inf"), "d = inf is not finite; allowed: off or a number"),
        (integer(at_least=1), 2.5, "d = 2.5 is not a whole number; allowed: a whole number at least 1"),
        (
            integer(at_least=1),
            float("inf"),
            "d = inf is not a whole number; allowed: a whole number at least 1",
        ),
        (integer(at_least=1), 0, "d = 0 is out of range; allowed: a whole number at least 1"),
        (
            integer(at_least=1, off=True, off_word="automatic"),
            "off",
            "d = 'off' is not a whole number; allowed: automatic or a whole number at least 1",
        ),
        (
            sizes(),
            [],
            "d = [] is not a list of layer sizes; allowed: whole numbers of at least 1, as in 64,64",
        ),
        (
            sizes(),
            64,
            "d = 64 is not a list of layer sizes; allowed: whole numbers of at least 1, as in 64,64",
        ),
        (sizes(), (64, 0), "d[1] = 0 is out of range; allowed: a whole number at least 1"),
        # Numbers that no float holds, and numbers that Python itself refuses to write down.
        (
            number(above=0),
            10**400,
            "d = a number of about 401 digits is beyond 1.798e+308; allowed: a number above 0",
        ),
        (
            integer(at_least=1),
            10**400,
            "d = a number of about 401 digits is beyond 9223372036854775807; allowed: a whole number at least 1",
        ),
        (
            integer(),
            -(2**63),
            "d = -9223372036854775808 is beyond 9223372036854775807; allowed: a whole number",
        ),
        (
            integer(),
            1e300,
            "d = 1e+300 is beyond 9223372036854775807; allowed: a whole number",
        ),
        (
            choice("max", "min"),
            10**400,
            "unknown level of d 'a number of about 401 digits'; allowed: max, min",
        ),
        (flag(), 10**400, "unknown level of d 'a number of about 401 digits'; allowed: on, off"),
        (text(), " a", "d = ' a' is not a name; allowed: printable text without blanks at its ends"),
        (text(), "a\nb", "d = 'a\\nb' is not a name; allowed: printable text without blanks at its ends"),
    ],
)
def test_what_is_no_level_is_refused_with_what_is(levels, value, message):
    with pytest.raises(ConfigError) as raised:
        levels.check("d", value)
    assert str(raised.value) == message


def test_numbers_that_python_refuses_to_write_down_are_refused() -> None:
    for levels in (number(), integer(), choice("max"), flag()):
        with pytest.raises(ConfigError, match="about 5001 digits"):
            levels.check("d", 10**5000)


@pytest.mark.parametrize(
    ("levels", "written", "level"),
    [
        (number(above=0, off=True), " off ", None),
        (number(above=0, off=True), "3e-4", 3e-4),
        (number(above=0, off=True), "2", 2.0),
        (integer(at_least=1), "1_000_000", 1_000_000),
        (integer(at_least=1), "1e6", 1_000_000),
        (flag(), "true", True),
        (flag(), "off", None),
        (sizes(), "64, 32", (64, 32)),
        (sizes(), "64", (64,)),
        (choice("max", off=True), "off", None),
    ],
)
def test_text_is_read(levels, written, level):
    parsed = levels.parse("d", written)
    assert parsed == level
    assert type(parsed) is type(level)


@pytest.mark.parametrize(
    ("levels", "written", "message"),
    [
        (number(above=0), "much", "d = 'much' is not a number; allowed: a number above 0"),
        (integer(at_least=1), "1.5", "d = 1.5 is not a whole number; allowed: a whole number at least 1"),
        (
            sizes(),
            "64x64",
            "d = '64x64' is not a list of layer sizes; allowed: whole numbers of at least 1, as in 64,64",
        ),
        (sizes(), "64,0", "d[1] = 0 is out of range; allowed: a whole number at least 1"),
        (
            integer(at_least=1),
            "1" * 400,
            "d = a number of about 400 digits is beyond 9223372036854775807; allowed: a whole number at least 1",
        ),
        (integer(at_least=1), "1" * 5000, "d = inf is not a whole number; allowed: a whole number at least 1"),
    ],
)
def test_text_that_spells_no_level_is_refused(levels, written, message):
    with pytest.raises(ConfigError) as raised:
        levels.parse("d", written)
    assert str(raised.value) == message


@pytest.mark.parametrize("name", CATALOGUE)
@given(data=st.data())
def test_format_and_parse_are_inverse(name, data):
    entry = CATALOGUE[name]
    level = data.draw(levels_of_kind(entry.levels))
    assert entry.check(level) == level
    assert entry.parse(entry.format(level)) == level
