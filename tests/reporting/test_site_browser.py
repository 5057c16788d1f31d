"""The results site in a browser: every kind of page on a desk and a phone, light and dark, by mouse and by keyboard."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from browsing import DRIVER, Browser, browser
from test_report import whole_site

from puoc.analysis.metrics import metrics
from puoc.reporting.tracking.report_links import link_report

pytestmark = [pytest.mark.slow, pytest.mark.skipif(DRIVER is None, reason="no chromedriver (Debian: chromium-driver)")]

AXE = Path(__file__).parents[1] / "axe" / "axe.min.js"
#: One page of each kind.
PAGES = (
    *("index", "leaderboard", "tables", "methods", "datasets", "sweeps", "paper", "metrics", "failures"),
    *("tables/ova", "tables/later", "passports/ova", "methods/pu_svm", "datasets/digits", "sweeps/pu_svm"),
)
#: Pages that axe-core examines on a phone in dark colours as well.
BOTH = ("index", "leaderboard", "tables/ova", "passports/ova", "methods/pu_svm")
ROWS = "[...document.querySelectorAll('#leaderboard tbody tr')].filter(r => !r.hidden)"
#: Findings of axe-core that are serious or worse.
CHECK = """
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
const found = axe.run(document, { preload: false, runOnly: rules });
const done = arguments[arguments.length - 1];
found.then(r => done(r.violations.filter(v => ["serious", "critical"].includes(v.impact))
  .map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 140)).join(" | "))));
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    whole_site(root)
    link_report(root, {"3": "one_vs_all", "4": "alpha_sweep"})
    return root / "reports"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


def test_every_kind_of_page_fits_is_accessible_and_loads_only_files(chromium: Browser, reports: Path) -> None:
    axe, problems = AXE.read_text(encoding="utf-8"), []
    for name in PAGES:
        for width, scheme in ((1440, "light"), (390, "dark"), (1440, "dark"), (390, "light")):
            chromium.open(reports / f"{name}.html", width, scheme)
            where = f"{name} at {width}, {scheme}"
            if (wide := chromium.run("return document.documentElement.scrollWidth")) > width:
                problems.append(f"{where}: {wide} pixels wide")
            behind = chromium.run("return getComputedStyle(document.body).backgroundColor")
            if (sum(map(int, re.findall(r"\d+", behind))) > 600) != (scheme == "light"):
                problems.append(f"{where}: background {behind}")
            loaded = chromium.run("return performance.getEntriesByType('resource').map(e => e.name)")
            problems += [f"{where}: loads {each}" for each in loaded if not each.startswith("file://")]
            if (width, scheme) == (1440, "light") or ((width, scheme) == (390, "dark") and name in BOTH):
                chromium.run(axe)
                problems += [f"{where}: {each}" for each in chromium.run_async(CHECK)]
            problems += [f"{where}: {message}" for message in chromium.log()]
    assert problems == []


def test_the_leaderboard_is_filtered_and_sorted_and_a_number_leads_to_its_passport(
    chromium: Browser, reports: Path
) -> None:
    chromium.open(reports / "leaderboard.html", 1440)
    families = f"return [...new Set({ROWS}.map(r => r.cells[6].textContent))]"
    assert set(chromium.run(families)) == {"OC", "PU", "PU-OC", "reference"}
    choose = "const f = document.getElementById('filters').elements[arguments[0]]; f.value = arguments[1];"
    choose += "f.dispatchEvent(new Event('input', {bubbles: true}))"
    chromium.run(choose, "family", "PU-OC")
    chromium.run(choose, "column", "average")
    assert chromium.run(families) == ["PU-OC"]
    assert chromium.run("return location.hash") == "#family=PU-OC&column=average"
    assert chromium.run(f"return {ROWS}.length") == 4
    assert chromium.run("return document.getElementById('count').textContent").startswith("4 of 4 rows")
    for order, sign in (("descending", -1), ("ascending", 1)):  # by keyboard
        chromium.run("document.querySelector('#value-head button').focus()")
        chromium.press()
        assert chromium.settled(f"document.querySelector('#value-head').getAttribute('aria-sort') === '{order}'")
        wanted = f"{ROWS}.map(r => Number(r.cells[1].dataset.sort))"
        sort = f"{wanted}.every((v, i, all) => !i || {sign} * (v - all[i - 1]) >= 0)"
        assert chromium.settled(sort)
    number = chromium.run(f"const a = {ROWS}[0].cells[1].querySelector('a'); a.click(); return a.textContent")
    assert chromium.settled("location.pathname.includes('/passports/')")
    place = chromium.run("return document.getElementById(location.hash.slice(1)).querySelector('h3').textContent")
    runs = chromium.run("return document.getElementById(location.hash.slice(1)).querySelector('.mlflow ~ a').href")
    assert runs.startswith("http://127.0.0.1:5000/#/experiments/")
    assert unquote(runs).partition("searchFilter=")[2].startswith("tags.member_of LIKE '%|")
    assert place.split(": ")[1].split(" ± ")[0] == f"{float(number.split(' ± ')[0]):.2f}"
    assert chromium.log() == []


