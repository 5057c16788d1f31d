"""Files that were saved in different ways are named before anything is fitted; files of one source are not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_files import check, puoc, refused
from PIL import Image

from puoc.datasets.readers import How, read_pair, read_raw
from puoc.datasets.readers.containers import properties_of
from puoc.datasets.readers.file_differences import DoubtfulFiles, FileDifferences, between
from puoc.datasets.readers.images import RawPictures
from puoc.datasets.readers.texts import RawTexts
from puoc.userdata.assess.fit_command import command

Save = Callable[[Image.Image, Path, int], object]


def picture(rng: np.random.Generator, side: int = 24) -> Image.Image:
    """Soft spots in colour."""
    return Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).resize((side, side))


def folder(path: Path, n: int, seed: int, save: Save, side: int = 24) -> Path:
    path.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for i in range(n):
        save(picture(rng, side), path / f"{i:03d}", i)
    return path


def saving(suffix: str, mode: str = "RGB", **options: Any) -> Save:
    return lambda made, path, _: made.convert(mode).save(path.with_suffix(suffix), **options)


def resized(made: Image.Image, path: Path, _: int) -> None:
    made.resize((48, 48)).save(path.with_suffix(".png"))


def a_third_as_jpeg(made: Image.Image, path: Path, i: int) -> None:
    made.save(path.with_suffix(".png" if i % 3 else ".jpg"))


PNG = saving(".png")
#: How P and U are saved, and the properties that are named.
DIFFERENT: dict[str, tuple[Save, Save, set[str]]] = {
    "PNG and JPEG": (PNG, saving(".jpg"), {"compression"}),
    "a third of U as JPEG": (PNG, a_third_as_jpeg, {"compression"}),
    "another quality": (saving(".jpg", quality=90), saving(".jpg", quality=60), {"JPEG quality"}),
    "another subsampling": (saving(".jpg", subsampling=0), saving(".jpg", subsampling=2), {"JPEG subsampling"}),
    "another order": (saving(".jpg"), saving(".jpg", progressive=True), {"progressive JPEG"}),
    "WebP with and without loss": (saving(".webp", lossless=True), saving(".webp"), {"compression"}),
    "grey and colour": (saving(".png", "L"), PNG, {"mode"}),
    "a palette": (PNG, saving(".png", "P"), {"mode"}),
    "other sizes": (PNG, resized, {"size"}),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_pictures_that_were_saved_in_two_ways_are_asked_about(name: str, tmp_path: Path) -> None:
    of_p, of_u, expected = DIFFERENT[name]
    p, u = folder(tmp_path / "p", 40, 1, of_p), folder(tmp_path / "u", 60, 2, of_u)
    with pytest.raises(DoubtfulFiles) as error:
        read_pair(p, u, How(pixels=24))
    found = error.value.differences
    assert {one.name for one in found.seen} == expected
    assert f"{p} and {u} differ in how they were saved" in str(error.value)
    assert "--allow-file-differences" in str(error.value)
    pair = read_pair(p, u, How(pixels=24, allow_file_differences=True))
    assert pair.differences == (found,)
    assert "--allow-file-differences" in command(
        "oc_svm", {"kernel": "linear", "nu": 0.5}, {"positives": p, "unlabelled": u}, pair.how
    )
    assert FileDifferences.model_validate_json(found.model_dump_json()) == found


def test_the_commands_ask_before_they_fit_and_mark_what_was_allowed(tmp_path: Path) -> None:
    p, u = folder(tmp_path / "p", 24, 1, PNG), folder(tmp_path / "u", 30, 2, saving(".jpg"))
    files = ("--positives", p, "--unlabelled", u)
    page = tmp_path / "a.html"
    expected = (
        "compression: without loss in 24 of 24 rows; and JPEG in 30 of 30 rows (p = ",
        "one format, quality, mode and size",
    )
    refused(puoc("fit", "--method", "oc_svm", "--encoder", "flatten", *files, "--out", tmp_path / "m"), *expected)
    refused(puoc("assess", *files, "--html", page), *expected)
    assert not page.exists()
    assert not (tmp_path / "m").exists()
    code, said = check(p, "--encoder", "flatten", "--unlabelled", u, "--allow-file-differences")
    assert code == 0, said
    assert f"file differences allowed: compression of {p} and {u}" in " ".join(said.split())
    refused(check(tmp_path / "p", "--kind", "table", "--allow-file-differences"), "--allow-file-differences: got True")


@pytest.mark.slow
def test_assess_reports_allowed_differences_and_repeats_the_option(tmp_path: Path) -> None:
    p, u = folder(tmp_path / "p", 24, 1, PNG), folder(tmp_path / "u", 30, 2, saving(".jpg"))
    files = ("--positives", p, "--unlabelled", u, "--incoming", folder(tmp_path / "v", 30, 3, saving(".webp")))
    code, said = puoc("assess", *files, "--allow-file-differences", "--json", "--html", tmp_path / "a.html")
    assert code == 0, said
    found = json.loads(said)
    assert found["file_differences"][0]["found"][0]["name"] == "compression"
    assert "--allow-file-differences" in found["recommended"]["command"]
    notes = " ".join(found["reading"])
    assert "file differences allowed: compression" in notes
    assert "the incoming rows were saved in another way than U, which looks like a shift: compression" in notes


def test_test_rows_whose_positives_were_saved_in_another_way_are_asked_about(tmp_path: Path) -> None:
    p, test = folder(tmp_path / "p", 20, 1, PNG), tmp_path / "t"
    folder(test / "positive", 20, 2, PNG)
    folder(test / "negative", 20, 3, saving(".jpg"))
    refused(check(p, "--encoder", "flatten", "--test", test), f"{test / 'positive'} and {test / 'negative'} differ in")


def test_what_no_method_sees_is_a_note(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "maker"
    p, u = folder(tmp_path / "p", 30, 1, PNG), folder(tmp_path / "u", 30, 2, saving(".png", exif=exif, dpi=(72, 72)))
    for path in p.iterdir():
        os.utime(path, (0, 1e9))
    pair = read_pair(p, u)
    (found,) = pair.differences
    assert not found.seen
    assert {"EXIF data", "resolution tag", "time stamp"} <= {one.name for one in found.found}
    (note,) = pair.notes
    assert "differ in what no method sees, as classes may too: " in note
    assert "time stamp: 2001-09-09; and 20" in note
    assert pair.marks == ()
    bitmaps = read_pair(p, folder(tmp_path / "bmp", 30, 2, saving(".bmp")))  # the pixels are those of PNG
    assert [(one.name, one.seen) for one in bitmaps.differences[0].found if one.name == "format"] == [("format", False)]
    assert bitmaps.marks == ()


def test_pictures_of_one_source_are_rarely_asked_about(tmp_path: Path) -> None:
    """Formats, sizes, qualities and modes are mixed in the same way in P and U."""
    rng = np.random.default_rng(0)

    def mixed(made: Image.Image, path: Path, _: int) -> None:
        side = int(rng.choice([24, 32, 40]))
        made = made.resize((side, side)).convert(str(rng.choice(["L", "RGB"])))
        if rng.random() < 0.5:
            made.save(path.with_suffix(".png"))
        else:
            made.save(path.with_suffix(".jpg"), quality=int(rng.choice([75, 85, 95])))

    raw = read_raw(folder(tmp_path / "all", 90, 1, mixed), How())
    assert isinstance(raw, RawPictures)
    asked = 0
    for _ in range(15):
        side = np.isin(np.arange(len(raw)), rng.permutation(len(raw))[:30])
        asked += bool(between(raw.rows(side), raw.rows(~side), How(pixels=24)).seen)
    assert asked <= 2


def test_a_quality_is_the_one_that_pillow_was_asked_for(tmp_path: Path) -> None:
    for quality in (30, 50, 75, 90, 95):
        saving(".jpg", quality=quality)(picture(np.random.default_rng(0)), tmp_path / f"{quality}", 0)
    found = properties_of(RawPictures("x", sorted(tmp_path.iterdir())), How())
    assert np.abs(np.array(found["JPEG quality"], dtype=float) - [30, 50, 75, 90, 95]).max() <= 1


TEXTS = [f"word{i % 7} and word{i % 5} of {i % 11} & more, so far" for i in range(60)]
TRACES: dict[str, tuple[Callable[[str], str], str]] = {
    "entities": (lambda text: text.replace("&", "&amp;"), "HTML entities"),
    "replaced": (lambda text: text.replace("and", "\ufffd"), "replacement characters"),
    "misread": (lambda text: text + " café".encode().decode("latin-1"), "UTF-8 read as Latin-1"),
    "escaped": (lambda text: text.replace(", ", "\\n"), "escape sequences"),
    "quoted": (lambda text: f'"{text}"', "quotation marks around"),
    "cut": (lambda text: (text * 2)[:40], "cut to a length"),
}


@pytest.mark.parametrize("name", TRACES)
def test_texts_that_went_two_ways_are_asked_about(name: str, tmp_path: Path) -> None:
    change, expected = TRACES[name]
    longer = [text + "!" * (i % 9) for i, text in enumerate(TEXTS)]
    (tmp_path / "p.txt").write_text("\n".join(longer), encoding="utf-8")
    (tmp_path / "u.txt").write_text("\n".join(map(change, longer)), encoding="utf-8")
    said = check(tmp_path / "p.txt", "--unlabelled", tmp_path / "u.txt")
    refused(said, f"{expected}: no in", "Make both files from their source in one way")
    half = RawTexts("x", longer)
    assert not between(half, RawTexts("y", longer[::2]), How()).seen


MADE = [f"word{i} and word{i % 7} of {i * i % 37} thing{i % 11}" for i in range(90)]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("last word", lambda text: f"{text} -- Anna"),
        ("last word", lambda text: f"{text}\u00a0(Sent from my phone)"),
        ("first word", lambda text: f"Re: {text}"),
    ],
)
def test_words_that_all_texts_of_one_file_begin_or_end_with_are_asked_about(
    name: str, change: Callable[[str], str]
) -> None:
    P, U = RawTexts("p", MADE[:40]), RawTexts("u", MADE[40:])
    changed = RawTexts("p", list(map(change, P.texts)))
    assert [one.name for one in between(changed, U, How()).seen] == [name]
    assert [one.name for one in between(U, changed, How()).seen] == [name]
    assert not between(P, U, How()).seen
    both = RawTexts("u", list(map(change, U.texts)))
    assert not between(changed, both, How()).seen
    mostly = [change(text) if i % 20 < 9 else text for i, text in enumerate(MADE)]  # 45 % are no more than 60 %
    more = [change(text) if i % 5 < 3 else text for i, text in enumerate(MADE)]
    assert not between(RawTexts("p", more), RawTexts("u", mostly), How()).seen


def test_a_trace_of_few_texts_is_not_asked_about() -> None:
    plain, few = [text.replace("&", "and") for text in TEXTS] * 9, [text.replace("&", "&amp;") for text in TEXTS[:50]]
    assert not between(RawTexts("p", plain), RawTexts("u", [*plain, *few]), How()).seen
    assert between(RawTexts("p", plain), RawTexts("u", [*plain, *few * 4]), How()).seen


def test_encodings_and_line_ends_of_texts_are_notes(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    (tmp_path / "u.txt").write_bytes("\r\n".join(TEXTS[::-1]).encode("utf-16"))
    code, said = check(tmp_path / "p.txt", "--unlabelled", tmp_path / "u.txt")
    assert code == 0, said
    said = re.sub(r"\s+", " ", said)
    assert "line ends: LF; and CR LF" in said
    assert "encoding: utf-8 without a byte order mark; and utf-16 with a byte order mark" in said
