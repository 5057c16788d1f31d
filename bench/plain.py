"""The same trainings as a plain loop: torch modules, DataLoader, Adam. What bench/epoch.py compares with.

Networks, batch sizes and numbers of steps are those of the methods. ``trainer`` has losses of its own; nothing else of
puoc is used. ``trainer_of`` takes the loss of a method as it is, so it leaves out only what is around the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, softplus
from torch.utils.data import DataLoader, TensorDataset

from puoc.methods.encoders.autoencoder import Network
from puoc.methods.training.deep import Deep
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import Net, lenet

Batches = Iterator[tuple[Tensor, Tensor]]  # rows of P, rows of U
SHAPE = (3, 32, 32)


def _loader(*tensors: Tensor, batch_size: int) -> DataLoader[tuple[Tensor, ...]]:
    return DataLoader(TensorDataset(*tensors), batch_size=batch_size, shuffle=True)


def of_p(X_p: Tensor, batch_size: int) -> Callable[[], Batches]:
    """Batches of labelled positives alone."""
    loader = _loader(X_p, batch_size=batch_size)
    return lambda: ((x, x[:0]) for (x,) in loader)


def of_union(X_p: Tensor, X_u: Tensor, batch_size: int) -> Callable[[], Batches]:
    """Batches of P and U together, told apart by a label."""
    s = torch.cat([torch.ones(len(X_p)), torch.zeros(len(X_u))])
    loader = _loader(torch.cat([X_p, X_u]), s, batch_size=batch_size)
    return lambda: ((x[label == 1], x[label == 0]) for x, label in loader)


def of_equal(X_p: Tensor, X_u: Tensor, batch_size: int) -> Callable[[], Batches]:
    """A batch of P and one of U, until P is used up."""
    loaders = [_loader(X, batch_size=batch_size) for X in (X_p, X_u)]
    return lambda: ((x_p, x_u) for (x_p,), (x_u,) in zip(*loaders, strict=False))


def drpu(net: nn.Module, x_p: Tensor, x_u: Tensor) -> Tensor:
    """Non-negative LSIF with the published constant."""
    r = softplus(net(torch.cat([x_p, x_u])))
    r_p, r_u = r[: len(x_p)], r[len(x_p) :]
    bounded = 0.001 * r_p.square().mean() / 2
    rest = r_u.square().mean() / 2 - bounded
    return (1 - r_p).mean() + bounded + rest if rest > 0 else -rest


def nnpu(net: nn.Module, x_p: Tensor, x_u: Tensor) -> Tensor:
    """Non-negative risk with the sigmoid loss, alpha 1/2."""
    f = net(torch.cat([x_p, x_u]))
    f_p, f_u = f[: len(x_p)], f[len(x_p) :]
    of_negatives = torch.sigmoid(f_u).mean() - 0.5 * torch.sigmoid(f_p).mean()
    return 0.5 * torch.sigmoid(-f_p).mean() + of_negatives if of_negatives > 0 else -of_negatives


def autoencoder(net: nn.Module, x_p: Tensor, x_u: Tensor) -> Tensor:
    """Squared error with dropout 1/2 in both linear layers."""
    ones = torch.ones(len(x_p), 128 + 512)
    kept = dropout(ones, 0.5)
    return (net(x_p, kept[:, :128], kept[:, 128:]) - x_p).square().mean()


def shell(steps: int, step: float, radius: float, gamma: float) -> Callable[[nn.Module, Tensor, Tensor], Tensor]:
    """DROCC where a batch has no U, else PU-DROCC, searching between the halves of the network."""

    def loss(net: nn.Module, x_p: Tensor, x_u: Tensor) -> Tensor:
        z = net(torch.cat([x_p, x_u]), part="features")
        of_positives = softplus(-net(z, part="head")[: len(x_p)]).mean()
        anchors = (z[len(x_p) :] if len(x_u) else z).detach()
        points = anchors + torch.randn_like(anchors)
        for done in range(1, steps + 1):
            points.requires_grad_()
            (slope,) = torch.autograd.grad(softplus(net(points, part="head", track=False)).mean(), points)
            with torch.no_grad():
                points = points + step * slope / _norms(slope)
                if done % 10 == 0:
                    offset = points - anchors
                    norms = _norms(offset)
                    points = anchors + offset / norms * norms.clamp(radius, gamma * radius)
        return of_positives + 0.5 * softplus(net(points.detach(), part="head", track=False)).mean()

    return loss


def _norms(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=1e-12).reshape(-1, 1, 1, 1)


def trainer(name: str, X_p: Tensor, X_u: Tensor) -> Callable[[int], None]:
    """A function that trains a fresh network for so many epochs."""
    net, batches, loss = {
        "drpu": (lambda: Net(SHAPE), of_equal(X_p, X_u, 512), drpu),
        "nnpu": (lambda: Net(SHAPE), of_union(X_p, X_u, 512), nnpu),
        "autoencoder": (lambda: Network(SHAPE, 128), of_p(X_p, 128), autoencoder),
        "drocc": (lambda: lenet(SHAPE), of_p(X_p, 128), shell(40, 1e-2, 24.0, 1.5)),
        "pu_drocc": (lambda: lenet(SHAPE), of_union(X_p, X_u, 256), shell(10, 1e-5, 2.0, 2.0)),
    }[name]

    def train(epochs: int) -> None:
        model = net()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(epochs):
            for x_p, x_u in batches():
                optimizer.zero_grad()
                loss(model, x_p, x_u).backward()
                optimizer.step()

    return train


def trainer_of(method: Deep, X_p: Tensor, X_u: Tensor, alpha: float = 0.5) -> Callable[[int], None]:
    """A function that trains the network of a method by its own loss for so many epochs."""
    if method.one_class or not len(X_u):
        batches = of_p(X_p, method.batch_size)
    elif method.batching == "equal":
        batches = of_equal(X_p, X_u, method.batch_size)
    else:
        rows = method.batch_size if method.batching == "union" else round(method.batch_size * (1 + len(X_u) / len(X_p)))
        batches = of_union(X_p, X_u, rows)

    def train(epochs: int) -> None:
        net = method.build(tuple(X_p.shape[1:]))
        lane = Lane(net, dict(net.named_parameters()), dict(net.named_buffers()))
        optimizer, prior, generator = method.optimizer(list(net.parameters())), torch.tensor(alpha), torch.Generator()
        for epoch in range(epochs):
            for x_p, x_u in batches():
                optimizer.zero_grad()
                method.loss(lane, x_p, x_u, prior, method.draws(x_p, x_u, generator), epoch).backward()
                optimizer.step()
                with torch.no_grad():
                    for name, value in method.after_step(lane, x_p, x_u, prior).items():
                        lane.buffers[name].copy_(value)

    return train
