"""Traces in the pixels of pictures: a frame of one colour, enlargement, and JPEG compression of a lossless file.

A picture keeps them when it is saved anew, so that the file itself says nothing about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.picture_modes import open_picture

#: Values of a property by its name, one a picture; None where it does not apply or the picture was not looked at.
Traces = dict[str, Sequence[str | float | None]]

FRAME, ENLARGED, JPEG_BLOCKS = "frame", "enlarged", "traces of JPEG"
NO_FRAME: Final = "none"

_PICTURES: Final = 400  # of a folder that are looked at, evenly spaced
_PIXELS: Final = 200_000_000  # of them together, at most
_SIDE: Final = 512  # of the part in the middle that is looked at
_SAME, _SAME_LOSSY = 8, 24  # grey levels within which a line has one colour
_LEAST_SIDE: Final = 16  # pixels of a picture
_SHARPEST: Final = 0.004  # power in the highest frequencies over that in middle ones, below which one is enlarged
_ROUNDED: Final = 2.0  # times the power of rounding to whole levels, below which a power says nothing
_ZEROS: Final = 0.12  # by how much more coefficients are zero in the blocks of JPEG than in shifted ones
_USUAL, _USUAL_LEAST = 0.2, 10  # share of the pictures with one frame, and their number
_MARGINS: Final = 0.05  # share of the pictures of the other folder with margins of any kind; or else
_NEARLY_ALL, _NONE = 0.8, 0.01  # share with one frame in one folder, and in the other one

Levels = NDArray[np.float64]


def _cosines() -> Levels:
    """Return the matrix of the discrete cosine transform of 8 values (DCT-II, orthonormal)."""
    k, at = np.arange(8)[:, None], np.arange(8)
    found: Levels = np.cos(np.pi * k * (2 * at + 1) / 16) * np.where(k == 0, np.sqrt(1 / 8), 0.5)
    return found


_DCT: Final = _cosines()


def traces_of(paths: Sequence[Path], lossless: Sequence[bool]) -> Traces:
    """Return the traces in each picture.

    Parameters
    ----------
    lossless : for each picture whether its format keeps pixels as they are.
    """
    some = set(np.linspace(0, len(paths) - 1, min(len(paths), _PICTURES)).astype(np.int64).tolist())
    rows: list[dict[str, str]] = []
    left = _PIXELS
    for at, (path, exact) in enumerate(zip(paths, lossless, strict=True)):
        rows.append({})
        if at not in some or left <= 0:
            continue
        try:
            picture = open_picture(path, "white").picture
        except ValueError:
            continue  # the reader names it
        left -= picture.width * picture.height
        rows[-1] = _of_picture(np.asarray(picture.convert("L"), dtype=np.float64), exact)
    return {name: [row.get(name) for row in rows] for name in (FRAME, ENLARGED, JPEG_BLOCKS)}


def _of_picture(levels: Levels, lossless: bool) -> dict[str, str]:
    frame = frame_of(levels, _SAME if lossless else _SAME_LOSSY)
    found = {} if frame is None else {FRAME: frame}
    if min(levels.shape) < _LEAST_SIDE:
        return found
    inside = _middle(levels)
    found[ENLARGED] = "yes" if is_enlarged(inside) else "no"
    if lossless:
        found[JPEG_BLOCKS] = "yes" if has_jpeg_blocks(inside) else "no"
    return found


def _middle(levels: Levels) -> Levels:
    """Return the part in the middle of a large picture, with the blocks of JPEG in place."""
    start = [max(0, (side - _SIDE) // 16 * 8) for side in levels.shape]
    return levels[start[0] : start[0] + _SIDE, start[1] : start[1] + _SIDE]


def frame_of(levels: Levels, tolerance: float) -> str | None:
    """Return the widths of margins on opposite sides, in the colour of the corner; None for a picture of one colour."""
    same = np.abs(levels - levels[0, 0]) <= tolerance
    rows, columns = (~same).any(axis=1), (~same).any(axis=0)
    if not rows.any():
        return None
    top, bottom = int(rows.argmax()), int(rows[::-1].argmax())
    left, right = int(columns.argmax()), int(columns[::-1].argmax())
    parts = []
    for a, b, where in ((top, bottom, "above and below"), (left, right, "left and right")):
        if min(a, b) > 0:
            parts.append(f"{a} and {b} pixels {where}" if a != b else f"{a} pixels {where}")
    return ", ".join(parts) or NO_FRAME


def is_enlarged(levels: Levels) -> bool:
    """Return True if a picture lacks the highest frequencies, or repeats its pixels, as an enlarged one does.

    Linear interpolation leaves some of them, at factors other than 2, and so do factors below 1.5.
    """
    return any(_repeats(levels, k) for k in (2, 3, 4)) or all(_lacks_highest(part) for part in (levels, levels.T))


def _lacks_highest(levels: Levels) -> bool:
    """Compare the power of rows in the highest tenth of frequencies with that in those from a tenth to a fifth."""
    n = levels.shape[1]
    window = np.hanning(n)
    spectrum = np.abs(np.fft.rfft((levels - levels.mean(axis=1, keepdims=True)) * window, axis=1)) ** 2
    at, rounding = np.fft.rfftfreq(n), _ROUNDED * float((window**2).sum()) / 12
    high, middle = spectrum[:, at >= 0.4].mean(), spectrum[:, (at >= 0.1) & (at <= 0.2)].mean()
    return bool(middle > 2 * rounding and high - rounding <= _SHARPEST * middle)


def _repeats(levels: Levels, k: int) -> bool:
    """Return True if rows and columns come in runs of k equal ones."""
    for part in (levels, levels.T):
        steps = np.abs(np.diff(part[: len(part) // k * k], axis=0)).sum(axis=1)
        between = np.arange(1, len(steps) + 1) % k == 0
        if steps[~between].any() or not np.mean(steps[between] > 0) > 0.5:
            return False
    return True


def has_jpeg_blocks(levels: Levels) -> bool:
    """Return True if the cosine coefficients of blocks of 8 x 8 pixels are zero more often than those of shifted ones.

    JPEG sets most of them to zero, in blocks that begin in the corner.
    """
    return _zeros(levels) - _zeros(levels[4:, 4:]) > _ZEROS


def _zeros(levels: Levels) -> float:
    """Return the share of the higher coefficients that are smaller than the rounding of pixels makes them."""
    height, width = (side // 8 for side in levels.shape)
    if not height or not width:
        return 0.0
    blocks = levels[: 8 * height, : 8 * width].reshape(height, 8, width, 8).transpose(0, 2, 1, 3)
    coefficients = np.abs(_DCT @ blocks @ _DCT.T)
    high = np.add.outer(np.arange(8), np.arange(8)) >= 5
    return float(np.mean(coefficients[..., high] < 1))


def usual_frames(here: Sequence[str | float | None], there: Sequence[str | float | None]) -> tuple[Traces, Traces]:
    """Return the frames that pictures of one folder have and those of the other one lack, under the name ``FRAME``.

    An object on a plain ground has margins too, but of other widths in each picture, and in both folders. A frame
    therefore counts if many pictures of one folder have the same one, and the others have no margins of any kind; or if
    nearly all pictures of one folder have it, and none of the other.
    """
    parts = [[value for value in part if value is not None] for part in (here, there)]
    for one, other in (parts, parts[::-1]):
        plain = sum(value != NO_FRAME for value in other) <= _MARGINS * len(other)
        counts, elsewhere = Counter(value for value in one if value != NO_FRAME), Counter(other)
        usual = {
            value
            for value, n in counts.items()
            if n >= max(_USUAL_LEAST, (_USUAL if plain else _NEARLY_ALL) * len(one))
            and (plain or elsewhere[value] <= _NONE * len(other))
        }
        if usual and other:
            kept = [[value if value is None or value in usual else "no or another one" for value in part]
                    for part in (here, there)]  # fmt: skip
            return {FRAME: kept[0]}, {FRAME: kept[1]}
    return {}, {}
