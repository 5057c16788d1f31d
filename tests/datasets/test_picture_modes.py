"""Each mode and each format of a picture is read right, converted as docs/reference/files.md says, or refused."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from own_files import puoc, refused
from PIL import Image, ImageOps
from pydantic import TypeAdapter
from sklearn.metrics import roc_auc_score

from puoc.datasets.readers import How, Preparing, read_pair
from puoc.datasets.readers.picture_modes import open_picture, to_eight_bits
from puoc.records import Array

GREY: Array = np.arange(0, 256, 16, dtype=np.uint8).reshape(4, 4).repeat(3, axis=0).repeat(3, axis=1)
COLOUR: Array = np.stack([GREY, GREY[::-1], GREY.T], axis=2)
ALPHA: Array = np.where(np.eye(12, dtype=bool), 0, 128).astype(np.uint8)
DEEP = GREY.astype(np.uint16) * 257
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "files.md"


def over_white(values: Array, alpha: Array = ALPHA) -> Array:
    """Values composed on white, in decimals."""
    share = alpha / 255 if values.ndim == 2 else alpha[..., None] / 255
    return values * share + 255 * (1 - share)


def cmyk() -> Image.Image:
    return Image.fromarray(COLOUR).convert("CMYK")


def grey_alpha() -> Image.Image:
    return Image.merge("LA", [Image.fromarray(GREY), Image.fromarray(ALPHA)])


def colour_alpha() -> Image.Image:
    return Image.merge("RGBA", [*Image.fromarray(COLOUR).split(), Image.fromarray(ALPHA)])


def palette(alpha: bool = False) -> Image.Image:
    picture = Image.fromarray(GREY).convert("P")
    picture.putpalette([part for i in range(256) for part in (i, 255 - i, 40)])
    if alpha:
        picture.info["transparency"] = bytes([0, *[255] * 255])
    return picture


PALETTE = np.stack([GREY, 255 - GREY, np.full_like(GREY, 40)], axis=2)

#: A picture of each mode, and the pixels that it has after the conversion, or a part of the refusal.
MODES: dict[str, tuple[Callable[[], Image.Image], Array | str]] = {
    "1": (lambda: Image.fromarray(GREY > 100), np.where(GREY > 100, 255, 0)),
    "L": (lambda: Image.fromarray(GREY), GREY),
    "LA": (grey_alpha, over_white(GREY)),
    "La": (lambda: grey_alpha().convert("La"), over_white(GREY)),
    "P": (palette, PALETTE),
    "PA": (lambda: palette().convert("PA"), PALETTE),
    "RGB": (lambda: Image.fromarray(COLOUR), COLOUR),
    "RGBA": (colour_alpha, over_white(COLOUR)),
    "RGBa": (lambda: colour_alpha().convert("RGBa"), over_white(COLOUR)),
    "RGBX": (lambda: Image.fromarray(COLOUR).convert("RGBX"), COLOUR),
    "CMYK": (cmyk, COLOUR),
    "YCbCr": (lambda: Image.fromarray(COLOUR).convert("YCbCr"), COLOUR),
    "HSV": (lambda: Image.fromarray(COLOUR).convert("HSV"), COLOUR),
    "LAB": (lambda: Image.new("LAB", (12, 12)), "colours of the mode LAB"),
    "I;16": (lambda: Image.frombytes("I;16", (12, 12), DEEP.astype("<u2").tobytes()), GREY),
    "I;16L": (lambda: Image.frombytes("I;16L", (12, 12), DEEP.astype("<u2").tobytes()), GREY),
    "I;16B": (lambda: Image.frombytes("I;16B", (12, 12), DEEP.astype(">u2").tobytes()), GREY),
    "I;16N": (lambda: Image.frombytes("I;16N", (12, 12), DEEP.astype("=u2").tobytes()), GREY),
    "I": (lambda: Image.fromarray(GREY.astype(np.int32)), "whole numbers of 32 bits (mode I), whose range"),
    "F": (lambda: Image.fromarray(GREY.astype(np.float32)), "numbers with decimals (mode F), whose range"),
}
_TOLERANCE = {"HSV": 4, "YCbCr": 3, "La": 2, "RGBa": 2}  # these modes round by themselves; others are right to one half


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_is_read_converted_or_refused(mode: str) -> None:
    make, expected = MODES[mode]
    picture = make()
    assert picture.mode == mode
    limit = 65535 if mode.startswith("I;16") else None if mode in "IF" else 255
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(f"x.png: has {expected}")) as error:
            to_eight_bits(picture, Path("x.png"), "white", limit)
        assert "so convert it first (" in str(error.value)
        return
    found = np.asarray(to_eight_bits(picture, Path("x.png"), "white", limit).picture)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(float) - expected).max() <= _TOLERANCE.get(mode, 0.5)


def test_no_mode_of_pillow_is_left_out() -> None:
    assert set(MODES) == set(Image.MODES)
    stated = re.findall(r"^\| `([^|]+)` \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert {mode for cell in stated for mode in cell.split("`, `")} >= set(MODES)


def png(depth: int, colour: int, rows: Array, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG file that Pillow cannot write: rows (height, bytes)."""
    height, width = len(rows), 12
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)),
        *chunks,
        (b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))),
        (b"IEND", b""),
    ]
    coded = [struct.pack(">I", len(x)) + name + x + struct.pack(">I", zlib.crc32(name + x)) for name, x in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(coded)


def tiff(bits: int, photometric: int, values: Array) -> bytes:
    """A TIFF file of whole numbers (height, width) that Pillow cannot write."""
    body = values.astype("<u2").tobytes()
    if bits == 12:  # two values in three bytes
        flat = values.reshape(-1, 2).astype(int)
        body = bytes(part for a, b in flat for part in (a >> 4, (a & 15) << 4 | b >> 8, b & 255))
    tags = [(256, 12), (257, 12), (258, bits), (259, 1), (262, photometric), (277, 1), (278, 12)]
    tags += [(273, 8 + 2 + 12 * 9 + 4), (279, len(body))]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in sorted(tags))
    return b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + b"\0" * 4 + body


