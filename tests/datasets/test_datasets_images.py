"""Images of 200 x 200 pixels: the solar cells are what their source has, and networks take and score them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from puoc.datasets.elpv import ELPV, read_cells
from puoc.datasets.prepare.arrays import Prepared, prepare
from puoc.methods import make
from puoc.methods.encoders import make as encoder_of
from puoc.methods.training.nets import Net, ShiftNet, lenet


@pytest.fixture(scope="module")
def cells(mirror: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    root = tmp_path_factory.mktemp("elpv")
    assert prepare("elpv", root / "data", root / "prepared", mirror=mirror("elpv")) == ELPV.digest
    assert sorted(path.name for path in (root / "data" / "elpv").iterdir()) == ["abnormal", "normal"]
    return Prepared.open(root / "prepared" / "elpv")


@pytest.mark.slow
def test_cells_are_grey_pictures_of_two_classes_none_twice(cells: Prepared) -> None:
    assert cells.X.shape == (1425, 1, 200, 200)
    assert np.bincount(cells.y).tolist() == [1315, 110]
    assert cells.meta.duplicates == 0
    rows = cells.take(np.array([0, 700, 1424]))
    assert 0 <= rows.min() < 0.1 < 0.6 < rows.max() <= 1
    assert (rows.std(axis=(1, 2, 3)) > 0.05).all()


def picture(side: int, mode: str = "L") -> Image.Image:
    noise = np.random.default_rng(side).integers(0, 256, (9, 9), dtype=np.uint8)
    return Image.fromarray(noise).resize((side, side)).convert(mode)


def test_a_published_picture_becomes_the_reduced_one(tmp_path: Path) -> None:
    """However the reduced one was packed: as JPEG of the same quality it has the same pixels."""
    for name in ("published", "reduced"):
        (tmp_path / name).mkdir()
    whole = picture(300)
    whole.save(tmp_path / "published" / "cell.png")
    small = whole.resize((200, 200), Image.Resampling.LANCZOS)
    small.save(tmp_path / "reduced" / "cell.jpg", quality=88, optimize=True)
    published, reduced = read_cells(tmp_path / "published"), read_cells(tmp_path / "reduced")
    assert published.shape == (1, 200, 200)
    np.testing.assert_array_equal(published, reduced)
    assert (published[0] != np.asarray(small)).any()


@pytest.mark.parametrize(("side", "mode", "got"), [(300, "RGB", "RGB of"), (200, "RGB", "RGB of"), (100, "L", "L of")])
def test_another_picture_is_refused(tmp_path: Path, side: int, mode: str, got: str) -> None:
    picture(side, mode).save(tmp_path / "cell.png")
    with pytest.raises(
        ValueError, match=rf"cell\.png: got {got} size \({side}, {side}\); expected L of 200 or 300 pixels"
    ):
        read_cells(tmp_path)


@pytest.mark.parametrize("build", [Net, lenet, ShiftNet], ids=lambda build: build.__name__)
@pytest.mark.parametrize("channels", [1, 3])
def test_networks_take_images_of_200_pixels(build: Callable[..., Any], channels: int) -> None:
    torch.manual_seed(0)
    net = build((channels, 200, 200)).eval()
    with torch.no_grad():
        out = net(torch.rand(2, channels, 200, 200, generator=torch.Generator().manual_seed(0)))
    assert len(out) == 2
    assert (out[0] != out[1]).all()


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        *(((3, 32, 32), 1024), ((1, 28, 28), 1024), ((7,), 1024)),
        *(((3, 200, 200), 26), ((1, 200, 200), 78), ((1, 1800, 1800), 1)),
    ],
    ids=str,
)
def test_few_large_images_are_scored_at_once_and_as_many_small_ones_as_ever(shape: tuple[int, ...], rows: int) -> None:
    fitted = make("naive", {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 2, "batching": "union"})
    fitted.net_ = torch.nn.Linear(1, 1)
    seen = []

    def sums(x: torch.Tensor) -> torch.Tensor:
        seen.append(len(x))
        return x.flatten(1).sum(1)

    X = np.broadcast_to(np.arange(rows + 1, dtype=np.float32).reshape(-1, *[1] * len(shape)), (rows + 1, *shape))
    found = fitted.evaluate(sums, X)
    assert seen == [rows, 1]
    np.testing.assert_allclose(found, np.arange(rows + 1) * float(np.prod(shape)), rtol=1e-5)


def test_the_autoencoder_takes_images_of_200_pixels() -> None:
    """Its innermost map is then 8 x 50 x 50, as in the released code."""
    X = np.random.default_rng(0).random((3, 1, 200, 200), dtype=np.float32)
    trained = {"lr": 1e-3, "lr_decay": 1.0, "epochs": 1, "batch_size": 2, "batching": "p"}
    fitted = encoder_of("autoencoder", {**trained, "dimension": 128, "dropout": 0.5}).fit(X[:2])
    assert fitted.net_.to_code.in_features == 20_000  # type: ignore[attr-defined]
    assert fitted.encode(X).shape == (3, 128)
