"""HolisticPU (Wang et al., 2023): the trend of a row's predictions over the epochs tells its class.

A network of P against U, with as many rows of P in a step as of U, first learns what rows of a class have in common.
Its p rises for the positives of U and falls for the negatives before it learns the single rows by heart. The trend of
a row with the predictions p_1, ..., p_T is the mean of log(1 + d + d^2 / 2) for d = p_(t+1) - p_t. The rows of U are
split at the natural break of their trends (Fisher, 1958). A second network then learns P and U with these labels.
"""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from puoc.methods.training.deep import FittedNet
from puoc.methods.training.estimator import Compute, LaneLoop, PUSample, typed
from puoc.methods.training.lanes import by_pixel, pixels_together
from puoc.methods.training.nets import net_for
from puoc.methods.training.risks import logistic, mean
from puoc.records import Array
from puoc.registry import method


@method("holistic_pu")
@typed
class HolisticPU(FittedNet, LaneLoop):
    """Perceptron on vectors, small convolutional network on images; the score is a logit of the second network.

    As in the authors' code for tables, there are no moving averages of the network, no smoothed labels and no outliers
    taken from the trends. Their code for images also trains on augmented rows, and lets the labels of the second
    training pass from those of P against U to the new ones. An epoch has as many steps as U has batches; the authors
    take 500 steps. ``alpha_hat_`` is the share of U with a rising trend, and ``curve_`` the loss of the first network.
    """

    kind = "pu"
    inputs = frozenset({"image", "vector"})
    needs_alpha = False
    libraries = ("torch._dynamo",)  # as Deep

    lr: PositiveFloat
    lr_decay: PositiveFloat  # factor per epoch
    epochs: PositiveInt  # of the second network
    trend_epochs: int = Field(ge=2)  # of the first one
    batch_size: PositiveInt  # rows of P in a step, and as many of U

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """See ``FittedNet``."""
        return net_for(shape)

    def fit_one(self, sample: PUSample, compute: Compute) -> None:
        """Train the first network, split U by the trends, and train the second network.

        Raises
        ------
        FloatingPointError : the loss is no longer finite.
        """
        assert sample.X_u is not None, "check_sample has refused it"
        gen = torch.Generator().manual_seed(sample.seed)
        dtype = torch.float64 if sample.X_p.dtype == np.float64 else torch.float32
        X_p, X_u = (torch.tensor(X, device=compute.device, dtype=dtype) for X in (sample.X_p, sample.X_u))
        predictions: list[Array] = []
        curve = self._train(X_p, X_u, torch.zeros(len(X_u)), self.trend_epochs, gen, predictions)
        rising = split(trends(np.array(predictions)))
        self._train(X_p, X_u, torch.from_numpy(rising), self.epochs, gen)
        self.net_.eval()
        self.curve_, self.alpha_hat_ = {"loss": curve}, float(rising.mean())

    def _train(
        self,
        X_p: Tensor,
        X_u: Tensor,
        labels: Tensor,
        epochs: int,
        gen: torch.Generator,
        predictions: list[Array] | None = None,
    ) -> list[float]:
        """Train a new ``net_`` on P and on U with these labels (n_u,), and return the loss by epoch.

        p of the rows of U after each epoch is appended to ``predictions``.
        """
        self.net_ = pixels_together(self._seeded_net(tuple(X_p.shape[1:]), gen).to(X_p.device, X_p.dtype))
        labels = labels.to(X_p.device, X_p.dtype)
        optimizer = torch.optim.Adam(self.net_.parameters(), lr=self.lr)
        decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, self.lr_decay)
        curve = []
        for epoch in range(epochs):
            losses = []
            orders = torch.randperm(len(X_p), generator=gen), torch.randperm(len(X_u), generator=gen)
            for start in range(0, len(X_u), self.batch_size):
                of_u = orders[1][start : start + self.batch_size]
                of_p = orders[0][torch.arange(start, start + len(of_u)) % len(X_p)]  # rows of P repeat
                f_p, f_u = self.net_(by_pixel(X_p[of_p])), self.net_(by_pixel(X_u[of_u]))
                loss = mean(logistic(f_p)) + mean(cross_entropy(f_u, labels[of_u], reduction="none"))
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
                optimizer.step()
                losses.append(float(loss.detach()))
            decay.step()
            curve.append(float(np.mean(losses)))
            if not np.isfinite(curve[-1]):
                where = f"{self.name}: the loss is {curve[-1]} in epoch {epoch}"
                raise FloatingPointError(f"{where}, a finite one expected; a smaller lr may help")
            if predictions is not None:
                logits = self.evaluate(self.net_, X_u.cpu().numpy()).astype(np.float64)
                predictions.append(1 / (1 + np.exp(-logits)))
        return curve


def trends(predictions: Array) -> Array:
    """Return the trend of each row, (n,), from predictions (epochs, n) in [0, 1].

    The trend is the mean of log(1 + d + d^2 / 2) over the changes d of the prediction from an epoch to the next one.
    """
    change = np.diff(predictions, axis=0)
    found: Array = np.log(1 + change + change**2 / 2).mean(axis=0)
    return found


def split(values: Array) -> Array:
    """Return which values (n,) are in the upper class of Fisher's natural break into two classes, float64.

    The break makes the sum of squared distances to the class means least. If all values are equal, there is no upper
    class.
    """
    ascending = np.sort(values)
    n_low = np.arange(1, len(values))
    total = np.cumsum(ascending)
    low, high = total[:-1], total[-1] - total[:-1]
    # the sum of squares within classes is least where that between them, up to a constant, is greatest
    between = np.where(np.diff(ascending) > 0, low**2 / n_low + high**2 / (len(values) - n_low), -np.inf)
    if not np.isfinite(between).any():
        return np.zeros(len(values))
    found: Array = (values > ascending[int(between.argmax())]).astype(np.float64)
    return found
