"""Texts as pretrained word vectors: a sequence of them for the LSTMs, their mean for other methods and priors."""

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
    """Base of both encoders: a file of vectors, and the steps from a text to words."""

    inputs = frozenset({"text"})

    vectors: Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]  # first digits of the file's sha256
    steps: Steps  # paper, look_up_first, or a list

    @cached_property
    def words(self) -> Words:
        """Return the conversion of texts to rows of the vectors. Raises ValueError if there is no such file."""
        return Words(self.steps, self.source.row_of)

    @cached_property
    def source(self) -> WordVectors:
        """Return the vectors. Raises ValueError if there is no such file."""
        return word_vectors(self.vectors)

    def counts(self, X: Array) -> dict[str, int]:
        """Count the texts, those without any vector, the words after all steps, and those with a vector."""
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

    length: PositiveInt  # steps; a longer text is cut

    def encode(self, X: Array) -> Array:
        """Return sequences (n, length, 1 + d)."""
        matrix = self.source.matrix
        sequences = np.zeros((len(X), self.length, 1 + matrix.shape[1]), dtype=np.float32)
        for sequence, text in zip(sequences, to_texts(X), strict=True):
            rows = self.words(text).rows[: self.length]
            sequence[: max(1, len(rows)), 0] = 1
            sequence[: len(rows), 1:] = matrix[rows]
        return sequences

    def counts(self, X: Array) -> dict[str, int]:
        """Count as the base class, and the texts that are cut."""
        cut = sum(len(self.words(text).rows) > self.length for text in to_texts(X))
        return {**super().counts(X), "texts_cut": cut}


@encoder("mean_word_vector")
@typed
class MeanWordVector(OfWords):
    """The mean of a text's word vectors; zeros for a text without any."""

    def encode(self, X: Array) -> Array:
        """Return vectors (n, d)."""
        matrix = self.source.matrix
        means = np.zeros((len(X), matrix.shape[1]), dtype=np.float32)
        for mean, text in zip(means, to_texts(X), strict=True):
            rows = self.words(text).rows
            if rows:
                mean[:] = matrix[rows].mean(axis=0)
        return means
