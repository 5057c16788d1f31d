"""Texts as word vectors learned elsewhere: one a step for the LSTMs, their mean for methods and priors of vectors."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PositiveInt

from puoc.datasets.declare.texts import to_texts
from puoc.datasets.prepare.word_vectors import WordVectors, word_vectors
from puoc.methods.encoders.frozen import Frozen
from puoc.methods.encoders.words import Steps, Words
from puoc.methods.training.estimator import typed
from puoc.records import Array
from puoc.registry import encoder


@typed
class OfWords(Frozen):
    """What both share: a file of vectors, and the steps from a text to words."""

    inputs = frozenset({"text"})

    vectors: Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]  # first digits of the file's sha256
    steps: Steps  # paper, look_up_first, or a list

    @cached_property
    def words(self) -> Words:
        """From a text to rows of the vectors. Raises ValueError where there is no such file."""
        return Words(self.steps, self.source.row_of)

    @cached_property
    def source(self) -> WordVectors:
        """The vectors. Raises ValueError where there is no such file."""
        return word_vectors(self.vectors)

    def counts(self, X: Array) -> dict[str, int]:
        """Texts, those without any vector, words that the steps leave, and how many of them have a vector."""
        found = [self.words(text) for text in to_texts(X)]
        return {
            "texts": len(found),
            "texts_without_vector": sum(not one.rows for one in found),
            "words": sum(one.n_words for one in found),
            "words_with_vector": sum(len(one.rows) for one in found),
        }


@encoder("word_vectors")
@typed
class WordSequence(OfWords):
    """Sequences (length, 1 + d) as the LSTMs take them: a mask, then the vectors of the words in their order.

    Words without a vector are left out. A text without any is one step of zeros, as a sequence has at least one.
    """

    gives: ClassVar[str] = "sequence"

    length: PositiveInt  # steps; what is longer is cut

    def encode(self, X: Array) -> Array:
        """Sequences (n, length, 1 + d)."""
        matrix = self.source.matrix
        sequences = np.zeros((len(X), self.length, 1 + matrix.shape[1]), dtype=np.float32)
        for sequence, text in zip(sequences, to_texts(X), strict=True):
            rows = self.words(text).rows[: self.length]
            sequence[: max(1, len(rows)), 0] = 1
            sequence[: len(rows), 1:] = matrix[rows]
        return sequences

    def counts(self, X: Array) -> dict[str, int]:
        """And how many texts are cut."""
        cut = sum(len(self.words(text).rows) > self.length for text in to_texts(X))
        return {**super().counts(X), "texts_cut": cut}


@encoder("mean_word_vector")
@typed
class MeanWordVector(OfWords):
    """The mean of a text's word vectors; zeros for a text without any."""

    def encode(self, X: Array) -> Array:
        """Vectors (n, d)."""
        matrix = self.source.matrix
        means = np.zeros((len(X), matrix.shape[1]), dtype=np.float32)
        for mean, text in zip(means, to_texts(X), strict=True):
            rows = self.words(text).rows
            if rows:
                mean[:] = matrix[rows].mean(axis=0)
        return means
