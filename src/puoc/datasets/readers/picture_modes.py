"""Conversion of a picture to 8-bit grey or colour, by the mode in which Pillow opens it.

docs/reference/files.md has the table of all modes. No content is cut silently: transparent pixels are composed on a
ground, 16-bit grey is scaled, and a mode whose values have no known range is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from puoc.records import Array

if TYPE_CHECKING:
    from PIL.Image import Image

Ground = Literal["white"]

#: Modes that hold grey values of 16 bits.
_DEEP_GREY: Final = ("I;16", "I;16L", "I;16B", "I;16N")
_COLOUR: Final = ("RGB", "RGBX", "CMYK", "YCbCr", "HSV")
_GREY: Final = ("1", "L")
#: A picture of 16 bits whose training set stays below this value would keep fewer than 64 of 256 levels.
LEAST_PEAK: Final = 1 << 14

_MAGICK = "in ImageMagick: magick IN"
_SCALE = "scale its values to 0 to 255, by the same factor in every picture, and save it with 8 bits"


class Opened(NamedTuple):
    """A picture of 8 bits, turned upright, with findings."""

    picture: Image  # of mode L or RGB
    composed: bool = False  # True if it had transparent pixels
    blank: bool = False  # True if composing left a single colour
    peak: int | None = None  # largest value of a picture of 16 bits
    pages: bool = False  # True if its file has further pictures

    @property
    def grey(self) -> bool:
        """Return True if the picture has one channel."""
        return self.picture.mode == "L"

    def in_colour(self) -> bool:
        """Return True if some pixel is not grey."""
        if self.grey:
            return False
        colours = np.asarray(self.picture)
        return bool((colours != colours[..., :1]).any())


def open_picture(path: Path, ground: Ground | None = "white") -> Opened:
    """Read the first picture of a file, turn it by its orientation tag, and convert it to mode L or RGB.

    Parameters
    ----------
    ground : colour behind transparent pixels. None discards the transparency, as models of earlier versions did.

    Raises
    ------
    ValueError : the picture is damaged or has a mode that is not read.
    """
    from PIL import ImageOps, UnidentifiedImageError
    from PIL.Image import DecompressionBombError
    from PIL.Image import open as pillow_open

    try:
        # Pillow 13 maps a named TIFF file with the sides of the turned picture, which garbles its pixels
        with path.open("rb") as file, pillow_open(file) as picture:
            pages = bool(getattr(picture, "is_animated", False))
            limit = _limit(picture, path)
            picture.load()
            turned = ImageOps.exif_transpose(picture)
    except (OSError, UnidentifiedImageError, SyntaxError, DecompressionBombError) as error:
        why = "its content has no known form" if isinstance(error, UnidentifiedImageError) else error
        raise ValueError(f"{path}: cannot be read as a picture ({why}); mend it or take it away") from error
    return to_eight_bits(turned, path, ground, limit)._replace(pages=pages)


def _limit(picture: Image, path: Path) -> int | None:
    """Return the largest value that a channel of the file can have: 255, 4095 or 65535; None if it is not known.

    Raises
    ------
    ValueError : Pillow would cut the values of the file to their upper 8 bits, or show them inverted.
    """
    bits = _bits(picture)
    if picture.mode in _DEEP_GREY or (picture.mode == "I" and picture.format in ("PPM", "PNG")):
        if _tiff_tag(picture, 262) == 0:
            raise _refused(path, f"{bits} bits a pixel, in which 0 is white", f"{_MAGICK} -depth 8 OUT.png")
        return 4095 if bits == 12 else 65535
    if picture.mode in ("I", "F"):
        return None
    if bits > 8:
        raise _refused(path, f"colours or transparency of {bits} bits a channel", f"{_MAGICK} -depth 8 OUT.png")
    return 255


def _bits(picture: Image) -> int:
    """Return the bits of a channel in the file, before Pillow reads it."""
    found = _tiff_tag(picture, 258)
    if found is not None:
        return max(found) if isinstance(found, tuple) else int(found)
    tiles = getattr(picture, "tile", ())
    arguments = tiles[0][3] if tiles else ""
    raw = arguments if isinstance(arguments, str) else str(arguments[0]) if arguments else ""
    if picture.format == "PPM":  # Pillow scales its values by their stated maximum
        return 8 if picture.mode != "I" else 16
    return 16 if ";16" in raw or picture.mode in _DEEP_GREY else 8


def _tiff_tag(picture: Image, tag: int) -> tuple[int, ...] | int | None:
    tags = getattr(picture, "tag_v2", None)
    return None if tags is None else tags.get(tag)


def to_eight_bits(picture: Image, path: Path, ground: Ground | None, limit: int | None) -> Opened:
    """Convert a picture to mode L or RGB.

    Parameters
    ----------
    limit : largest value that a channel can have; None if it is not known.

    Raises
    ------
    ValueError : the mode is not read.
    """
    from PIL.Image import fromarray

    mode, transparent = picture.mode, picture.info.get("transparency")
    if limit is not None and (mode in _DEEP_GREY or mode == "I"):
        values = np.asarray(picture).astype(np.int64)
        scaled = fromarray(((values * 255 + limit // 2) // limit).clip(0, 255).astype(np.uint8))
        if isinstance(transparent, int) and ground is not None:
            scaled.putalpha(fromarray(np.where(values == transparent, 0, 255).astype(np.uint8)))
        opened = _composed(scaled, ground) if scaled.mode == "LA" else Opened(scaled)
        return opened._replace(peak=int(values.max() * 65535 // limit))
    if mode in ("I", "F"):
        kind = "whole numbers of 32 bits" if mode == "I" else "numbers with decimals"
        raise _refused(path, f"{kind} (mode {mode}), whose range is not known", _SCALE)
    if mode == "LAB":
        raise _refused(path, "colours of the mode LAB", f"{_MAGICK} -colorspace sRGB OUT.png")
    if mode in ("LA", "La") or (mode in _GREY and transparent is not None):
        return _composed(picture.convert("LA"), ground)
    if mode in ("RGBA", "RGBa", "PA") or transparent is not None:
        return _composed(picture.convert("RGBA"), ground)
    if mode in _GREY:
        return Opened(picture.convert("L"))
    if mode == "P" or mode in _COLOUR:
        return Opened(picture.convert("RGB"))
    raise _refused(path, f"colours of the mode {mode}", f"{_MAGICK} -depth 8 OUT.png")


def _composed(picture: Image, ground: Ground | None) -> Opened:
    """Compose a picture of mode LA or RGBA on a ground: alpha * colour + (1 - alpha) * 255, rounded."""
    from PIL.Image import fromarray

    plain = picture.convert(picture.mode[:-1])
    if ground is None:
        return Opened(plain)
    values: Array = np.asarray(picture).astype(np.int32)
    colours, alpha = values[..., :-1], values[..., -1:]
    if (alpha == 255).all():
        return Opened(plain)
    made = ((colours * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    blank = bool((made == made[:1, :1]).all()) and not bool((values == values[:1, :1]).all())
    return Opened(fromarray(made[..., 0] if plain.mode == "L" else made), composed=True, blank=blank)


def _refused(path: Path, what: str, solution: str) -> ValueError:
    return ValueError(
        f"{path}: has {what}, which are not read; expected grey or RGB of 8 bits, with or without transparency, or "
        f"grey of 16 bits, so convert it first ({solution})"
    )
