"""CSI (Tack et al., 2020) and PU-CSI (Bagirov et al., section on CSI): a network separates views of images.

Copies of an image rotated by 90, 180 and 270 degrees count as other images, and the network also learns the angle. A
score is the similarity of an image's features to those of the labelled positives, plus the confidence in its angles.
PU-CSI contrasts labelled positives with views of unlabelled rows as well.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Literal, Self

import torch
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from puoc.methods.training.augment import ANGLES, COPIES, draw_views, mirror, views
from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import Compute, PUSample, typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.memory_bank import TINY, WIDTH, Bank, make_bank
from puoc.methods.training.nets import ShiftNet
from puoc.methods.training.risks import mean
from puoc.records import Array
from puoc.registry import method

SETTING = "case_control"  # that the risk assumes, see docs/glossary.md


class WithBank:
    """A plain class, since the fitted memory bank is no hyperparameter."""

    bank_: Bank


@typed
class Contrastive(WithBank, Deep):
    """Small convolutional network for square images of 1 or 3 channels in [0, 1]; values outside are clipped.

    Random changes of colour, crops and mirror images are used in training alone. A score is deterministic: a sum of
    similarities to labelled positives (``memory_bank``). Published (table hp5, by positive class): lam,
    temperature, lr, lr_decay and batch sizes. 60 epochs and PU-CSI's w of .1 are the released code's.
    """

    inputs = frozenset({"image"})
    needs_alpha = False

    batching: Literal["p"]
    lam: PositiveFloat  # weight of the contrastive loss
    temperature: PositiveFloat
    #: averaged: so are the features of an image and its mirror image. random, as released: a score takes one of the two
    mirror: Literal["never", "training", "averaged", "random"]
    feature: Literal["projection", "penultimate"]  # that scores compare
    input_norm: bool  # whether the network sees [-1, 1] in place of [0, 1]

    @property
    def keeps_training_rows(self) -> bool:
        """Return True: the memory bank has features of every labelled positive."""
        return True

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``Deep``; the network gives features instead of a logit."""
        return ShiftNet(shape)

    def draws(self, x_p: Tensor, x_u: Tensor, gen: torch.Generator) -> Noise:
        """Draw the parameters of the augmentations of P and, after it, U."""
        return draw_views(len(x_p) + len(x_u), x_p.shape[-1], self.mirror != "never", gen, x_p.dtype)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return lam NT-Xent of the eight copies of each image + cross-entropy of their angles, both over P."""
        n = len(x_p)
        copies = views(torch.cat([x_p, x_u]).clamp(0, 1), noise)
        f = net(self._seen(copies))
        f = f.view(COPIES, n + len(x_u), f.shape[-1])
        z = net(f, part="projection").to(x_p.dtype)
        with torch.autocast(z.device.type, enabled=False):  # a low temperature enlarges the rounding of a cosine
            contrast = nt_xent(z[:, :n].flatten(0, 1), z[:, n:].flatten(0, 1), self.temperature, self.weight_of_u)
        logits = net(f[:, :n].flatten(0, 1), part="shift")
        angles = torch.arange(ANGLES, device=f.device).repeat(2).repeat_interleave(n)
        return self.lam * contrast + mean(cross_entropy(logits, angles, reduction="none"))

    @property
    def weight_of_u(self) -> float:
        """Return the weight of a copy of an unlabelled row among the negatives."""
        return 0.0

    def fit_lanes(self, samples: Sequence[PUSample], compute: Compute = Compute()) -> list[Self]:  # noqa: B008
        """Fit as ``Deep``; then fill the memory bank of each copy."""
        fitted = super().fit_lanes(samples, compute)
        for one, sample in zip(fitted, samples, strict=True):
            seen = torch.from_numpy(one.evaluate(one._by_angle, sample.X_p)).to(next(one.net_.parameters()).device)
            one.bank_ = make_bank(seen[..., :-1], seen[..., -1])
        return fitted

    def decision_function(self, X: Array) -> Array:
        """Sum over angles of the largest cosine with the bank times the norm and of the angle's logit, weighted."""
        return self.evaluate(self._score, X)

    def _score(self, x: Tensor) -> Tensor:
        seen = self._by_angle(x).transpose(0, 1)  # (4, n, 129)
        likeness = (seen[..., :-1] @ self.bank_.rows.mT).amax(dim=-1)
        return self.bank_.likeness @ likeness + self.bank_.angle @ seen[..., -1]

    def _by_angle(self, x: Tensor) -> Tensor:
        """Return (n, 4, 129): features of images rotated by each angle and, last, the logit of that angle."""
        if self.mirror == "random":
            x = mirror(x, coins(x))
        x = self._seen(x.clamp(0, 1))
        mirrored = [x, x.flip(-1)] if self.mirror == "averaged" else [x]
        seen = [torch.stack([self._turned(y, turns) for turns in range(ANGLES)], dim=1) for y in mirrored]
        return torch.stack(seen).mean(dim=0)

    def _turned(self, x: Tensor, turns: int) -> Tensor:
        f = self.net_(torch.rot90(x, turns, (-2, -1)))
        compared = self.net_(f, part="projection") if self.feature == "projection" else f
        return torch.cat([compared, self.net_(f, part="shift")[:, turns, None]], dim=-1)

    def _seen(self, x: Tensor) -> Tensor:
        return 2 * x - 1 if self.input_norm else x

    def state(self) -> dict[str, Array]:
        """Return parameters and the memory bank by name."""
        return super().state() | {f"bank.{key}": value.cpu().numpy() for key, value in self.bank_._asdict().items()}

    def restore(self, state: dict[str, Array], shape: tuple[int, ...]) -> Self:
        """See ``FittedNet``.

        Raises
        ------
        ValueError : the arrays have other names or shapes than this network and its memory bank.
        """
        kept = {key: state[f"bank.{key}"] for key in Bank._fields if f"bank.{key}" in state}
        super().restore({key: value for key, value in state.items() if not key.startswith("bank.")}, shape)
        sizes = [value.shape for value in kept.values()]
        if len(sizes) != 3 or sizes[0][:1] + sizes[0][2:] != (ANGLES, WIDTH) or sizes[1:] != [(ANGLES,)] * 2:
            raise ValueError(f"{self.name}: a bank of arrays {', '.join(Bank._fields)} expected, got shapes {sizes}")
        self.bank_ = Bank(**{key: torch.tensor(value) for key, value in kept.items()})
        return self


