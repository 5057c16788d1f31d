"""Reading YAML: what is a number, what is refused, and in which line."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from puoc.store.yaml_file import InvalidInput, YamlFile, dotted


@pytest.fixture
def read(tmp_path: Path):
    def read_text(text: str | bytes) -> YamlFile:
        path = tmp_path / "params.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return YamlFile(path)

    return read_text


def faults(read, text: str | bytes) -> list[str]:
    with pytest.raises(InvalidInput) as raised:
        read(text)
    assert str(raised.value) == "\n".join(raised.value.faults)
    return raised.value.faults


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e-3", 1e-3),
        ("5e-4", 5e-4),
        ("1E-3", 1e-3),
        ("1e+3", 1e3),
        ("1.e3", 1e3),
        (".5", 0.5),
        (".5e-3", 5e-4),
        ("-1e-3", -1e-3),
        ("1.0e-3", 1e-3),
        ("0.5", 0.5),
        ("0", 0),
        ("-0.0", 0.0),
        ("10", 10),
        ("0x1f", 31),
    ],
)
def test_a_number_is_a_number_of_its_type(read, text, number):
    found = read(f"a: {text}").data["a"]
    assert found == number
    assert type(found) is type(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_that_python_writes_comes_back(tmp_path_factory, number):
    path = tmp_path_factory.getbasetemp() / "float.yaml"
    path.write_text(f"a: {number!r}\nb: {number:e}\n")
    data = YamlFile(path).data
    assert data["a"] == number
    assert data["b"] == float(f"{number:e}")
    assert {type(value) for value in data.values()} == {float}


@pytest.mark.parametrize(
    "text", ["no", "yes", "on", "off", "NO", "y", "1:30", "1e", "e3", "1.2.3", "'012'", '"1e-3"', "'1_0'"]
)
def test_a_text_is_a_text(read, text):
    assert read(f"a: {text}").data["a"] == text.strip("'\"")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("null", None), ("~", None), ("", None)])
def test_truth_values_and_nothing_are_what_version_1_2_says(read, text, value):
    assert read(f"a: {text}").data["a"] is value


@pytest.mark.parametrize(
    ("text", "line", "key", "sentence"),
    [
        ("b: 1\na: 012", 2, "a", "got 012; a leading zero is read as octal by some readers, so write 12"),
        ("a:\n  b: [1, -007]", 2, "a.b[1]", "got -007; a leading zero is read as octal by some readers, so write -7"),
        ("a: +0_12", 1, "a", "so write 12"),
        ("a: 00", 1, "a", "so write 0"),
        ("012: a", 1, "012", "got 012"),
        ("\na: 2024-05-01", 2, "a", "got the date 2024-05-01; expected no date anywhere"),
        ("a: 2024-05-01 10:00:00", 1, "a", "got the date"),
        ("a: !!timestamp '2024-05-01'", 1, "a", "got the date"),
        ("2024-05-01: a", 1, "2024-05-01", "got the date"),
        ("a: 1_000", 1, "a", "got 1_000, a number to some readers and a text to others"),
        ("a: 1_0e-3", 1, "a", "got 1_0e-3"),
        ("a: +.5e3", 1, "a", "got +.5e3"),
    ],
)
def test_what_readers_read_differently_is_refused_with_line_and_key(read, text, line, key, sentence):
    (fault,) = faults(read, text)
    assert fault.startswith(f"params.yaml:{line}: {key}: ")
    assert sentence in fault


@pytest.mark.parametrize(
    ("text", "line", "key", "first"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a", 1),
        ("x:\n  a: 1\n  a: 1", 3, "x.a", 2),
        ("x: {a: 1, b: 2, a: 3}", 1, "x.a", 1),
        ("x:\n  - {a: 1}\n  - {b: 1,\n     b: 2}", 4, "x[1].b", 3),
        ("x:\n  a:\n    b: 1\n  'a': 2", 4, "x.a", 2),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(read, text, line, key, first):
    assert faults(read, text) == [
        f"params.yaml:{line}: {key}: the key stands twice, first in line {first}; expected each key once"
    ]


def test_keys_that_are_written_differently_and_mean_the_same_are_refused(read):
    (fault,) = faults(read, "1: a\n0x1: b")
    assert fault.startswith("params.yaml:2: ")
    assert "duplicate key" in fault


def test_all_faults_are_told_at_once(read):
    assert len(faults(read, "a: 012\nb: 2024-05-01\na: 1")) == 3


@pytest.mark.parametrize("opening", ["[", "{x: ["])
def test_aliases_that_stand_for_more_than_can_be_walked_are_refused_at_once(read, opening):
    closing = opening.replace("{x: [", "]}").replace("[", "]")
    below = [f"a{i}: &a{i} {opening}{f'*a{i - 1},' * 9}{closing}" for i in range(1, 16)]
    lines = ["a0: &a0 [" + "x," * 9 + "]", *below]  # 9 to the 16th values in sixteen lines
    (fault,) = faults(read, "\n".join(lines))
    assert re.match(r"params.yaml:\d+: a\d+: the aliases repeat more than 100,000 values", fault), fault


def test_anchors_and_merge_keys_work(read):
    anchors = "base: &base {lr: 1e-3, n: 2}\nother: &other {m: 5}\n"
    found = read(anchors + "a: *base\nb:\n  <<: *base\n  n: 3\nc: {<<: [*base, *other]}\n")
    assert found.data["a"] == {"lr": 1e-3, "n": 2}
    assert found.data["b"] == {"lr": 1e-3, "n": 3}
    assert found.data["c"] == {"lr": 1e-3, "n": 2, "m": 5}


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a: &a [1, *a]", 1, "the alias is inside the value that it repeats"),
        ("a: *nowhere", 1, "undefined alias 'nowhere'"),
        ("a: 1\nb:\n\t- 1", 3, "indent with blanks, not tabs"),
        ("a:\n  b: 1\n\tc: 2", 3, "indent with blanks, not tabs"),
        ("a: 1\nb: [1, 2", 2, "expected ',' or ']'"),
        ("a: 1\n---\nb: 2", 2, "expected a single document"),
        ("a: !secret 1", 1, "!secret"),
        ("a: !!python/name:os.system x", 1, "could not determine a constructor"),
        ("? [a, b]\n: 1", 1, "got a list or a mapping for a key; expected a text"),
        ("x:\n  ? {a: b}\n  : 1", 2, "got a list or a mapping for a key below x"),
        ("a: 1\n<<: 3", 2, "merging"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_line(read, text, line, sentence):
    (fault,) = faults(read, text)
    assert fault.startswith(f"params.yaml:{line}: "), fault
    assert sentence in fault


@pytest.mark.parametrize(
    ("text", "place", "got", "expected"),
    [
        ("a: !!bool foo", "1: a", "foo", "true or false"),
        ("a: 1\nb: {c: !!int abc}", "2: b.c", "abc", "a whole number"),
        ("a: [1, !!int 1.5]", "1: a[1]", "1.5", "a whole number"),
        ("a: !!int ''", "1: a", "''", "a whole number"),
        ("a: !!float x", "1: a", "x", "a number"),
        ("!!bool foo: 1", "1: foo", "foo", "true or false"),
        ("a: !!bool {=: foo}", "1: a", "a list or a mapping that is tagged bool", "it without a tag"),
        ("a: !!int [1]", "1: a", "a list or a mapping that is tagged int", "it without a tag"),
        (f"\na: {'1' * 5000}", "2: a", f"{'1' * 40}... (5000 characters)", "a whole number of at most 4300 digits"),
        (f"a: -0{'1' * 5000}", "1: a", f"-0{'1' * 38}... (5002 characters)", "a whole number of at most 4300 digits"),
        (f"a: 0x{'f' * 5000}", "1: a", f"0x{'f' * 38}... (5002 characters)", "a whole number of at most 4300 digits"),
    ],
)
def test_a_value_that_is_not_what_its_tag_says_is_refused_with_line_and_key(read, text, place, got, expected):
    assert faults(read, text) == [f"params.yaml:{place}: got {got}; expected {expected}"]


def _refused(read, text: str) -> list[str]:
    try:
        read(text)
    except InvalidInput as refused:
        return refused.faults
    return []


TAGS = ["!!bool", "!!int", "!!float", "!!null", "!!str", "!!binary", "!!timestamp", "!!set", "!!omap", "!!map", "!x"]
ODD = ["foo", "''", "-", "12", "0x", "1_", "1:2", "~", ".nan", "[1]", "[{a: 1, b: 2}]", "{=: foo}", "{<<: 3}", "\u00e9"]


@pytest.mark.parametrize("tag", TAGS)
def test_any_tag_on_any_value_is_read_or_refused_with_its_line(read, tag):
    for value in ODD:
        for text in (f"- {tag} {value}", f"? {tag} {value}\n: 1", f"a: {tag} {value}"):
            assert all(fault.startswith("params.yaml:1: ") for fault in _refused(read, text)), text


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        ("[" * 1000 + "]" * 1000, 2),
        ("[" * 1000, 2),
        ("{a: " * 101 + "1" + "}" * 101, 2),
        ("\n".join(["", *("  " * depth + "-" for depth in range(1, 120))]), 102),
    ],
    ids=["a thousand", "never closed", "one too many", "in lines"],
)
def test_what_stands_too_deep_is_refused_with_the_line(read, inner, line):
    (fault,) = faults(read, f"b: 1\na: {inner}")
    assert fault.startswith(f"params.yaml:{line}: got lists or mappings more than 100 deep in one another; expected")


def test_what_stands_as_deep_as_it_may_is_read(read):
    found = read("a: " + "[" * 99 + "7" + "]" * 99).data["a"]
    for _ in range(99):
        (found,) = found
    assert found == 7


def test_another_version_of_yaml_is_refused(read):
    assert "got the directive %YAML 1.1; expected YAML 1.2" in faults(read, "# old\n%YAML 1.1\n---\na: no")[0]
    assert read("%YAML 1.2\n---\na: no").data == {"a": "no"}


def test_byte_order_mark_and_windows_line_ends_are_fine(read):
    found = read("\ufeffa: 1\r\nb:\r\n  c: 1e-3\r\n".encode())
    assert found.data == {"a": 1, "b": {"c": 1e-3}}
    assert found.at(("b", "c")) == "params.yaml:3: b.c"


def test_an_empty_file_has_no_data(read):
    assert read("# nothing\n").data is None


@pytest.mark.parametrize("content", [b"a: \xe9", "a: 1".encode("utf-16"), b"\xff"])
def test_bytes_that_are_not_utf8_are_refused(read, content):
    (fault,) = faults(read, content)
    assert "not UTF-8 text" in fault


def test_a_control_character_is_refused(read):
    (fault,) = faults(read, b"a: \x00")
    assert fault.startswith("params.yaml")
    assert "U+0000" in fault


def test_a_missing_file_and_a_folder_are_refused_with_their_path(tmp_path):
    absent = tmp_path / "absent.yaml"
    for path, reason in [(absent, f"cannot be read \\({os.strerror(2)}\\)"), (tmp_path, "a folder; expected a YAML")]:
        with pytest.raises(InvalidInput, match=f"{path}: {reason}"):
            YamlFile(path)


def test_a_place_is_the_key_or_the_nearest_one_above_it(read):
    found = read("a:\n  b:\n    - c: 1\n    - d: 2\n")
    assert found.at(("a", "b", 1, "d")) == "params.yaml:4: a.b[1].d"
    assert found.at(("a", "b", 1, "x", "y")) == "params.yaml:4: a.b[1].x.y"
    assert found.at(("z",)) == "params.yaml:1: z"
    assert dotted(("tables", "a", "pos", 0)) == "tables.a.pos[0]"


plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cc"]), max_size=8)
values = st.recursive(
    plain | texts, lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3), max_leaves=8
)


@given(st.dictionaries(texts, values, max_size=4))
def test_what_a_yaml_writer_writes_is_read_or_refused_but_never_changed(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(data, file)
    try:
        assume(YAML(typ="safe", pure=True).load(path) == data)  # a writer's slip, {?0: null}, is not ours
    except YAMLError:
        reject()
    with suppress(InvalidInput):
        assert YamlFile(path).data == data
