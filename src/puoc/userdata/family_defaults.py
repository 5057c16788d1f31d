"""The method that ``puoc fit`` takes of a family, by kind of row and number of rows: ``families`` in defaults.yaml."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import Field, PositiveInt

from puoc.records import Params, Record
from puoc.store.yaml_file import YamlFile

Rows = Literal["table", "other"]  # columns of numbers and categories; pictures, texts and everything else
Family = Literal["OC", "PU-OC", "PU"]


class Default(Record):
    """One method of a family. Those of a family stand in the order in which they are taken."""

    method: str | None = None  # absent: the one that the assessment itself fitted, with its hyperparameters and encoder
    params: Params = Field(default_factory=dict)  # in place of the method's packaged ones
    encoder: str | None = None
    most_rows: PositiveInt | None = None  # rows it learns from (P, or P and U) up to which it is quick; absent: any


def defaults_of(rows: Rows, family: Family) -> tuple[Default, ...]:
    """Return the methods of a family for a kind of row."""
    return _packaged()[rows, family]


def chosen(defaults: tuple[Default, ...], n: int, assessed: str) -> tuple[Default, list[str]]:
    """Return the first method that learns from n rows quickly, with a sentence for each that is passed over.

    Parameters
    ----------
    assessed : the method that the assessment itself fitted.
    """
    passed: list[str] = []
    for default in defaults:
        if default.most_rows is None or n <= default.most_rows:
            return default, passed
        name = default.method or assessed
        passed.append(
            f"{name} is passed over: with more than {default.most_rows:,} rows it takes minutes to fit and score, and "
            f"it would learn from {n:,}; --method {name} takes it all the same"
        )
    raise AssertionError("the last method of a family takes any number of rows")


@cache
def _packaged() -> dict[tuple[Rows, Family], tuple[Default, ...]]:
    content = YamlFile(Path(str(files("puoc").joinpath("userdata/defaults.yaml")))).data
    return {
        (rows, family): tuple(Default.model_validate(entry) for entry in entries)
        for rows, of_families in content["families"].items()
        for family, entries in of_families.items()
    }