def test_another_metric_changes_values_ranks_and_order_and_back(chromium: Browser, reports: Path) -> None:
    chromium.open(reports / "leaderboard.html", 1440)
    shown = f"return {ROWS}.map(r => r.cells[1].textContent)"
    first = chromium.run(shown)
    assert all(" ± " in text for text in first)
    names = chromium.run("return [...document.getElementById('filters').elements.metric.options].map(o => o.value)")
    choose = "const f = document.getElementById('filters').elements.metric; f.value = arguments[0];"
    choose += "f.dispatchEvent(new Event('input', {bubbles: true}))"
    for name in names[1:]:
        chromium.run(choose, name)
        assert not any(" ± " in text for text in chromium.run(shown))
        assert not any("(" in text for text in chromium.run(f"return {ROWS}.map(r => r.cells[2].textContent)"))
        by_column = chromium.run(
            f"return {ROWS}.map(r => [r.cells[3].textContent + r.cells[4].textContent, r.cells[2].dataset.sort,"
            "r.cells[1].dataset.sort])"
        )
        sign = 1 if metrics()[name].higher_is_better else -1
        for _, group in itertools.groupby(by_column, key=lambda row: row[0]):
            ranked = [(int(rank), sign * float(value)) for _, rank, value in group if rank]
            assert [rank for rank, _ in ranked] == [1 + sum(v > own for _, v in ranked) for _, own in ranked]
            assert ranked == sorted(ranked)
        assert chromium.run("return document.getElementById('value-head').textContent").startswith(name)
    chromium.run(choose, names[0])
    assert chromium.run(shown) == first
    assert "(" in chromium.run(f"return {ROWS}[0].cells[2].textContent")
    assert chromium.log() == []


def test_an_address_with_filters_shows_the_same_rows(chromium: Browser, reports: Path) -> None:
    chromium.open(reports / "leaderboard.html", 1440)
    chromium.run("location.hash = 'family=OC&table=alpha&q=oc_svm'")
    assert chromium.settled(f"{ROWS}.length === 4")
    assert chromium.run("return document.getElementById('filters').elements.q.value") == "oc_svm"
    for asked in ("scenario", "data", "method", "cost"):  # none takes all rows away
        chromium.run("document.getElementById('filters').reset()")
        assert chromium.settled(f"{ROWS}.length > 4")
        every = chromium.run(f"return {ROWS}.length")
        chromium.run(
            "const f = document.getElementById('filters').elements[arguments[0]]; f.selectedIndex = 1;"
            "f.dispatchEvent(new Event('input', {bubbles: true}))",
            asked,
        )
        left = chromium.run(f"return {ROWS}.length")
        assert 0 < left <= every, asked


def test_search_theme_and_links_of_the_former_page(chromium: Browser, reports: Path) -> None:
    chromium.open(reports / "tables/ova.html", 390)
    chromium.press("/")
    chromium.press("method drocc")
    assert chromium.settled("document.querySelectorAll('#found a').length === 2")
    chromium.press("\ue015")  # arrow down
    assert chromium.run("return document.activeElement.textContent") == "methoddrocc"
    chromium.press()
    assert chromium.settled("location.pathname.endsWith('/methods/drocc.html')")
    chromium.run("document.getElementById('theme').click()")
    assert chromium.run("return document.documentElement.dataset.theme") == "dark"
    chromium.open(reports / "index.html", 1440)
    assert chromium.run("return getComputedStyle(document.body).colorScheme") == "dark"
    chromium.run("document.getElementById('theme').click()")
    chromium.run("localStorage.clear(); location.hash = 't1-e0-c1'")  # a number's address in the single page
    assert chromium.settled("location.href.includes('/passports/') && location.hash === '#e0-c1'")
    assert chromium.log() == []


