"""Abnormal cars of Abnormal1001 against normal cars of PASCAL VOC: a dataset of the paper that users place by hand.

There is no address from which it may be downloaded. The loader was tested only on pictures in the original layout, not
on the original files. The paper does not publish its selection: its text counts 1,315 normal and 110 abnormal cars, and
its table of sizes implies more. The paper does not name the version of VOC. Other users of Abnormal1001 took VOC 2007,
and so does this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from puoc.datasets.declare.content_checked import ReadFolder
from puoc.datasets.declare.dataset import Arrays, Dataset, Inputs
from puoc.datasets.declare.from_files import OfTheFiles
from puoc.records import Array
from puoc.registry import dataset

_SIDE = 200  # pixels
_PUBLISHED: Mapping[str, tuple[int, ...]] = {"all": (1315, 110)}
_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif")
_ABNORMAL, _NORMAL = "Abnormal_Object_Dataset/Car", "VOCdevkit/VOC2007"
_OBTAIN = (
    "ask for Abnormal1001 at http://paul.rutgers.edu/~babaks/abnormality_detection.html and for VOC 2007 (trainval and "
    f"test) at http://host.robots.ox.ac.uk/pascal/VOC/voc2007/, lay them as data/abnormal1001/{_ABNORMAL} and "
    f"data/abnormal1001/{_NORMAL}, then run `puoc plan` again (the dataset elpv is of the same size and can be had)"
)


def abnormal_cars(folder: Path) -> Mapping[str, Path]:
    """Return the path of every picture of a folder, by file name."""
    return {path.name: path for path in sorted(folder.iterdir()) if path.suffix.lower() in _SUFFIXES}


def normal_cars(folder: Path) -> Mapping[str, Path]:
    """Return the pictures that a VOC2007 folder lists with a car not marked as difficult, by file name.

    Raises
    ------
    OSError : the list of training and validation pictures is missing; the list of test pictures may be missing.
    ValueError : a list does not have the format of VOC.
    """
    lists = [folder / "ImageSets" / "Main" / f"car_{part}.txt" for part in ("trainval", "test")]
    lines = [
        line.split() for path in lists if path == lists[0] or path.exists() for line in path.open(encoding="ascii")
    ]
    if any(len(line) != 2 or line[1] not in ("-1", "0", "1") for line in lines):
        raise ValueError(f"{lists[0]}: expected lines with the number of a picture and 1, 0 or -1")
    return {f"{number}.jpg": folder / "JPEGImages" / f"{number}.jpg" for number, flag in sorted(lines) if flag == "1"}


def _whole(folder: Path) -> Mapping[str, Path]:
    """Return the files of a VOC2007 folder that the dataset uses: the lists and the pictures that they name."""
    lists = (folder / "ImageSets" / "Main").glob("car_*.txt")
    return {path.relative_to(folder).as_posix(): path for path in (*lists, *normal_cars(folder).values())}


def read_pictures(paths: Mapping[str, Path]) -> Array:
    """Read pictures of any size, resize them bilinearly and return bytes (n, 3, 200, 200).

    Grey pictures get three equal channels.

    Raises
    ------
    ValueError : there are no pictures.
    OSError : a file is not a picture.
    """
    from PIL import Image

    if not paths:
        raise ValueError("no pictures of cars")
    pictures = np.empty((len(paths), 3, _SIDE, _SIDE), dtype=np.uint8)
    for place, path in enumerate(paths.values()):
        try:
            with Image.open(path) as opened:
                resized = opened.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
        except (Image.DecompressionBombError, SyntaxError) as error:  # PIL raises SyntaxError for a broken PNG
            raise ValueError(f"{path.name}: {error}") from error
        pictures[place] = np.asarray(resized).transpose(2, 0, 1)
    return pictures


def _names(listed: Callable[[Path], Mapping[str, Path]], folder: Path) -> Array:
    names = list(listed(folder))
    if not names:
        raise ValueError("it contains no pictures")
    return np.array(names)


@dataset("abnormal1001")
class Abnormal1001(Dataset):
    """Colour pictures of 200 x 200 pixels, normal cars first; no standard split.

    Counts and digest are computed from the files in data/abnormal1001. Without these files, the counts are the paper's.
    """

    inputs: ClassVar[Inputs] = "image"
    shape = (3, _SIDE, _SIDE)
    classes = ("normal", "abnormal")
    counts: ClassVar = OfTheFiles(lambda facts: facts.counts, _PUBLISHED)
    digest: ClassVar = OfTheFiles(lambda facts: facts.digest, "0" * 32)
    scale = 255.0
    files = (
        ReadFolder(
            path=_NORMAL,
            size=0,
            sha256="",
            read=lambda folder: _names(normal_cars, folder),
            members=_whole,
            obtain=_OBTAIN,
        ),
        ReadFolder(
            path=_ABNORMAL,
            size=0,
            sha256="",
            read=lambda folder: _names(abnormal_cars, folder),
            members=abnormal_cars,
            obtain=_OBTAIN,
        ),
    )
    licence = "None stated for Abnormal1001; the pictures of VOC 2007 are under Flickr's terms of use."
    citation = (
        "B. Saleh, A. Farhadi, A. Elgammal: Object-Centric Anomaly Detection by Attribute-Based Reasoning. CVPR 2013. "
        "M. Everingham, L. Van Gool, C. K. I. Williams, J. Winn, A. Zisserman: The PASCAL Visual Object Classes (VOC) "
        "Challenge. IJCV 88(2), 2010."
    )

    @classmethod
    def load(cls, folder: Path) -> Arrays:
        """Read the cars of both sources."""
        parts = [read_pictures(normal_cars(folder / _NORMAL)), read_pictures(abnormal_cars(folder / _ABNORMAL))]
        y = np.repeat(np.arange(2), [len(part) for part in parts])
        return Arrays(np.concatenate(parts), y.astype(np.int64))
