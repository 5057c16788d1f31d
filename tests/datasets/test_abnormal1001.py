"""The loader of Abnormal1001 on pictures in the layout of its two sources, which nobody here has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from puoc.datasets import DATASETS
from puoc.datasets.abnormal1001 import Abnormal1001, normal_cars
from puoc.datasets.prepare import FetchError, ensure, write_fetched
from puoc.datasets.prepare.arrays import Prepared, prepare

VOC = Path("VOCdevkit/VOC2007")


def save(path: Path, size: tuple[int, int], mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng([*path.name.encode(), *size]).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    Image.fromarray(noise).resize(size).convert(mode).save(path)


@pytest.fixture
def laid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """data/abnormal1001 with four normal and three abnormal cars, and what does not belong to them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    folder = tmp_path / "data" / "abnormal1001"
    for number in range(1, 9):
        save(folder / VOC / "JPEGImages" / f"00000{number}.jpg", (500, 375), "L" if number == 7 else "RGB")
    main = folder / VOC / "ImageSets" / "Main"
    main.mkdir(parents=True)
    (main / "car_trainval.txt").write_text("000003  1\n000001 -1\n000002  0\n000007  1\n")
    (main / "car_test.txt").write_text("000004 -1\n000005  1\n000006  1\n")
    (main / "cat_test.txt").write_text("000004  1\n")
    for name, mode in (("a.jpg", "RGB"), ("b.JPG", "L"), ("c.gif", "P")):
        save(folder / "Abnormal_Object_Dataset" / "Car" / name, (300, 200), mode)
    (folder / "Abnormal_Object_Dataset" / "Car" / "Thumbs.db").write_bytes(b"x")
    save(folder / "Abnormal_Object_Dataset" / "Chair" / "chair.jpg", (300, 200))
    return folder


def test_cars_of_both_sources_are_read_and_declared_by_what_is_there(laid: Path, tmp_path: Path) -> None:
    assert list(normal_cars(laid / VOC)) == ["000003.jpg", "000005.jpg", "000006.jpg", "000007.jpg"]
    assert Abnormal1001.counts == {"all": (4, 3)}
    digest = Abnormal1001.digest
    assert prepare("abnormal1001", tmp_path / "data", tmp_path / "prepared") == digest
    prepared = Prepared.open(tmp_path / "prepared" / "abnormal1001")
    assert prepared.X.shape == (7, 3, 200, 200)
    assert prepared.meta.classes == ("normal", "abnormal")
    assert prepared.meta.duplicates == 0
    with Image.open(laid / VOC / "JPEGImages" / "000003.jpg") as picture:
        expected = np.asarray(picture.resize((200, 200), Image.Resampling.BILINEAR)).transpose(2, 0, 1)
    np.testing.assert_array_equal(prepared.X[0], expected)
    grey = [bool((row[0] == row[1]).all() and (row[1] == row[2]).all()) for row in prepared.X]
    assert grey == [False, False, False, True, False, True, False]


def test_other_pictures_are_other_data(laid: Path, tmp_path: Path) -> None:
    before = Abnormal1001.digest
    save(laid / "Abnormal_Object_Dataset" / "Car" / "d.jpg", (100, 300))
    assert Abnormal1001.counts == {"all": (4, 4)}
    assert Abnormal1001.digest != before
    assert prepare("abnormal1001", tmp_path / "data", tmp_path / "prepared") == Abnormal1001.digest


def test_the_test_part_of_voc_may_be_absent(laid: Path) -> None:
    (laid / VOC / "ImageSets" / "Main" / "car_test.txt").unlink()
    assert Abnormal1001.counts == {"all": (2, 3)}


def test_where_the_files_are_not_it_can_be_planned_and_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUOC_MIRROR", raising=False)
    assert Abnormal1001.counts == {"all": (1315, 110)}
    assert Abnormal1001.digest == "0" * 32
    with pytest.raises(FetchError) as raised:
        write_fetched(["abnormal1001"], tmp_path / "data", tmp_path / "work")
    message = str(raised.value)
    assert "abnormal1001: VOCdevkit/VOC2007 was not found: no source is declared; ask for" in message
    for told in ("http://paul.rutgers.edu", "http://host.robots.ox.ac.uk", "run `puoc plan` again", "elpv", "--from"):
        assert told in message
    assert "abnormal1001" in DATASETS


def test_a_folder_elsewhere_is_taken_with_what_belongs_to_it_alone(
    laid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = ensure("abnormal1001", elsewhere / "data", mirror=laid.parent)
    assert [entry["source"] for entry in found] == ["mirror", "mirror"]
    brought = {path.name for path in (elsewhere / "data").rglob("*") if path.is_file()}
    cars = {"000003.jpg", "000005.jpg", "000006.jpg", "000007.jpg"}
    assert brought == {"car_trainval.txt", "car_test.txt", "a.jpg", "b.JPG", "c.gif"} | cars
    assert prepare("abnormal1001", elsewhere / "data", elsewhere / "prepared") == Abnormal1001.digest


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda at: (at / VOC / "ImageSets/Main/car_trainval.txt").unlink(), "VOC2007 cannot be read: .*car_trainval"),
        (
            lambda at: (at / VOC / "ImageSets/Main/car_test.txt").write_text("<html>"),
            "expected lines with the number of a picture and 1",
        ),
        (
            lambda at: (at / VOC / "ImageSets/Main/car_test.txt").write_text("000001 2"),
            "expected lines with the number of a picture",
        ),
        (
            lambda at: [p.unlink() for p in (at / "Abnormal_Object_Dataset/Car").iterdir()],
            "Car cannot be read: it contains no pict",
        ),
    ],
    ids=["no list", "another file", "another flag", "no pictures"],
)
def test_what_is_not_whole_is_told(laid: Path, tmp_path: Path, damage: object, message: str) -> None:
    damage(laid)  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"data/abnormal1001 cannot be read: .*; repair the folder or remove it"):
        _ = Abnormal1001.digest
    with pytest.raises(FetchError, match=message):
        ensure("abnormal1001", tmp_path / "data")