def pgm(values: Array, top: int) -> bytes:
    return b"P5 12 12 %d\n" % top + values.astype(">u2").tobytes()


DEEP_COLOUR = (COLOUR.astype(">u2") * 257).astype(">u2").reshape(12, -1)
_WIDE = "has colours or transparency of 16 bits a channel, which are not read"
#: Contents of files, by name, that hold more than a mode says.
FILES: dict[str, tuple[str, Callable[[], bytes], Array | str]] = {
    "grey of 16 bits, PNG": ("x.png", lambda: png(16, 0, DEEP.astype(">u2")), GREY),
    "grey of 16 bits and a transparent value": (
        "x.png",
        lambda: png(16, 0, DEEP.astype(">u2"), (b"tRNS", struct.pack(">H", 0))),
        np.where(GREY == 0, 255, GREY),
    ),
    "a transparent grey value": (
        "x.png",
        lambda: png(8, 0, GREY, (b"tRNS", struct.pack(">H", 16))),
        np.where(GREY == 16, 255, GREY),
    ),
    "a transparent colour": (
        "x.png",
        lambda: png(8, 2, COLOUR.reshape(12, -1), (b"tRNS", struct.pack(">HHH", *COLOUR[0, 0]))),
        np.where((COLOUR[0, 0] == COLOUR).all(axis=2, keepdims=True), 255, COLOUR),
    ),
    "colours of 16 bits, PNG": ("x.png", lambda: png(16, 2, DEEP_COLOUR), _WIDE),
    "grey and transparency of 16 bits": ("x.png", lambda: png(16, 4, np.zeros((12, 24), ">u2")), _WIDE),
    "colours and transparency of 16 bits": ("x.png", lambda: png(16, 6, np.zeros((12, 48), ">u2")), _WIDE),
    "grey of 16 bits, TIFF": ("x.tif", lambda: tiff(16, 1, DEEP), GREY),
    "grey of 12 bits, TIFF": ("x.tif", lambda: tiff(12, 1, GREY.astype(int) * 4095 // 255), GREY),
    "grey of 16 bits in which 0 is white": ("x.tif", lambda: tiff(16, 0, DEEP), "16 bits a pixel, in which 0 is white"),
    "grey of up to 1000, PGM": ("x.pgm", lambda: pgm(GREY.astype(int) * 1000 // 255, 1000), GREY),
    "grey of up to 65535, PGM": ("x.pgm", lambda: pgm(DEEP, 65535), GREY),
}


@pytest.mark.parametrize("name", FILES)
def test_content_beyond_8_bits_or_behind_a_transparent_value_is_kept_or_refused(name: str, tmp_path: Path) -> None:
    file, content, expected = FILES[name]
    path = tmp_path / file
    path.write_bytes(content())
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected) as error:
            open_picture(path)
        assert "magick IN -depth 8" in str(error.value)
    else:
        assert np.abs(np.asarray(open_picture(path).picture).astype(float) - expected).max() <= 1


def saved(path: Path, picture: Image.Image, **options: object) -> Path:
    picture.save(path, **options)
    return path


#: Formats that the reader takes: a picture, its name with options, and by how many levels it may differ.
FORMATS: dict[str, tuple[Callable[[], Image.Image], str, dict[str, object], Array, float]] = {
    "PNG": (lambda: Image.fromarray(COLOUR), "x.png", {}, COLOUR, 0),
    "PNG with transparency": (colour_alpha, "x.png", {}, over_white(COLOUR), 0.5),
    "PNG, palette with transparency": (
        lambda: palette(alpha=True),
        "x.png",
        {},
        np.where(GREY[..., None] == 0, 255, PALETTE),
        0,
    ),
    "JPEG": (lambda: Image.fromarray(GREY), "x.jpg", {"quality": 100}, GREY, 3),
    "JPEG, CMYK": (cmyk, "x.jpeg", {"quality": 100, "subsampling": 0}, COLOUR, 6),
    "BMP": (lambda: Image.fromarray(COLOUR), "x.bmp", {}, COLOUR, 0),
    "GIF": (lambda: Image.fromarray(GREY), "x.gif", {}, GREY[..., None], 0),
    "TIFF": (lambda: Image.fromarray(COLOUR), "x.tiff", {}, COLOUR, 0),
    "TIFF with transparency": (grey_alpha, "x.tif", {}, over_white(GREY), 0.5),
    "WebP": (colour_alpha, "x.webp", {"lossless": True, "exact": True}, over_white(COLOUR), 0.5),
    "PGM": (lambda: Image.fromarray(GREY), "x.pgm", {}, GREY, 0),
    "PPM": (lambda: Image.fromarray(COLOUR), "x.ppm", {}, COLOUR, 0),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_read_right(name: str, tmp_path: Path) -> None:
    make, file, options, expected, tolerance = FORMATS[name]
    found = np.asarray(open_picture(saved(tmp_path / file, make(), **options)).picture).astype(float)
    assert np.abs(found - expected).max() <= tolerance


@pytest.mark.parametrize("form", ["png", "jpg", "tif", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_turned_by_its_orientation_once(orientation: int, form: str, tmp_path: Path) -> None:
    upright = np.zeros((24, 40), dtype=np.uint8)
    upright[:12, :12] = 250
    exif = Image.Exif()
    exif[0x0112] = orientation
    shown = Image.fromarray(upright)
    lying = shown.copy()
    lying.getexif()[0x0112] = {6: 8, 8: 6}.get(orientation, orientation)  # the way back
    path = saved(tmp_path / f"x.{form}", ImageOps.exif_transpose(lying), exif=exif)
    found = np.asarray(open_picture(path).picture.convert("L")).astype(int)
    assert found.shape == upright.shape
    assert np.abs(found[[4, 4, 20, 20], [4, 35, 4, 35]] - [250, 0, 0, 0]).max() < 10


def folder(path: Path, pictures: list[Image.Image]) -> Path:
    path.mkdir(parents=True)
    for i, picture in enumerate(pictures):
        picture.save(path / f"{i:03d}.png")
    return path


def shapes(n: int, seed: int, bar: bool) -> list[Image.Image]:
    """Pictures whose only content is their transparency: a bar or a square."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        alpha = np.zeros((16, 16), dtype=np.uint8)
        y, x = rng.integers(2, 6, 2)
        alpha[y : y + (10 if bar else 5), x : x + (3 if bar else 6)] = 255
        made.append(Image.fromarray(np.dstack([np.zeros((16, 16, 3), dtype=np.uint8), alpha])))
    return made


def test_a_class_that_only_transparency_shows_is_learned(tmp_path: Path) -> None:
    p, u = (
        folder(tmp_path / "p", shapes(30, 1, True)),
        folder(tmp_path / "u", [*shapes(30, 2, True), *shapes(30, 3, False)]),
    )
    test = tmp_path / "t"
    folder(test / "positive", shapes(20, 4, True))
    folder(test / "negative", shapes(20, 5, False))
    pair = read_pair(p, u, test=test)
    assert pair.unlabelled is not None
    assert pair.test is not None
    assert f"{p}: 30 pictures with transparency, composed on white" in pair.positives.notes
    towards_p = pair.positives.X.mean(axis=0) - pair.unlabelled.X.mean(axis=0)
    scores = (pair.test.X * towards_p).sum(axis=(1, 2, 3))
    assert roc_auc_score(pair.test.positive, scores) > 0.95


def white(n: int) -> list[Image.Image]:
    """White figures on a transparent ground."""
    alphas = [np.asarray(picture)[..., 3] for picture in shapes(n, 1, True)]
    return [Image.fromarray(np.dstack([np.full((16, 16, 3), 255, np.uint8), alpha])) for alpha in alphas]


def test_pictures_that_show_nothing_on_the_ground_are_told_and_refused_if_most_are(tmp_path: Path) -> None:
    rows = read_pair(folder(tmp_path / "p", [*white(4), *shapes(5, 2, False)])).positives
    assert f"{tmp_path / 'p'}: 4 pictures of one colour once composed" in rows.notes
    with pytest.raises(ValueError, match="u: 9 of 9 pictures with transparency have one colour once they are composed"):
        read_pair(folder(tmp_path / "u", white(9)))


def test_a_model_of_an_earlier_version_discards_transparency_as_it_learned(tmp_path: Path) -> None:
    pair = read_pair(folder(tmp_path / "p", shapes(3, 1, True)))
    earlier = pair.preparing.model_dump(mode="json")
    del earlier["ground"]
    (block,) = TypeAdapter(Preparing).validate_python(earlier).stream(tmp_path / "p", How())
    assert pair.X_p.any()
    assert not block.X.any()


def test_colour_and_grey_with_and_without_transparency_go_together(tmp_path: Path) -> None:
    p = folder(
        tmp_path / "p", [Image.fromarray(GREY), Image.fromarray(COLOUR), grey_alpha(), colour_alpha(), palette()]
    )
    Image.fromarray(DEEP).save(p / "deep.png")
    X = read_pair(p).X_p
    assert X.shape == (6, 3, 12, 12)
    grey = np.stack([GREY] * 3)
    for row, expected in zip(X, [grey, COLOUR, over_white(GREY), over_white(COLOUR), PALETTE, grey], strict=True):
        at = expected if expected.ndim == 2 or len(expected) == 3 else expected.transpose(2, 0, 1)
        assert np.abs(row - at).max() <= 0.5


def test_dark_pictures_of_16_bits_are_refused_with_the_levels_that_would_be_left(tmp_path: Path) -> None:
    p = folder(tmp_path / "p", [Image.fromarray(GREY.astype(np.uint16) * 16)])
    refused(
        puoc("fit", "--method", "oc_cnn", "--positives", p, "--check"),
        "1 pictures of 16 bits a pixel have no value above 3840 of 65535, and 8 bits would keep 15 levels of grey",
        "multiply all pictures by the same factor first",
    )
