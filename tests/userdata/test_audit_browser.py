"""The page of an audit in a browser: on a phone and a desk, light and dark, by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browsing import DRIVER, Browser, browser
from test_audit_page import HOSTILE, column, decided, told

from puoc.datasets.audit.grouping import SharedValues
from puoc.datasets.audit.kin import Copies, Kin
from puoc.datasets.audit.result import Audited, ColumnAudit
from puoc.datasets.audit.times import TimeOrder, Times, TimeSpan
from puoc.datasets.readers.doubts import Doubt
from puoc.datasets.readers.file_differences import Difference, FileDifferences
from puoc.userdata.assess.audit_page import Commands, Section, page, section
from puoc.userdata.assess.page import page as page_of_assessment

pytestmark = [pytest.mark.slow, pytest.mark.skipif(DRIVER is None, reason="no chromedriver (Debian: chromium-driver)")]

N = 150  # columns

#: The least contrast of a text with the colour behind it (WCAG 2: 4.5 for small text), with the text.
CONTRAST = """
const light = c => { const v = c.map(x => { x /= 255; return x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; });
  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
const rgb = text => text.match(/[\\d.]+/g).map(Number);
let worst = [99, ""];
for (const each of document.body.querySelectorAll("*")) {
  const own = [...each.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
  if (!own.length || !each.getClientRects().length || each.closest("svg, script, style")) continue;
  let behind = each, colour = rgb(getComputedStyle(each).backgroundColor);
  while (colour.length === 4 && colour[3] === 0 && behind.parentElement) {
    behind = behind.parentElement;
    colour = rgb(getComputedStyle(behind).backgroundColor);
  }
  const [a, b] = [light(rgb(getComputedStyle(each).color)), light(colour)].sort((x, y) => y - x);
  const ratio = (a + .05) / (b + .05);
  if (ratio < worst[0]) worst = [ratio, own[0].data.trim()];
}
return worst;
"""
#: Pictures and their texts that are not wholly within the width of the page, or on top of another text.
OUTSIDE = """
const out = [];
for (const picture of document.querySelectorAll(".picture > svg")) {
  const box = picture.getBoundingClientRect();
  if (box.width < 200 || box.left < 0 || box.right > innerWidth) out.push(picture.textContent);
  const texts = [...picture.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  texts.forEach(([said, a], i) => {
    const beside = a.left < box.left - 1 || a.right > innerWidth;
    if (beside || a.top < box.top - 4 || a.bottom > box.bottom + 4) out.push(said);
    for (const [other, b] of texts.slice(0, i)) {
      const level = a.top + 3 < b.bottom && b.top + 3 < a.bottom;
      if (level && a.left < b.right && b.left < a.right) out.push(said + " on " + other);
    }
  });
}
return [document.querySelectorAll(".picture > svg").length, out];
"""
VISIBLE = "return [...document.querySelectorAll('#columns tbody tr')].filter(r => !r.hidden).map(r => r.cells[{}].{})"


def shown() -> Section:
    rng = np.random.default_rng(0)
    columns = [column(f"measured {i}", float(says)) for i, says in enumerate(rng.uniform(0.6, 0.9, N - 3))]
    columns += [
        column("rev", 0.85, verdict="asked", reasons=("is empty in all unlabelled rows " * 4,)),
        column(HOSTILE, 0.95, verdict="noted", reasons=("nearly says by its values which rows are positives",)),
        ColumnAudit(name="short", read_as="number", missing_p=0.9, missing_u=1.0, told=()),
    ]
    assert told(0.7).q < 1
    kin = Kin(
        what="rows",
        columns=9,
        near_means="the same but for one cell",
        copies=(Copies(first="P", second="U", rows=60, equal=3, near=1, examples=((1, 2), (3, 4))),),
        groups=(
            SharedValues(column="patient", first="P", second="U", values_first=9, values_second=8, shared=3,
                         rows_first=12, rows_second=11),
        ),
        times=(
            Times(column="day",
                  spans=(TimeSpan(group="P", n=9, first="2020-01-01", middle="2020-05-01", last="2020-09-01"),),
                  findings=(TimeOrder(text="P is earlier", differ=True),)),
        ),
    )  # fmt: skip
    columns.sort(key=lambda one: ("asked", "noted", "shown").index(one.verdict))
    saved = Difference(name="compression", seen=True, here="none in 12 of 12 rows", there="JPEG in 12 of 12 rows",
                       p_value=1e-9, distance=1.0)  # fmt: skip
    return section(
        Audited(n_p=60, n_u=90, tests=N, columns=tuple(columns), kin=kin),
        Commands(("puoc", "assess", "--positives", "p.csv", "--unlabelled", "u.csv"), (("rev", ("--drop", "rev")),)),
        [Doubt("rev", "is empty")],
        [FileDifferences(where="p", other="u", tested=5, found=(saved,))],
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = shown()
    texts = {"audit": page(found, {"positives": "p.csv"}, []),
             "assess": page_of_assessment(decided(), {"positives": "p.csv"}, [], [], found)}  # fmt: skip
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["audit", "assess"])
def test_the_page_fits_and_can_be_read(
    chromium: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    chromium.open(pages[name], width, scheme)
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    behind = chromium.run("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", behind))) > 600) == (scheme == "light")
    ratio, text = chromium.run(CONTRAST)
    assert ratio >= 4.5, text
    assert chromium.run(OUTSIDE) == [4 if name == "assess" else 0, []]
    assert chromium.run("return performance.getEntriesByType('resource').length") == 0
    assert chromium.log() == []
    beyond = "return [...document.querySelectorAll('.scroll')].map(b => [b.scrollWidth, b.clientWidth, b.tabIndex])"
    boxes = chromium.run(beyond)
    assert all(place == 0 for *_, place in boxes)
    if width == 390:
        assert any(inside > box for inside, box, _ in boxes)  # the tables scroll, not the page


def test_columns_are_sorted_found_and_shown_by_keyboard(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["audit"])
    first = chromium.run(VISIBLE.format(0, "textContent"))
    assert len(first) == 100
    assert first[:2] == ["rev", HOSTILE]
    head = "document.querySelectorAll('#columns thead th')[4]"
    chromium.run(f"{head}.querySelector('button').focus()")
    for order, sign in (("descending", -1), ("ascending", 1)):
        chromium.press()
        assert chromium.settled(f"{head}.getAttribute('aria-sort') === '{order}'")
        values = [float(value) for value in chromium.run(VISIBLE.format(4, "dataset.v"))]
        assert values == sorted(values, key=lambda value: sign * value)
        assert len(values) == 100
        assert chromium.run(f"return document.activeElement.parentElement === {head}")
    sorts = chromium.run("return [...document.querySelectorAll('[aria-sort]')].map(h => h.getAttribute('aria-sort'))")
    assert sorts.count("none") == len(sorts) - 1
    chromium.run("document.querySelectorAll('#columns thead button')[1].focus()")
    chromium.press()
    assert chromium.run(VISIBLE.format(0, "textContent"))[:2] == ["rev", HOSTILE]  # by verdict
    chromium.run("document.getElementById('all').focus()")
    chromium.press()
    assert len(chromium.run(VISIBLE.format(0, "textContent"))) == N
    chromium.run("document.getElementById('find').focus()")
    chromium.press("<img")
    assert chromium.run(VISIBLE.format(0, "textContent")) == [HOSTILE]
    assert chromium.run("return document.getElementById('count').textContent") == f"1 of {N} columns"
    assert chromium.log() == []


def test_a_button_copies_the_whole_command(chromium: Browser, pages: dict[str, Path]) -> None:
    chromium.open(pages["audit"])
    base = "puoc assess --positives p.csv --unlabelled u.csv"
    for row, expected in (
        ("rev", f"{base} --drop rev"),
        ("measured 5", f"{base} --drop rev --drop 'measured 5'"),
    ):
        chromium.run(
            "const row = [...document.querySelectorAll('#columns tbody tr')].find(r => r.cells[0].textContent === "
            "arguments[0]); row.querySelector('td.settle button').focus()",
            row,
        )
        chromium.press()
        said = ""
        for _ in range(50):
            said = chromium.run("return document.getElementById('copied').textContent")
            if expected in said:
                break
        assert said == f"Copied: {expected}"
