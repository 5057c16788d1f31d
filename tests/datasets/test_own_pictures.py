"""Folders of pictures: what is left out of them, or of a picture, is told, and what cannot be read is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from own_files import check, puoc, refused
from PIL import Image

from puoc.datasets.readers import How, read_pair


def folder(path: Path, n: int, channels: int = 1, seed: int = 0) -> Path:
    path.mkdir()
    rng = np.random.default_rng(seed)
    for i in range(n):
        pixels = rng.integers(0, 256, (12, 12) if channels == 1 else (12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path / f"{i}.png")
    return path


def model(grey: Path) -> Path:
    made = grey.parent / "model"
    words = ("--method", "oc_svm", "--encoder", "flatten", "--positives", grey, "--out", made)
    assert puoc("fit", *words)[0] == 0
    return made


def words(said: str) -> str:
    return " ".join(said.split())


def test_a_link_to_a_picture_that_is_not_there_is_refused(tmp_path: Path) -> None:
    p = folder(tmp_path / "p", 9)
    made = model(p)
    (p / "zz.png").symlink_to("/nonexistent/z.png")
    for said in (check(p), puoc("score", "--model", made, p)):
        refused(said, f"{p / 'zz.png'}: a link to /nonexistent/z.png, which is not there; mend it or take it away")
    (p / "zz.png").unlink()
    (p / ".zz.png").symlink_to("/nonexistent/z.png")  # hidden ones are passed over
    assert len(read_pair(p).positives) == 9


def test_files_that_are_no_pictures_by_their_names_are_told(tmp_path: Path) -> None:
    p = folder(tmp_path / "p", 9)
    made = model(p)
    for name in ("x.heic", "y.jfif"):
        (p / name).write_bytes(b"x")
    told = "2 files left out that are no pictures by their names, such as x.heic"
    for code, said in (check(p, "--encoder", "flatten"), puoc("score", "--model", made, p)):
        assert code == 0, said
        assert words(said).count(told) == 1
    rows = read_pair(p, withhold=0.4)
    assert rows.held is not None
    assert [*rows.positives.notes, *rows.held.notes] == [f"{p}: {told}"]


def test_pictures_in_colour_that_are_read_as_grey_are_told(tmp_path: Path) -> None:
    p, u = folder(tmp_path / "p", 9), folder(tmp_path / "u", 9, channels=3, seed=1)
    Image.open(p / "0.png").convert("RGB").save(u / "grey.png")
    told = "9 pictures in colour read as grey"
    with pytest.raises(ValueError, match="mode: L in 9 of 9 rows; and RGB in 10 of 10 rows"):
        read_pair(p, u)
    pair = read_pair(p, u, How(allow_file_differences=True), from_positives=True)
    assert pair.unlabelled is not None
    assert pair.unlabelled.notes == (f"{u}: {told}",)
    code, said = puoc("score", "--model", model(p), u)
    assert code == 0
    assert told in words(said)
    both = read_pair(p, u, How(allow_file_differences=True))
    assert both.preparing.shape == (3, 12, 12)
    assert both.positives.notes == ()


@pytest.mark.parametrize("form", ["tif", "gif"])
def test_files_of_several_pages_are_told(form: str, tmp_path: Path) -> None:
    p = folder(tmp_path / "p", 9)
    pages = [Image.fromarray(np.full((12, 12), 60 * i, dtype=np.uint8)) for i in range(3)]
    pages[0].save(p / f"many.{form}", save_all=True, append_images=pages[1:])
    rows = read_pair(p).positives
    assert rows.notes == (f"{p}: 1 pictures of several pages or frames, of which the first is read",)
    assert not rows.X[-1].any()


def test_colours_that_are_not_read_are_refused_with_their_file(tmp_path: Path) -> None:
    p = folder(tmp_path / "p", 9)
    made = model(p)
    Image.new("LAB", (12, 12)).save(p / "lab.tif")
    refused(puoc("score", "--model", made, p), f"{p / 'lab.tif'}: has colours of the mode LAB, which are not read")


def test_all_damaged_pictures_are_named_at_once(tmp_path: Path) -> None:
    for i in range(30):
        (tmp_path / f"{i:02d}.png").write_bytes(b"no picture")
    said = puoc("fit", "--method", "oc_cnn", "--positives", tmp_path, "--check")
    message = refused(said, "00.png: cannot be read as a picture", "19.png", "and 10 further pictures")
    assert "20.png" not in message
    assert "<_io" not in message, "no object of Python"


@pytest.mark.parametrize(
    ("suffix", "one"),
    [(".parquet", "with all rows"), (".csv", "with all rows"), (".txt", "with a text in each line, so join them")],
)
def test_a_folder_of_parts_is_told_from_one_of_pictures(suffix: str, one: str, tmp_path: Path) -> None:
    (tmp_path / f"part0{suffix}").write_text("a\n1\n")
    said = puoc("fit", "--method", "oc_svm", "--positives", tmp_path, "--check")
    refused(said, f"no picture among 1 files, but {suffix} files; expected one file {one}")


@pytest.mark.parametrize("option", ["--label", "--positive"])
def test_an_option_for_labels_beside_a_folder_of_test_rows_is_refused(option: str, tmp_path: Path) -> None:
    for part in ("p", "t/positive", "t/negative"):
        (tmp_path / part).mkdir(parents=True)
        Image.new("L", (8, 8), len(part)).save(tmp_path / part / "a.png")
    said = puoc(
        "fit", "--method", "oc_cnn", "--positives", tmp_path / "p", "--test", tmp_path / "t", option, "1", "--check"
    )
    refused(said, f"{option}: got '1', and the test rows of images are read from the parts positive and negative")
