"""A params file of any content: refused in seconds with what was expected, or planned."""

from __future__ import annotations

import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_files import invoke
from ruamel.yaml import YAML
from trees import paths

from puoc.plan.params import read_params
from puoc.store.yaml_file import InvalidInput, YamlFile

ROOT = Path(__file__).parents[2]
TINY = (ROOT / "profiles" / "tiny.yaml").read_text()
AWKWARD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**6, 2**63, "", "drocc", "oc_svm", "x" * 3000, [], {}, [[1]], [0, 0], {"a": 1},
    list(range(2000)), "é", " ", [None], {"fixed": 2}, -0.5, [1, "a"],
)  # fmt: skip
TELLS = ("expected", "at most", "at least")


def faults(path: Path) -> list[str]:
    try:
        read_params(path, ROOT)
    except InvalidInput as error:
        return error.faults
    return []


def test_every_fault_of_a_changed_file_says_what_was_expected(tmp_path: Path) -> None:
    tree = YAML(typ="safe", pure=True).load(TINY)
    places, rng = list(paths(tree)), np.random.default_rng(3)
    path, silent, refused = tmp_path / "params.yaml", [], 0
    for _ in range(45):
        changed = deepcopy(tree)
        *above, last = places[int(rng.integers(len(places)))]
        place = changed
        for key in above:
            place = place[key]
        how = rng.random()
        if how < 0.2 and isinstance(place, dict):
            del place[last]
        elif how < 0.3 and isinstance(place, dict):
            place[f"{last}x"] = place.pop(last)
        else:
            place[last] = AWKWARD[int(rng.integers(len(AWKWARD)))]
        with path.open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(changed, file)
        found = faults(path)
        refused += bool(found)
        silent += [fault for fault in found if not any(word in fault for word in TELLS)]
        assert max(map(len, found), default=0) < 3000
    assert refused > 20
    assert silent == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a: [1\nb: 2\n", "params.yaml:2: while parsing a flow sequence"),
        ("a: 1\n\tb: 2\n", "got 'b: 2'; expected a line as 'key: value'"),
        ("a: 1\n b: 2\n", "params.yaml:2: mapping values are not allowed here; got 'b: 2'; expected a line as"),
        (b"a: 1\nb: \xe9t\xe9\n", r"params.yaml:2: not UTF-8 text, got 'b: \xe9t\xe9'; expected UTF-8"),
        (b"a: 1\nb: x\0y\n", "params.yaml:2: the character U+0000 is not allowed in YAML; got 'b: x"),
        ("a: 1\n".encode("utf-16"), "params.yaml: not UTF-8 text but UTF-16; expected UTF-8"),
        ("a: 1\n".encode("utf-16-le"), "params.yaml: not UTF-8 text but UTF-16; expected UTF-8"),
        ("a: 1\n" * 60_000, "has 300,000 bytes; expected a YAML file of at most 250,000 bytes"),
    ],
)
def test_a_file_that_is_no_yaml_names_the_line_and_what_was_expected(
    content: str | bytes, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "params.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput) as caught:
        YamlFile(path)
    assert expected in str(caught.value)


def test_a_device_and_a_folder_are_no_settings(tmp_path: Path) -> None:
    for path, kind in ((Path("/dev/zero"), "got a pipe or a device"), (tmp_path, "a folder")):
        with pytest.raises(InvalidInput, match=f"{kind}; expected a YAML file"):
            YamlFile(path)


LARGE = {
    "unknown sections": TINY + "".join(f"key{i}: 1\n" for i in range(1500)),
    "unknown keys": TINY.replace("seeds: 2\n", "seeds: 2\n" + "".join(f"    key{i}: 1\n" for i in range(1500)), 1),
    "seeds": TINY.replace("seeds: 2\n", f"seeds: {list(range(2000))}\n", 1),
    "a number of seeds": TINY.replace("seeds: 2\n", "seeds: 100000\n", 1),
    "classes": TINY.replace("pos: [0, 1]\n", f"pos: {list(range(2000))}\n", 1),
    "methods": TINY.replace("methods: [oc", f"methods: [{', '.join(f'm{i}' for i in range(1500))}, oc", 1),
}


@pytest.mark.parametrize("case", LARGE)
def test_very_many_of_anything_is_refused_in_a_short_message(case: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(LARGE[case])
    assert LARGE[case] != TINY
    begun = time.process_time()
    done = invoke("plan", "--check", "--params", path)
    assert time.process_time() - begun < 10  # it took minutes; this is most of a second
    assert done.exit_code == 2
    assert len(done.output) < 10_000
    if case.startswith("unknown"):
        assert done.output.splitlines()[-1] == "and 1,480 more faults (1,500 in all)"


MANY = {
    "sections": TINY + "".join(f"key{i}: 1\n" for i in range(100_000)),
    "keys": TINY.replace("seeds: 2\n", "seeds: 2\n" + "".join(f"    key{i}: 1\n" for i in range(100_000)), 1),
}


@pytest.mark.parametrize("case", MANY)
def test_a_hundred_thousand_unknown_keys_are_named_and_counted(case: str, tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(MANY[case])
    begun = time.process_time()
    done = invoke("plan", "--check", "--params", path)
    assert time.process_time() - begun < 15  # this is 3 s; the whole file takes minutes
    assert done.exit_code == 2
    *named, counted, size = done.output.splitlines()
    assert len(named) == 20
    assert all(f"key{i}: unknown" in line for i, line in enumerate(named))
    assert "more faults in its first 100,000 bytes" in counted
    assert size.endswith("expected a YAML file of at most 250,000 bytes. Is it another file, or written by a program?")


def test_what_the_rest_of_a_large_file_may_settle_is_no_fault_of_its_beginning(tmp_path: Path) -> None:
    """Such as an entry that stands further below, or a section."""
    path = tmp_path / "params.yaml"
    path.write_text(TINY.replace("methods:\n", "# \n" * 90_000 + "methods:\n", 1))
    with pytest.raises(InvalidInput, match="expected a YAML file of at most 250,000 bytes") as caught:
        read_params(path, ROOT)
    assert len(caught.value.faults) == 1


def test_aliases_nested_to_exponential_size_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    merged = "".join(f"a{i}: &a{i}\n  <<: [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    for content in (f"a0: &a0 [1, 1]\n{levels}", f"a0: &a0 {{x: 1}}\n{merged}"):
        path.write_text(content)
        begun = time.process_time()
        with pytest.raises(InvalidInput, match="the aliases repeat more than 100,000 values; expected fewer"):
            YamlFile(path)
        assert time.process_time() - begun < 60


def test_a_plan_of_too_many_trials_is_refused_with_the_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(TINY)
    monkeypatch.setattr("puoc.plan.params.MAX_TRIALS", 11)
    [fault] = faults(path)
    assert "tables.one_vs_all: got 12 trials (2 seeds x 2 cells x 3 methods); expected at most 11" in fault
