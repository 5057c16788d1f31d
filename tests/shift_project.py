"""A small project with one table of named shifts, for tests that run it."""

from __future__ import annotations

from collections.abc import Callable

from planned import Planned

PARAMS = """
compute: {workers: 2, lane_map: loop, models: all, device: cpu}
tables:
  shift:
    scenario: named_shift
    dataset: digits
    pos: [3]
    shifts: [{neg: [1]}]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [oc_svm, nnpu]
tune: {}
methods:
  oc_svm: {params: {kernel: linear, nu: 0.5}}
  nnpu:
    prior: true
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 1, batch_size: 64, batching: union, surrogate: sigmoid, correction: ascent}
"""
LATER = ("shifts: [{neg: [1]}]", "shifts: [{neg: [1]}, {neg: [1], neg_test: [8]}]")

Said = Callable[..., tuple[int, str]]


PLANNED = Planned(PARAMS, "digits")
