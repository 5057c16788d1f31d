"""What the leak audit finds of pictures that were changed a little, and how many unlike ones it takes for the same.

    python bench/near_pictures.py work/prepared/mnist5k work/prepared/cifar10

Of each prepared dataset: pictures of a drawn fifth (or of the test part) against the others, and changed copies of 150.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from puoc.datasets.prepare.arrays import Prepared
from puoc.datasets.readers.near_duplicates import near_duplicates

Picture = NDArray[np.uint8]  # (height, width) or (height, width, 3)
COPIES, MOST = 150, 10_000


def saved_again(picture: Picture) -> Picture:
    """As JPEG of quality 50."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=50)
    return np.asarray(Image.open(buffer))


def resized(picture: Picture) -> Picture:
    """To three quarters of its sides and back."""
    height, width = picture.shape[:2]
    small = Image.fromarray(picture).resize((width * 3 // 4, height * 3 // 4))
    return np.asarray(small.resize((width, height)))


def brighter(picture: Picture) -> Picture:
    """By a fifth and ten levels."""
    return np.asarray(Image.fromarray(picture).point(lambda level: min(255, int(level * 1.2 + 10))))


def noisy(picture: Picture) -> Picture:
    """By a standard deviation of eight levels."""
    noise = np.random.default_rng(0).normal(0, 8, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def cropped(picture: Picture) -> Picture:
    """By one pixel on each side, and resized."""
    height, width = picture.shape[:2]
    return np.asarray(Image.fromarray(picture).crop((1, 1, width - 1, height - 1)).resize((width, height)))


def shifted(picture: Picture) -> Picture:
    """By one pixel."""
    return np.roll(picture, 1, axis=0)


CHANGES: tuple[Callable[[Picture], Picture], ...] = (saved_again, resized, brighter, noisy, cropped, shifted)


def study(data: Prepared) -> dict[str, float | int | str]:
    """One row of the table."""
    order = np.random.default_rng(0).permutation(len(data.y))
    test = order[: len(order) // 5] if data.split is None else order[data.split[order] == 1]
    train = np.setdiff1d(order, test) if data.split is None else order[data.split[order] == 0]
    A, B = np.asarray(data.X[np.sort(train[:MOST])]), np.asarray(data.X[np.sort(test[: MOST // 5])])
    row: dict[str, float | int | str] = {"data": data.name, "training": len(A), "test": len(B)}
    row["test pictures called the same"] = int((near_duplicates(B, A) >= 0).sum())
    for change in CHANGES:
        plain = [picture[0] if len(picture) == 1 else picture.transpose(1, 2, 0) for picture in A[:COPIES]]
        copies = np.stack([np.atleast_3d(change(np.ascontiguousarray(one))).transpose(2, 0, 1) for one in plain])
        row[change.__name__] = round(float((near_duplicates(copies, A) == np.arange(len(copies))).mean()), 2)
    return row


def main() -> None:
    """Print one line of JSON for each dataset."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("prepared", type=Path, nargs="+")
    for folder in asked.parse_args().prepared:
        print(json.dumps(study(Prepared.open(folder))))  # noqa: T201 - the script's result


if __name__ == "__main__":
    main()
