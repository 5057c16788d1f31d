"""Pictures of a folder as arrays of one shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from puoc.datasets.readers.options import How
from puoc.datasets.readers.picture_modes import LEAST_PEAK, Ground, Opened, open_picture
from puoc.datasets.readers.unseen import Block
from puoc.records import Record
from puoc.store.regular_file import check_regular

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

T = TypeVar("T")

_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"})
AT_ONCE = 256  # pictures of a block
_MAX_NAMED = 20  # damaged pictures


@dataclass(frozen=True)
class RawPictures:
    """The pictures of a folder, by name."""

    kind: ClassVar[Literal["images"]] = "images"
    where: str
    paths: list[Path]
    numbers_in_folder: NDArray[np.int64] | None = None  # (n,) from 1; absent: all
    notes: tuple[str, ...] = ()  # warnings about the folder; the part with the first picture has them

    def __len__(self) -> int:
        return len(self.paths)

    def rows(self, mask: NDArray[np.bool_]) -> RawPictures:
        """Return the pictures for which a mask (n,) is True."""
        kept = [path for path, wanted in zip(self.paths, mask, strict=True) if wanted]
        return RawPictures(self.where, kept, self.row_numbers()[mask], self.notes if mask[:1].any() else ())

    def row_numbers(self) -> NDArray[np.int64]:
        """Return the position of every picture among the sorted paths, from 1."""
        return np.arange(1, len(self) + 1) if self.numbers_in_folder is None else self.numbers_in_folder


class PicturePreparing(Record):
    """Colours and size of the training pictures."""

    kind: Literal["images"] = "images"
    channels: Literal[1, 3]
    height: int
    width: int
    resized: bool  # True if pictures of other sizes are resized to this one
    ground: Ground | None = None  # behind transparent pixels; absent in earlier models: transparency was discarded
    dtype: Literal["uint8"] = "uint8"
    scale: float = 255.0

    @property
    def inputs(self) -> Literal["image"]:
        """Return the kind of a prepared row."""
        return "image"

    @property
    def features(self) -> tuple[str, ...]:
        """Return no names, since pixels have none."""
        return ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a prepared row."""
        return (self.channels, self.height, self.width)

    def apply(self, raw: RawPictures) -> Block:
        """Read pictures: (n, channels, height, width) uint8.

        Raises
        ------
        ValueError : a picture is damaged, has another size or colours that are not read.
        """
        rows = np.empty((len(raw), *self.shape), dtype=np.uint8)
        met: Counter[str] = Counter()
        place = iter(rows)

        def read(path: Path) -> None:
            row = next(place)
            opened = open_picture(path, self.ground)
            row[:] = self._array(opened.picture, path)
            met["pictures in colour read as grey"] += self.channels == 1 and opened.in_colour()
            met["pictures of several pages or frames, of which the first is read"] += opened.pages
            met[f"pictures with transparency, composed on {self.ground}"] += opened.composed
            met["pictures of one colour once composed"] += opened.blank
            met["pictures of 16 bits a pixel, scaled to 8"] += opened.peak is not None

        _of_each(raw.paths, read)
        return Block(rows, {}, {}, met, raw.notes)

    def stream(self, path: Path, how: How, at_once: int = AT_ONCE) -> Iterator[Block]:
        """Read a folder block by block. Raises ValueError as ``list_pictures`` and ``apply``."""
        whole = list_pictures(path)
        for start in range(0, len(whole), at_once):
            notes = () if start else whole.notes
            yield self.apply(replace(whole, paths=whole.paths[start : start + at_once], notes=notes))

    def example(self) -> None:
        """Return None: pictures are passed as arrays of their shape."""

    def from_frame(self, frame: pd.DataFrame) -> Block:
        """Prepare rows of a DataFrame with the pixels as columns, or with a list of them in its only column."""
        values = frame.to_numpy() if frame.shape[1] > 1 else np.stack(frame.iloc[:, 0].to_list())
        return Block(values.reshape(len(values), *self.shape), {}, {})

    def _array(self, picture: Image, path: Path) -> NDArray[np.uint8]:
        if picture.size != (self.width, self.height):
            if not self.resized:
                got, expected = f"{picture.width}x{picture.height}", f"{self.width}x{self.height}"
                raise ValueError(
                    f"{path}: the picture has {got} pixels, {expected} expected as the others; mend it, or learn "
                    "with --pixels N, which brings all to N x N"
                )
            picture = _resized(picture, self.width, self.height)
        found = np.asarray(picture.convert("L" if self.channels == 1 else "RGB"), dtype=np.uint8)
        return found[None] if self.channels == 1 else found.transpose(2, 0, 1)