def test_figures_are_drawn_in_the_colours_of_the_page(chromium: Browser, reports: Path) -> None:
    chromium.open(reports / "tables/ova.html", 1440, "dark")
    assert chromium.settled("document.querySelector('.plot .legendtext')")
    fill = chromium.run("return getComputedStyle(document.querySelector('.plot .legendtext')).fill")
    assert sum(map(int, re.findall(r"\d+", fill))) > 500
    assert json.loads(chromium.run("return JSON.stringify([...document.querySelectorAll('.plot svg')].length > 0)"))


#: Of a printed page: the width that it needs, what is shown of its controls, cut tables, colours, heads.
PRINTED = """
const shown = e => e.getClientRects().length > 0;
const boxes = [...document.querySelectorAll('.scroll')];
return {
  wide: document.documentElement.scrollWidth,
  controls: [...document.querySelectorAll('nav, .tools, .filters, input, select')].filter(shown).length,
  cut: boxes.filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible').length,
  beyond: [...document.querySelectorAll('table, svg, figure')].filter(
    e => shown(e) && e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.outerHTML.slice(0, 90)),
  behind: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  buttons: [...document.querySelectorAll('thead button')].filter(shown).length,
  closed: [...document.querySelectorAll('main details:not([open])')].map(e => e.className)
};
"""
A4 = 1032  # pixels between the margins of a landscape page


def test_printed_pages_have_no_controls_nothing_cut_and_dark_ink_on_white(chromium: Browser, reports: Path) -> None:
    problems = []
    for name in PAGES:
        chromium.open(reports / f"{name}.html", A4, "dark", "print")
        chromium.run("document.documentElement.dataset.theme = 'dark'")
        chromium.settled("!document.querySelector('.tools[hidden]')")  # its scripts have run
        before = chromium.run(PRINTED)["closed"]
        chromium.run("window.dispatchEvent(new Event('beforeprint'))")
        found = chromium.run(PRINTED)
        if found["wide"] > A4 or found["cut"] or found["beyond"]:
            problems.append(f"{name}: {found['wide']} pixels wide, {found['cut']} cut, beyond: {found['beyond']}")
        if found["controls"] or found["buttons"]:
            problems.append(f"{name}: {found['controls']} controls, {found['buttons']} buttons in heads")
        if set(found["closed"]) - {"trials", "trial-ids"}:
            problems.append(f"{name}: closed {found['closed']}")
        sums = [sum(map(int, re.findall(r"\d+", found[part])[:3])) for part in ("behind", "ink")]
        if not (sums[0] > 700 and sums[1] < 200):
            problems.append(f"{name}: ink {found['ink']} on {found['behind']}")
        chromium.run("window.dispatchEvent(new Event('afterprint'))")
        if chromium.run(PRINTED)["closed"] != before:
            problems.append(f"{name}: other parts are closed after printing")
        problems += [f"{name}: {message}" for message in chromium.log()]
    assert problems == []


def test_printed_figures_have_dark_ink_though_the_page_is_dark(chromium: Browser, reports: Path) -> None:
    chromium.open(reports / "tables/ova.html", 1440, "dark")
    fill = "getComputedStyle(document.querySelector('.plot .legendtext')).fill"
    assert chromium.settled("document.querySelector('.plot .legendtext')")
    light = chromium.run(f"return {fill}")
    chromium.run("window.dispatchEvent(new Event('beforeprint'))")
    assert sum(map(int, re.findall(r"\d+", chromium.settled(fill)))) < 200
    assert chromium.run("return [...document.querySelectorAll('.plot')].every(e => e.dataset.drawn)")
    chromium.run("window.dispatchEvent(new Event('afterprint'))")
    assert chromium.settled(f"{fill} === '{light}'")
    assert chromium.log() == []
