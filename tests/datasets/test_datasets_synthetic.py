"""Synthetic data: the paper's two figures come out as printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from puoc.analysis.statistics.auc import auc
from puoc.datasets import DATASETS
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.datasets.synthetic import Cloud
from puoc.methods import make
from puoc.records import Sample, TestSet
from puoc.scenarios import draw
from puoc.scenarios import test_rows as rows_of_test


@pytest.mark.parametrize("name", ["synth1", "synth2"])
def test_points_are_drawn_and_not_fetched_and_are_the_same_everywhere(name: str, tmp_path: Path) -> None:
    assert prepare(name, tmp_path / "data", tmp_path / "prepared") == DATASETS[name].digest
    assert not (tmp_path / "data").exists()
    prepared = Prepared.open(tmp_path / "prepared" / name)
    rows = prepared.take(np.arange(6000))
    assert rows.shape == (6000, 2)
    assert 0 <= rows.min() < rows.max() <= 1
    assert prepared.meta.duplicates == 0
    for number, cloud in enumerate(DATASETS[name].clouds):  # type: ignore[attr-defined]
        of = rows[prepared.y == number] - np.array(cloud.centre)
        assert np.abs(of.mean(axis=0)).max() < 5 * (cloud.spread + cloud.radius) / cloud.n**0.5
        off_centre = np.linalg.norm(of, axis=1) - cloud.radius if cloud.radius else of
        assert off_centre.std() == pytest.approx(cloud.spread, rel=0.1)


def test_a_shell_has_nothing_in_its_middle() -> None:
    points = Cloud(2000, (0.5, 0.4), 0.01, radius=0.3).draw(np.random.default_rng(0)) - [0.5, 0.4]
    radii = np.linalg.norm(points, axis=1)
    assert 0.25 < radii.min() < 0.3 < radii.max() < 0.35
    angles = np.histogram(np.arctan2(points[:, 1], points[:, 0]), bins=8)[0]
    assert angles.min() > 190


def aucs(name: str, pos: tuple[int, ...], negatives: tuple[int, ...], kernel: dict[str, Any]) -> list[float]:
    """AUCs of OC-SVM and PU-SVM, the paper's nu and lambda, for each class of negatives at test. U has the first."""
    of = DATASETS[name]
    prepared = Prepared.of(of.load(Path()), name=name, inputs=of.inputs, classes=of.classes, scale=of.scale)
    counts = {"n_pos_lab": 300, "n_pos_unl": 300, "n_neg_unl": 300}
    drawn = draw(prepared, Sample(dataset=name, data_digest=of.digest, pos=pos, neg=negatives[:1], **counts), 0)
    X_p, X_u = prepared.take(drawn.p), prepared.take(drawn.u)
    fitted = [
        make("oc_svm", {"nu": 0.5, **kernel}).fit(X_p),
        make("pu_svm", {"solver": "exact", "risk": "non_negative", "lam": 0.01, **kernel}).fit(X_p, X_u, alpha=0.5),
    ]
    found = []
    for negative in negatives:
        rows, is_positive = rows_of_test(prepared, TestSet(pos=pos, neg=(negative,)), 0)
        for method in fitted:
            scores = method.decision_function(prepared.take(rows))
            found.append(auc(scores[is_positive], scores[~is_positive], method.name))
    return found


def test_a_shift_of_negatives_turns_pu_svm_round_and_leaves_oc_svm_alone() -> None:
    """The paper prints .92 and .97 without a shift, .91 and .08 with one."""
    oc, pu, oc_shifted, pu_shifted = aucs("synth1", (0,), (1, 2), {"kernel": "linear"})
    assert 0.87 < oc < 0.95 < pu
    assert 0.87 < oc_shifted < 0.95
    assert pu_shifted < 0.15


def test_an_envelope_around_four_modes_has_the_negatives_in_its_middle() -> None:
    """The paper prints .07 and .93. A shell around all is what the envelope is good at and PU-SVM has not seen."""
    oc, pu, oc_shell, pu_shell = aucs("synth2", (0, 1, 2, 3), (4, 5), {"kernel": "rbf", "gamma": 4.0})
    assert oc < 0.3
    assert pu > 0.9
    assert oc_shell > 0.9
    assert pu_shell < 0.3