def list_pictures(path: Path) -> RawPictures:
    """List the pictures below a folder, sorted by path, without hidden files.

    Raises
    ------
    ValueError : there is no such folder, or it contains no picture, a link to a folder or a broken link.
    """
    if not path.is_dir():
        raise ValueError(f"{path}: no folder; expected one with pictures (of the kind images)")
    for linked in linked_folders(path):
        raise ValueError(
            f"{linked}: a link to a folder, whose pictures would be left out; expected a folder in its place, in which "
            "files may be links, or none"
        )
    inside = _inside(path)
    for file in inside:
        if file.is_symlink() and not file.exists():
            raise ValueError(f"{file}: a link to {file.readlink()}, which is not there; mend it or take it away")
        check_regular(file, "a picture")
    files = [file for file in inside if file.is_file()]
    pictures = [file for file in files if file.suffix.lower() in _SUFFIXES]
    if not pictures:
        found = {".parquet", ".csv", ".tsv", ".txt"} & {file.suffix.lower() for file in files}
        if found:
            how = "such as: cat *.txt > texts.txt" if found == {".txt"} else "in Python: pandas.concat"
            row = "one file with a text in each line" if found == {".txt"} else "one file with all rows"
            raise ValueError(
                f"{path}: no picture among {len(files)} files, but {' and '.join(sorted(found))} files; expected "
                f"{row}, so join them ({how})"
            )
        known = ", ".join(sorted(_SUFFIXES))
        raise ValueError(f"{path}: no picture among {len(files)} files; expected files that end in {known}")
    return RawPictures(str(path), pictures, notes=_others(files))


def _others(files: Sequence[Path]) -> tuple[str, ...]:
    others = [file.name for file in files if file.suffix.lower() not in _SUFFIXES]
    if not others:
        return ()
    return (f"{len(others)} files left out that are no pictures by their names, such as {others[0]}",)


def linked_folders(path: Path) -> list[Path]:
    """List the links to folders below a folder, which a listing does not follow, without hidden ones."""
    return [inside for inside in _inside(path) if inside.is_symlink() and inside.is_dir()]


def _inside(path: Path) -> list[Path]:
    """List all files and folders below a folder that are not hidden, sorted by path."""
    return sorted(
        inside for inside in path.rglob("*") if not any(part.startswith(".") for part in inside.relative_to(path).parts)
    )


def fit_pictures(parts: Sequence[RawPictures], how: How) -> PicturePreparing:
    """Find the format of the pictures: grey if all are grey; the size of the first one, or the one of the options.

    Raises
    ------
    ValueError : a picture is damaged.
    """
    looks = _of_each((path for part in parts for path in part.paths), lambda path: _Look.at(open_picture(path)))
    _check_blank(parts[0].where, [look.blank for look in looks if look.composed])
    _check_peak(parts[0].where, [look.peak for look in looks if look.peak is not None])
    width, height = (how.pixels, how.pixels) if how.pixels else looks[0].size
    return PicturePreparing(
        channels=1 if all(look.grey for look in looks) else 3,
        height=height,
        width=width,
        resized=how.pixels is not None,
        ground="white",
    )


class _Look(NamedTuple):
    """What the format of all pictures depends on, without the pixels."""

    grey: bool
    size: tuple[int, int]
    composed: bool
    blank: bool
    peak: int | None

    @classmethod
    def at(cls, opened: Opened) -> _Look:
        return cls(opened.grey, opened.picture.size, opened.composed, opened.blank, opened.peak)


def _check_blank(where: str, blank: Sequence[bool]) -> None:
    """Raise ValueError if most transparent pictures show nothing on their ground, such as white figures on white."""
    if sum(blank) > len(blank) / 2:
        raise ValueError(
            f"{where}: {sum(blank)} of {len(blank)} pictures with transparency have one colour once they are composed "
            "on white; expected figures that differ from white, so compose all pictures on another ground first (in "
            "ImageMagick: magick IN -background black -alpha remove OUT.png)"
        )


def _check_peak(where: str, peaks: Sequence[int]) -> None:
    """Raise ValueError if pictures of 16 bits use so few of their values that 8 bits would hold nearly none."""
    if peaks and max(peaks) < LEAST_PEAK:
        raise ValueError(
            f"{where}: {len(peaks)} pictures of 16 bits a pixel have no value above {max(peaks)} of 65535, and 8 bits "
            f"would keep {max(peaks) // 257 + 1} levels of grey; expected values over the whole range, so multiply all "
            "pictures by the same factor first"
        )


def _of_each(paths: Iterable[Path], look: Callable[[Path], T]) -> list[T]:
    """Look at pictures one after the other. Raises ValueError at the end, with all that cannot be read."""
    found: list[T] = []
    faults: list[str] = []
    for path in paths:
        try:
            found.append(look(path))
        except ValueError as error:
            faults.append(str(error))
    if faults:
        more = [f"and {len(faults) - _MAX_NAMED} further pictures"] if len(faults) > _MAX_NAMED else []
        raise ValueError("\n  ".join([*faults[:_MAX_NAMED], *more]))
    return found


def _resized(picture: Image, width: int, height: int) -> Image:
    from PIL.Image import Resampling

    return picture.resize((width, height), Resampling.BILINEAR, reducing_gap=None)
