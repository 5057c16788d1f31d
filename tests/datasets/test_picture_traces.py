"""Traces in pixels that a file does not state: frames, enlargement, JPEG in a lossless file, turned pictures."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from puoc.datasets.readers import How
from puoc.datasets.readers.file_differences import between
from puoc.datasets.readers.images import list_pictures
from puoc.datasets.readers.picture_traces import frame_of, has_jpeg_blocks, is_enlarged

SIDE = 48
Change = Callable[[Image.Image], Image.Image]


def picture(seed: int, side: int = SIDE) -> Image.Image:
    """Noise whose amplitude falls with the frequency, as in photographs."""
    rng = np.random.default_rng(seed)
    at = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.fftfreq(side))
    wave = np.fft.ifft2(np.fft.fft2(rng.normal(size=(side, side))) / np.maximum(at, 1 / side) ** 1.2).real
    return Image.fromarray(np.clip(128 + 45 * (wave - wave.mean()) / wave.std(), 0, 255).astype(np.uint8))


def as_jpeg(made: Image.Image, quality: int = 85) -> Image.Image:
    buffer = io.BytesIO()
    made.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).copy()


def folder(path: Path, n: int, first: int, change: Change | None = None, **save: object) -> Path:
    path.mkdir()
    for i in range(n):
        made = picture(first + i)
        (made if change is None else change(made)).save(path / f"{i:03d}.png", **save)
    return path


def enlarged(made: Image.Image) -> Image.Image:
    return made.resize((SIDE // 2, SIDE // 2)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


def letterbox(made: Image.Image) -> Image.Image:
    return ImageOps.expand(made.resize((SIDE, SIDE - 12)), (0, 6), 0)


CHANGES: dict[str, tuple[Change, str]] = {
    "a letterbox": (letterbox, "frame: no or another one in 60 of 60 rows; and 6 pixels above and below in "),
    "a frame": (
        lambda made: ImageOps.expand(made.crop((2, 2, SIDE - 2, SIDE - 2)), 2, 255),
        "frame: no or another one",
    ),
    "enlarged": (enlarged, "enlarged: no in 60 of 60 rows; and yes in 40 of 40 rows"),
    "JPEG saved as PNG": (as_jpeg, "traces of JPEG: no in "),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_trace_of_one_folder_is_asked_about(name: str, tmp_path: Path) -> None:
    change, text = CHANGES[name]
    p, u = folder(tmp_path / "p", 60, 0), folder(tmp_path / "u", 40, 100, change)
    found = between(list_pictures(p), list_pictures(u), How())
    assert any(str(one).startswith(text) for one in found.seen), [str(one) for one in found.found]
    assert len(found.seen) == 1
    both = between(list_pictures(u), list_pictures(folder(tmp_path / "v", 40, 200, change)), How())
    assert not both.seen


def test_folders_of_one_source_and_objects_on_a_plain_ground_are_not(tmp_path: Path) -> None:
    def spot(made: Image.Image) -> Image.Image:
        rng = np.random.default_rng(int(np.asarray(made).sum()))
        side = int(rng.integers(20, 40))
        return ImageOps.expand(made.resize((side, side)), (*rng.integers(1, 9, 2), *rng.integers(1, 9, 2)), 255)

    p, u = folder(tmp_path / "p", 50, 0), folder(tmp_path / "u", 70, 300)
    assert not between(list_pictures(p), list_pictures(u), How()).seen
    on_white = folder(tmp_path / "w", 50, 500, lambda made: spot(made).resize((SIDE, SIDE)))
    assert "frame" not in {one.name for one in between(list_pictures(u), list_pictures(on_white), How()).seen}


def test_turned_pictures_are_a_note_since_they_are_read_upright(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    p, u = folder(tmp_path / "p", 30, 0), folder(tmp_path / "u", 30, 100, exif=turned)
    found = between(list_pictures(p), list_pictures(u), How())
    assert not found.seen
    (one,) = (one for one in found.found if one.name == "EXIF orientation")
    assert str(one).startswith("EXIF orientation: as it is in 30 of 30 rows; and to the right in 30 of 30 rows")


@pytest.mark.parametrize("resampling", ["NEAREST", "BILINEAR", "BICUBIC", "LANCZOS"])
def test_enlargement_is_seen_in_the_highest_frequencies(resampling: str) -> None:
    made = [picture(i) for i in range(10)]
    assert not any(is_enlarged(np.asarray(one, dtype=float)) for one in made)
    large = [one.resize((2 * SIDE, 2 * SIDE), Image.Resampling[resampling]) for one in made]
    assert all(is_enlarged(np.asarray(one, dtype=float)) for one in large)


@pytest.mark.parametrize("quality", [90, 75, 50])
def test_blocks_of_jpeg_are_seen_at_each_usual_quality(quality: int) -> None:
    made = [picture(i) for i in range(20)]
    assert sum(has_jpeg_blocks(np.asarray(one, dtype=float)) for one in made) <= 2
    assert all(has_jpeg_blocks(np.asarray(as_jpeg(one, quality), dtype=float)) for one in made)


def test_margins_of_one_colour_are_measured() -> None:
    levels = np.zeros((20, 30))
    assert frame_of(levels, 8) is None
    levels[3:16, 5:25] = 200
    assert frame_of(levels, 8) == "3 and 4 pixels above and below, 5 pixels left and right"
    levels[0, 7] = 90
    assert frame_of(levels, 8) == "5 pixels left and right"
