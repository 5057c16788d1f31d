"""Properties of files and texts that come from how they were saved, not from what they show.

A property that leaves traces in the rows, such as the compression or the size, tells a method which file a row is from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from puoc.datasets.readers.csv_dialect import encoding_of
from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.options import How
from puoc.datasets.readers.picture_traces import traces_of
from puoc.datasets.readers.texts import RawTexts
from puoc.datasets.readers.typography import typed
from puoc.datasets.readers.words import same_text

if TYPE_CHECKING:
    from PIL.Image import Image

#: Values of a property by its name, one a row: texts for categories, numbers, or None where it does not apply.
Properties = dict[str, Sequence[str | float | None]]

#: Properties that no method can see in the rows; they are stated, not asked about.
UNSEEN: Final = (
    "format",
    "EXIF data",
    "EXIF orientation",
    "ICC profile",
    "resolution tag",
    "bytes a pixel",
    "time stamp",
    "encoding",
    "line ends",
)

_SIZES: Final = ("size", "pixels")
_ORIENTATION, _LYING = 0x0112, (5, 6, 7, 8)
_TURNED: Final = {2: "mirrored", 3: "by 180 degrees", 4: "mirrored, by 180 degrees", 5: "mirrored, to the side",
           6: "to the right", 7: "mirrored, to the side", 8: "to the left"}  # fmt: skip
_DAY = 86_400  # seconds
_MEAN_LUMINANCE = 57.625  # of the table of quality 50 in annex K of the JPEG standard
_HEAD = 1 << 16  # bytes of a text file by which its line ends are told
_SUBSAMPLING = {0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}
_USUAL, _USUAL_LEAST = 0.5, 10  # share of the texts with one beginning or end, and their number
_CUT_FROM, _CUT_LEAST = 20, 3  # characters of a text, and texts of exactly the largest length

_TRACES: Final[dict[str, Callable[[str], bool]]] = {
    "HTML entities": lambda text: re.search(r"&(?:[A-Za-z]{2,8}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});", text) is not None,
    "replacement characters": lambda text: "\ufffd" in text,
    "UTF-8 read as Latin-1": lambda text: re.search("[\xc3\xc2][\x80-\xbf]|\xe2\u20ac", text) is not None,
    "escape sequences": lambda text: re.search(r"\\(?:[nrt\"]|u[0-9A-Fa-f]{4})", text) is not None,
    "quotation marks around": lambda text: len(text) > 1 and text[0] == text[-1] and text[0] in "\"'",
}


def properties_of(raw: RawPictures | RawTexts, how: How) -> Properties:
    """Return the properties of each row of a folder or file, by name. Damaged pictures have none."""
    if isinstance(raw, RawPictures):
        return _of_pictures(raw, sizes=how.pixels is not None)
    return _of_texts(raw)


def _of_pictures(raw: RawPictures, sizes: bool) -> Properties:
    """Return the properties of pictures. Their sizes count only if they are resized; else all must be equal."""
    rows = [_of_picture(path) for path in raw.paths]
    names = dict.fromkeys(name for row in rows for name in row if sizes or name not in _SIZES)
    traces = traces_of(raw.paths, [row.get("compression") == "without loss" for row in rows])
    return {name: [row.get(name) for row in rows] for name in names} | traces


def _of_picture(path: Path) -> dict[str, str | float | None]:
    from PIL import UnidentifiedImageError
    from PIL.Image import DecompressionBombError
    from PIL.Image import open as pillow_open

    try:
        with path.open("rb") as file:
            head = file.read(64)
            file.seek(0)
            with pillow_open(file) as picture:
                state = path.stat()
                width, height = picture.size
                lying = picture.getexif().get(_ORIENTATION) in _LYING and picture.format != "TIFF"
                return {
                    "format": str(picture.format),
                    "compression": _compression(picture, head),
                    "size": f"{height} x {width}" if lying else f"{width} x {height}",
                    "pixels": float(width * height),
                    "mode": picture.mode,
                    **_of_jpeg(picture),
                    "EXIF data": "yes" if len(picture.getexif()) else "no",
                    "EXIF orientation": _turned(picture.getexif().get(_ORIENTATION)),
                    "ICC profile": "yes" if picture.info.get("icc_profile") else "no",
                    "resolution tag": str(picture.info.get("dpi", "none")),
                    "bytes a pixel": state.st_size / max(1, width * height),
                    "time stamp": state.st_mtime // _DAY,  # files are copied at different minutes
                }
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError, DecompressionBombError):
        return {}  # the reader names it


def _turned(orientation: object) -> str:
    """Return how a picture is turned and mirrored when it is read."""
    return _TURNED.get(orientation, "as it is") if isinstance(orientation, int) else "as it is"


def _compression(picture: Image, head: bytes) -> str:
    """Return the compression that changes pixels: two formats without loss give a method equal rows."""
    if picture.format in ("JPEG", "MPO") or picture.info.get("compression") == "jpeg":  # TIFF may hold JPEG data
        return "JPEG"
    lossless = picture.format != "WEBP" or b"VP8L" in (head[12:16], head[30:34])
    return "without loss" if lossless else "WebP"


def _of_jpeg(picture: Image) -> dict[str, str | float | None]:
    """Return the quality, after the table of annex K of the standard, and how colours are stored."""
    tables = getattr(picture, "quantization", None)
    if picture.format not in ("JPEG", "MPO") or not tables:
        return {}
    from PIL.JpegImagePlugin import get_sampling

    first = tables[min(tables)]
    scale = 100 * sum(first) / len(first) / _MEAN_LUMINANCE
    quality = (200 - scale) / 2 if scale <= 100 else 5000 / scale
    sampling = get_sampling(picture) if len(picture.getbands()) == 3 else None
    return {
        "JPEG quality": float(round(quality)),
        "JPEG subsampling": None if sampling is None else _SUBSAMPLING.get(sampling, "other"),
        "progressive JPEG": "yes" if picture.info.get("progressive") else "no",
    }


def _of_texts(raw: RawTexts) -> Properties:
    longest = max(map(len, raw.texts), default=0)
    limit = longest if sum(len(text) == longest for text in raw.texts) >= _CUT_LEAST else 0
    found: Properties = {name: ["yes" if has(text) else "no" for text in raw.texts] for name, has in _TRACES.items()}
    found["cut to a length"] = ["yes" if len(text) == limit >= _CUT_FROM else "no" for text in raw.texts]
    return found | typed(raw.texts)


def usual_ends(texts: Sequence[str], others: Sequence[str]) -> tuple[Properties, Properties]:
    """Return whether texts of two files begin or end with words that most texts of one of them have there.

    A signature, a heading or the name of a program is such words.
    """
    found: tuple[Properties, Properties] = {}, {}
    words = [[same_text(text).split() for text in part] for part in (texts, others)]
    for name, end in (("first word", slice(0, 1)), ("last word", slice(-1, None))):
        ends = [[" ".join(text[end]) for text in part] for part in words]
        usual = set()
        for part in ends:
            value, count = Counter(part).most_common(1)[0] if part else ("", 0)
            if value and count >= max(_USUAL_LEAST, _USUAL * len(part)):
                usual.add(value)
        if usual:
            for values, part in zip(found, ends, strict=True):
                values[name] = [value if value in usual else "another" for value in part]
    return found


def layout_of(raw: RawTexts, how: How) -> dict[str, str]:
    """Return the encoding and the line ends of a file with one text a line; nothing for other texts."""
    path = Path(raw.where)
    if path.suffix.lower() != ".txt" or not path.is_file():
        return {}
    with path.open("rb") as file:
        head = file.read(_HEAD)
    encoding = encoding_of(head[:16], how)
    marked = head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    text = head.decode(encoding, errors="ignore")
    ends = {"\r\n": "CR LF", "\n": "LF", "\r": "CR"}
    used = {ends[end] for end in re.findall("\r\n|\n|\r", text)}
    return {
        "encoding": f"{encoding} {'with' if marked else 'without'} a byte order mark",
        "line ends": " and ".join(sorted(used)) or "none",
    }
