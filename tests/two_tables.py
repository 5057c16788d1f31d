"""Two tables that share fits, with an encoder and an estimate of the class prior, for tests of runs with a budget."""

from __future__ import annotations

PARAMS = """
compute: {workers: 2, lane_map: loop, models: all, device: cpu}
tables:
  first: &table
    scenario: one_vs_all
    dataset: digits
    pos: [0, 1]
    n_pos_lab: 20
    n_pos_unl: 20
    n_neg_unl: 20
    seeds: 2
    configs: published
    methods: [nnpu, pu_svm, oc_svm]
  second:
    <<: *table
    pos: [1, 2]
tune: {}
encoders:
  code:
    encoder: autoencoder
    params: {lr: 1.0e-3, lr_decay: 1.0, epochs: 2, batch_size: 32, batching: p, dimension: 16, dropout: 0.5}
priors:
  tice:
    params: {scaling: minmax, k: 5, folds: 5, splits: 3, max_splits: 500, min_size: 10, iterations: 2}
methods:
  oc_svm: {encoder: flatten, params: {kernel: linear, nu: 0.5}}
  pu_svm: {encoder: flatten, prior: tice, params: {solver: exact, kernel: linear, risk: non_negative, lam: 0.01}}
  nnpu:
    prior: true
    params:
      {lr: 1.0e-2, lr_decay: 1.0, epochs: 5, batch_size: 64, batching: union, surrogate: sigmoid, correction: ascent}
"""
