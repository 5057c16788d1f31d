"""Data that are missing stop their own tables only: what can be had is computed, and the end says what lacks what."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_files import puoc

PARAMS = """
compute: {workers: 1, lane_map: loop, models: none, device: cpu}
tables:
  here: &table
    scenario: one_vs_all
    dataset: digits
    pos: [0]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 1
    configs: published
    methods: [oc_svm]
  gone:
    <<: *table
    dataset: pendigits
tune: {}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "params.yaml").write_text(PARAMS.replace("models: none, ", ""))
    (tmp_path / "mirror").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PUOC_MIRROR", str(tmp_path / "mirror"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):  # no source but the mirror
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("DVC_STAGE", "x")  # rows are not tracked
    assert puoc("plan")[0] == 0
    return tmp_path


@pytest.mark.parametrize("budget", [(), ("--budget", "10m")])
def test_the_tables_whose_data_are_there_are_computed(budget: tuple[str, ...], root: Path) -> None:
    code, said = puoc("prepare")
    assert code == 2, said
    assert "pendigits" in said
    assert "the other datasets are prepared (digits)" in said
    code, said = puoc("run", "gone", "here", *budget)
    assert code == 2, said
    assert "here: 1 fit computed" in said
    assert "gone was not computed: " in said
    assert said.splitlines()[-1] == "1 other table computed"
    assert [path.name for path in (root / "results" / "tables").iterdir()] == ["here.parquet"]
    assert "missing: data/pendigits/" in said
    code, said = puoc("run", "gone")  # as the stage of DVC
    assert code == 2
    assert "was not computed" not in said
