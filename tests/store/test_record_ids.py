"""The id of a record is its content's, also after it was asked for, copied with changes, or sent to a worker."""

from __future__ import annotations

import pickle

import pytest

from puoc.records import Encoding, Fit, Prior, Record, Sample, TestSet, Trial, content_id

SAMPLE = Sample(dataset="digits", data_digest="d", pos=(0,), neg=(1,), n_pos_lab=5, n_pos_unl=5, n_neg_unl=5)
ENCODING = Encoding(name="autoencoder", params={"epochs": 2}, ae_data="labelled_positives", code_digest="e")
PRIOR = Prior(kind="tice", params={"k": 5}, encoder=ENCODING, code_digest="p")
FIT = Fit(
    method="nnpu", params={}, sample=SAMPLE, seed=0, prior=PRIOR, encoder=ENCODING, code_digest="c", draw_digest="w"
)
TRIAL = Trial(fit=FIT, test=TestSet(pos=(0,), neg=(1,)))


@pytest.mark.parametrize("record", [SAMPLE, ENCODING, PRIOR, FIT, TRIAL], ids=lambda record: type(record).__name__)
def test_an_id_that_was_asked_for_changes_nothing_else(record: Record) -> None:
    fresh = type(record).model_validate(record.model_dump())
    assert record.id == content_id(fresh.canonical())
    assert (record == fresh, fresh == record) == (True, True)
    assert record.canonical() == fresh.canonical()
    assert record.model_dump_json() == fresh.model_dump_json()
    assert pickle.loads(pickle.dumps(record)).id == record.id


def test_a_copy_with_changes_has_an_id_of_its_own() -> None:
    assert SAMPLE.id
    without = SAMPLE.labelled_only()
    assert without.id == Sample(dataset="digits", data_digest="d", pos=(0,), n_pos_lab=5).id
    assert FIT.id
    assert FIT.model_copy(update={"seed": 1}).id == Fit.model_validate(FIT.model_dump() | {"seed": 1}).id
    assert FIT.model_copy(deep=True).id == FIT.id