@method("csi")
@typed
class CSI(Contrastive):
    """Contrasts labelled positives with one another."""

    kind = "oc"


@method("pu_csi")
@typed
class PUCSI(Contrastive):
    """Unlabelled rows are further negatives of each anchor; it needs no class prior."""

    kind = "pu_oc"
    twin = "csi"

    batch_size_u: PositiveInt  # unlabelled rows beside each batch of P
    w: NonNegativeFloat  # weight of an unlabelled row's copies among the negatives

    @property
    def weight_of_u(self) -> float:
        """See ``Contrastive``."""
        return self.w

    def sizes(self, n_p: int, n_u: int) -> list[tuple[int, int]]:
        """Return batches of P as in CSI, each with as many rows of U, which repeat if they are too few."""
        return [(b_p, min(self.batch_size_u, n_u)) for b_p, _ in super().sizes(n_p, 0)]


def nt_xent(z_p: Tensor, z_u: Tensor, temperature: float, w: float) -> Tensor:
    """Return the normalised temperature-scaled cross-entropy of each row of z_p against all others, a scalar.

    The mean over i of -log(exp(s_ij) / (sum_{k != i} exp(s_ik) + w sum_u exp(s_iu))), s = cosine / temperature, where j
    is the other view of i (Tack et al., 2020). The term of U is PU-CSI's.

    Parameters
    ----------
    z_p : (2m, d) projections, second views in the order of the first ones.
    z_u : (m_u, d) projections of further negatives; may be empty.
    """
    z_p, z_u = normalize(z_p, dim=-1, eps=TINY), normalize(z_u, dim=-1, eps=TINY)
    itself = torch.eye(len(z_p), dtype=torch.bool, device=z_p.device)
    of_p = (z_p @ z_p.mT / temperature).masked_fill(itself, -math.inf)
    of_u = z_p @ z_u.mT / temperature + (math.log(w) if w > 0 else -math.inf)
    pair = (z_p * z_p.roll(len(z_p) // 2, dims=0)).sum(dim=-1) / temperature
    return mean(torch.logsumexp(torch.cat([of_p, of_u], dim=-1), dim=-1) - pair)


def coins(x: Tensor) -> Tensor:
    """Return a random bit (n,) for each image, computed from its content, so it does not depend on other rows."""
    thrown = [zlib.crc32(row.tobytes()) & 1 for row in x.float().cpu().contiguous().numpy()]
    return torch.tensor(thrown, dtype=torch.bool, device=x.device)
