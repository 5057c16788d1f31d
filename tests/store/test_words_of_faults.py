"""What stands wrongly in a YAML file is told in its words: no name of a Python type, for any key and any value."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from puoc.methods import make
from puoc.plan.schema import DatasetSpec, EncoderSpec, MethodSpec, PriorSpec, TableSpec, TuneSpec
from puoc.scenarios import SCENARIOS
from puoc.store.messages import kind, sentence
from puoc.store.plans import ComputeSpec

MODELS = [ComputeSpec, DatasetSpec, EncoderSpec, PriorSpec, MethodSpec, TableSpec, TuneSpec, *SCENARIOS.values()]
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2.5,
    10**30,
    float("nan"),
    "",
    "two",
    [],
    [1.5],
    ["x"],
    [None],
    [[1]],
    {},
    {"a": 1},
]
VALUES += [{"digits": 1}, {"digits": {0: 1}}, {"digits": {-1: {}}}, {"fixed": "x"}]
OF_PYTHON = re.compile(
    r"\b(tuple|dict|dictionary|NoneType|None|Literal|bool|boolean|str|int|integer|float|instance|True|False|validation)\b"
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_type_of_python_is_named_for_any_value_of_any_key(model: type[BaseModel]) -> None:
    told = []
    for key in model.model_fields:
        for value in VALUES:
            try:
                model.model_validate({key: value})
            except ValidationError as error:
                told += [(item["input"], sentence(item, model)) for item in error.errors() if item["type"] != "missing"]
    assert told
    for value, said in told:
        got, _, expected = said.rpartition("; expected ")
        assert expected, said
        assert not OF_PYTHON.search(re.sub("'[^']*'", "", expected)), said
        assert isinstance(value, dict) or not OF_PYTHON.search(got), said  # that stands as it was read


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_is_no_mapping_is_told_by_what_it_is(value: Any) -> None:
    assert not OF_PYTHON.search(re.sub(r"^.* \(", "", kind(value)))


def test_a_hyperparameter_is_told_in_the_same_words() -> None:
    for params in ({"lr": "fast"}, {"epochs": 2.5}, {"epochs": None}, {"batching": 3}, {"lr": [1]}):
        with pytest.raises(ValueError, match="expected") as told:
            make("nnpu", {"lr": 0.1, "lr_decay": 1.0, "epochs": 1, "batch_size": 8} | params)
        assert not OF_PYTHON.search(str(told.value).rpartition("expected ")[2]), told.value


@pytest.mark.parametrize("seeds", ["two", None, True, 2.5, {}])
def test_seeds_are_a_number_or_a_list(seeds: Any) -> None:
    with pytest.raises(ValidationError) as told:
        TableSpec.model_validate({"seeds": seeds})
    said = [sentence(item, TableSpec) for item in told.value.errors() if item["loc"] == ("seeds",)]
    assert said[0].endswith("; expected a number of seeds or a list of them")


@pytest.mark.parametrize("seeds", [100_001, 10**30])
def test_a_number_of_seeds_that_no_plan_could_list_is_refused(seeds: int) -> None:
    with pytest.raises(ValidationError, match="at most 1,000 seeds"):
        TableSpec.model_validate({"seeds": seeds})
