"""The page of ``puoc audit``, which is also the head of that of ``puoc assess``: what it says, and from where."""

from __future__ import annotations

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from own_files import puoc, refused
from PIL import Image

from puoc.datasets.audit.grouping import SharedValues
from puoc.datasets.audit.kin import Copies, Kin
from puoc.datasets.audit.result import Audited, ColumnAudit, Histogram, Told
from puoc.datasets.readers.doubts import Doubt
from puoc.userdata.assess.audit_page import Commands, Section, page, section
from puoc.userdata.assess.decision import Assessment, decide
from puoc.userdata.assess.evidence import Alpha, Evidence, Gained
from puoc.userdata.assess.page import page as page_of_assessment
from puoc.userdata.assess.score_counts import ScoreCounts

HOSTILE = "<script>alert(1)</script>&\"'</th><img src=x onerror=alert(2)>{{ 7 * 7 }}"
N_P, N_U = 60, 90


class Read(HTMLParser):
    """A page as a browser would build it, as far as the tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []  # of all tables
        self.titles: list[str] = []
        self._cell = self._title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._cell |= tag in ("td", "th")
        self._title |= tag == "title"

    def handle_endtag(self, tag: str) -> None:
        self._cell &= tag not in ("td", "th")
        self._title &= tag != "title"

    def handle_data(self, data: str) -> None:
        if self._title:
            self.titles.append(data)
        elif self._cell:
            self.rows[-1][-1] += data

    def row(self, start: str) -> list[str]:
        return next(row for row in self.rows if row[0].startswith(start))


def told(says: float) -> Told:
    return Told(property="values", sides="P and U", auc=says, low=says - 0.1, high=says + 0.1, says=says,
                says_low=says - 0.1, says_high=says + 0.1, p=0.01, q=0.02)  # fmt: skip


def column(name: str, says: float = 0.7, **changed: object) -> ColumnAudit:
    histogram = Histogram(edges=(0.0, 1.0, 2.5, 4.0), first=(0.1, 0.2, 0.7), second=(0.6, 0.4, 0.0))
    fields = {"name": name, "read_as": "number", "missing_p": 0.0, "missing_u": 0.25, "told": (told(says),)}
    return ColumnAudit(**{**fields, "histogram": histogram, **changed})


def made(*columns: ColumnAudit, kin: Kin | None = None) -> Section:
    audited = Audited(n_p=N_P, n_u=N_U, tests=len(columns), columns=columns, kin=kin)
    return section(audited, Commands(("puoc", "assess", "--positives", "p.csv", "--unlabelled", "u.csv")))


def decided() -> Assessment:
    gained = tuple(Gained(family=f, auc=0.7, gain=0.0, low=-0.1, high=0.1, error=0.05) for f in ("OC", "PU-OC", "PU"))
    alpha = Alpha(low=0.3, high=0.6, p_no_negatives=0.01, p_order=0.5)
    edges = tuple(np.linspace(-3, 3, 25).tolist())
    scores = ScoreCounts(family="PU", edges=edges, p=(0,) * 12 + (5,) * 12, u=(3,) * 12 + (4,) * 12, v=(2,) * 24)
    return decide(Evidence(n_p=N_P, n_u=N_U, columns=4, notes=(), alpha=alpha, gained=gained, scores=scores))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p, u = (pd.DataFrame(rng.normal(size=(n, 4)).round(3), columns=list("abcd")) for n in (N_P, N_U))
    p["rev"], u["rev"] = np.where(rng.random(N_P) < 0.7, 1.5, np.nan), np.nan
    p["-no"], u["-no"] = range(N_P), range(N_U)
    p.to_csv("p.csv", index=False)
    u.to_csv("u.csv", index=False)
    return tmp_path


FILES = ("--positives", "p.csv", "--unlabelled", "u.csv")


@pytest.mark.slow
def test_the_page_lists_doubtful_columns_on_top_with_the_command_that_settles_them(here: Path) -> None:
    code, said = puoc("audit", *FILES, "--html", "new/audit.html")
    assert code == 0, said
    assert "written: new/audit.html" in said
    text = Path("new/audit.html").read_text(encoding="utf-8")
    found = Read(text)
    names = [row[0] for row in found.rows if len(row) == 10]
    assert names[0] == "Column"
    assert set(names[1:3]) == {"rev", "-no"}
    assert set(names[3:]) == set("abcd")
    rev = found.row("rev")
    assert rev[1] == "asked about"
    assert rev[2] == "no value in U"
    assert rev[7] == "100"
    assert rev[8].startswith("It is empty in all unlabelled rows and filled in")
    assert rev[9] == "--drop revCopy command--number revCopy command"
    assert found.row("-no")[9].startswith("--drop=-noCopy command")
    whole = re.search(r'<code id="whole">(.*?)</code>', text)
    assert whole is not None
    words = shlex.split(whole[1])
    assert words[:2] == ["puoc", "assess"]
    assert {"--drop=-no", "rev"} <= set(words)
    assert not {"--html", "new/audit.html"} & set(words)
    assert puoc("fit", "--method", "pu_svm", *words[2:], "--check")[0] == 0


def test_numbers_of_the_page_are_those_of_the_audit(here: Path) -> None:
    code, said = puoc("audit", "--no-effect", *FILES, "--json", "a.json", "--html", "a.html")
    assert code == 0, said
    found = Read(Path("a.html").read_text(encoding="utf-8"))
    audited = Audited.model_validate({k: v for k, v in json.loads(Path("a.json").read_text()).items()
                                      if k in Audited.model_fields})  # fmt: skip
    for one in audited.columns:
        row, most = found.row(one.name), one.most
        assert most is not None
        assert row[4].startswith(f"{most.says:.3f}{most.says_low:.3f} to ")
        assert row[5] == f"{most.q:.1g}"
        assert row[3].startswith(most.property)


def test_nothing_is_loaded_and_every_control_has_a_name(here: Path) -> None:
    assert puoc("audit", "--no-effect", *FILES, "--html", "a.html")[0] == 0
    text = Path("a.html").read_text(encoding="utf-8")
    found = Read(text)
    assert not re.search(r"https?://|@import|url\((?!#)|<link rel=.stylesheet|\bsrc=", text)
    ids = [given["id"] for _, given in found.tags if "id" in given]
    assert len(ids) == len(set(ids))
    regions = [given for tag, given in found.tags if given.get("class") == "scroll"]
    assert regions
    assert all(given.get("role") == "region" and given.get("tabindex") == "0" and given.get("aria-label")
               for given in regions)  # fmt: skip
    assert all(given.get("type") == "button" for tag, given in found.tags if tag == "button")


def test_the_same_files_give_the_same_bytes(here: Path) -> None:
    pages = []
    for _ in range(2):
        assert puoc("audit", "--no-effect", *FILES, "--html", "a.html")[0] == 0
        pages.append(Path("a.html").read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.parametrize("of", ["audit", "assess"])
def test_names_and_cells_of_a_file_are_text_on_the_page(of: str) -> None:
    kin = Kin(
        what="rows",
        copies=(Copies(first="P", second="U", rows=9, equal=1, near=0, examples=((1, 2),)),),
        groups=(SharedValues(column=HOSTILE, first="P", second="U", values_first=2, values_second=2, shared=1,
                             rows_first=1, rows_second=1),),
    )  # fmt: skip
    histogram = Histogram(labels=(HOSTILE, "b"), first=(0.5, 0.5), second=(0.1, 0.9))
    shown = made(column(HOSTILE, reasons=(HOSTILE,), verdict="noted", histogram=histogram), kin=kin)
    shown = shown._replace(answers={HOSTILE: shlex.join(["--drop", HOSTILE])})
    text = page(shown, {"positives": HOSTILE}, [HOSTILE]) if of == "audit" else page_of_assessment(
        decided(), {"positives": HOSTILE}, [], [HOSTILE], shown
    )  # fmt: skip
    found = Read(text)
    assert not [tag for tag, given in found.tags if tag == "img" or "onerror" in given]
    assert len([tag for tag, _ in found.tags if tag == "script"]) == 2  # the page's own
    assert found.row(HOSTILE)[0] == HOSTILE
    data = re.search(r'<script type="application/json" id="command">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["answers"] == {HOSTILE: shlex.join(["--drop", HOSTILE])}


def test_a_histogram_has_the_shares_of_p_above_and_of_u_below_and_says_so() -> None:
    bars = made(column("a")).rows[0].bars
    assert bars is not None
    up = [int(h) for h in re.findall(r"v-(\d+)h", bars.first)]
    down = [int(h) for h in re.findall(r"v(\d+)h", bars.second)]
    assert up == [3, 6, 20]
    assert down == [17, 11]
    assert bars.text == "Shares, most in P: 70 % in 2.5 to 4; U: 60 % in 0 to 1"
    assert bars.range == "0 to 4"
    of_categories = made(column("a", histogram=Histogram(labels=("x", "y"), first=(0.5, 0.5), second=(0.1, 0.9))))
    assert of_categories.rows[0].bars is not None
    assert of_categories.rows[0].bars.text == "Shares, most in P: 50 % x; U: 90 % y"
    one = made(column("a", histogram=Histogram(edges=(3.0, 3.0), first=(1.0,), second=(1.0,)))).rows[0].bars
    assert one is not None
    assert "at 3" in one.text


def test_two_thousand_columns_are_below_three_megabytes() -> None:
    rng = np.random.default_rng(0)
    columns = []
    for i in range(2000):
        shares = [tuple(float(v) for v in rng.dirichlet(np.ones(12))) for _ in "pu"]
        edges = tuple(float(v) for v in np.sort(rng.normal(0, 1000, 13)))
        histogram = Histogram(edges=edges, first=shares[0], second=shares[1])
        columns.append(column(f"a_measurement_{i}", histogram=histogram))
    text = page(made(*columns), {}, [])
    assert len(text.encode()) < 3e6
    assert text.count("<svg") == 2002
    assert 'data-shown="100"' in text


def test_the_page_replaces_no_file_but_an_earlier_page_of_its_own(here: Path) -> None:
    Path("notes.html").write_text("<!DOCTYPE html>\n<title>puoc assess: OC</title>")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    for html, expected in (
        ("notes.html", "no page of puoc audit"), ("p.csv", "is to be read from"), ("a.json", "expected .html"),
        (".", "is a folder; expected a file, such as audit.html"),
    ):  # fmt: skip
        refused(puoc("audit", *FILES, "--html", html), f"--html: {'got .json' if html == 'a.json' else html}", expected)
    refused(puoc("audit", *FILES, "--html", "a.html", "--json", "./a.html"), "--html: got a.html, which --json names")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_columns_in_doubt_are_on_top_whether_they_were_compared_or_not() -> None:
    audited = Audited(n_p=N_P, n_u=N_U, tests=2, columns=(column("a"), column("b")))
    doubts = [Doubt("b", "b seems odd"), Doubt("c", "c cannot be read", "missing", "??")]
    rows = section(audited, Commands(("puoc", "assess")), doubts).rows
    assert [(row.name, row.verdict) for row in rows] == [("c", "asked about"), ("b", "asked about"), ("a", "shown")]
    assert rows[0].leave_out == "--missing '??'"
    assert rows[0].why == "c cannot be read."


def test_files_of_pictures_have_a_page_on_how_they_were_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for folder, suffix in (("p", "png"), ("u", "jpg")):
        Path(folder).mkdir()
        for i in range(12):
            Image.fromarray(rng.integers(0, 255, (9, 9), dtype=np.uint8)).save(f"{folder}/{i:02d}.{suffix}")
    code, said = puoc("audit", "--positives", "p", "--unlabelled", "u", "--html", "a.html", "--json", "a.json")
    assert code == 0, said
    found = Read(Path("a.html").read_text(encoding="utf-8"))
    assert found.row("compression")[1:3] == ["without loss in 12 of 12 rows", "JPEG in 12 of 12 rows"]
    assert found.row("compression")[5] == "yes"
    assert found.row("format")[5] == "no"
    assert found.row("Pictures of P that are in U too")[1:4] == ["12", "0", "0"]
    (files,) = json.loads(Path("a.json").read_text())["file_differences"]
    assert {one["name"] for one in files["found"]} >= {"compression", "format"}
    assert "columns" not in [tag[1].get("id") for tag in found.tags]


def test_the_head_of_an_assessment_is_the_same_audit() -> None:
    shown = made(column("a"), column("b", 0.6), kin=Kin(what="rows"))
    alone, head = Read(page(shown, {}, [])), Read(page_of_assessment(decided(), {}, [], [], shown))
    rows = [row for row in alone.rows if len(row) == 10]
    assert len(rows) == 3
    assert [row for row in head.rows if len(row) == 10] == rows
    without = Read(page_of_assessment(decided(), {}, [], []))
    assert not [row for row in without.rows if len(row) == 10]
    assert not [tag for tag, _ in without.tags if tag == "script"]


def test_the_command_of_a_test_file_alone_has_no_options_that_assess_refuses(here: Path) -> None:
    pd.read_csv("p.csv").iloc[:40].assign(y=np.arange(40) % 2).to_csv("t.csv", index=False)
    for words, start, lacking in (
        ((*FILES, "--test", "t.csv", "--label", "y"), "puoc assess --positives p.csv", ("--test", "--label")),
        (("--positives", "p.csv", "--test", "t.csv", "--label", "y"), "puoc fit --method oc_svm", ("--json",)),
    ):
        assert puoc("audit", "--no-effect", *words, "--html", "a.html")[0] == 0
        data = re.search(r'id="command">(.*?)</script>', Path("a.html").read_text(encoding="utf-8"))
        assert data is not None
        base = json.loads(data[1])["base"]
        assert base.startswith(start)
        assert not set(lacking) & set(shlex.split(base))
