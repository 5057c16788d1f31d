"""Long parts of the pages of a large site are packed."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from pathlib import Path

import pytest
from browsing import DRIVER, browser
from test_report import whole_site
from test_site_browser import PAGES, ROWS

from puoc.reporting.site import build, packing
from puoc.reporting.site.packing import packed


def unpacked(text: str) -> str:
    part = re.search(r'<div class="packed" data-packed="([^"]*)">.*?</div>', text, re.S)
    return text if part is None else text.replace(part[0], zlib.decompress(b64decode(part[1]), -15).decode())


def test_a_part_is_packed_above_the_limit_only_and_comes_back_as_it_was() -> None:
    long = "<p>1 < 2, é</p>" * 1000
    pages = {"a.html": f"<h1>A</h1><!--pack-->{long}<!--/pack--><p>end</p>", "b.html": "<!--pack-->short<!--/pack-->"}
    plain = {"a.html": f"<h1>A</h1>{long}<p>end</p>", "b.html": "short"}
    assert packed(pages, limit=1_000_000) == plain
    small = packed(pages, limit=100)
    assert len(small["a.html"]) < 1000
    assert small["a.html"].startswith("<h1>A</h1><div")
    assert {name: unpacked(text) for name, text in small.items()} == plain


@pytest.mark.slow
@pytest.mark.skipif(DRIVER is None, reason="no chromedriver (Debian: chromium-driver)")
def test_a_packed_site_shows_what_a_plain_one_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_site(tmp_path)
    reports = tmp_path / "reports"
    # without figures, which are drawn later, and texts for readers without scripts
    shown = "const all = document.querySelector('main').cloneNode(true);"
    shown += "all.querySelectorAll('noscript, .plot').forEach(each => each.remove());"
    shown += "return [location.pathname.split('/').pop(), all.textContent.split(/\\s+/)]"
    with browser() as chromium:
        plain = []
        for name in PAGES:
            chromium.open(reports / f"{name}.html")
            plain.append(chromium.run(shown))
        monkeypatch.setattr(packing, "LIMIT", 0)
        build(tmp_path)
        for name, before in zip(PAGES, plain, strict=True):
            chromium.open(reports / f"{name}.html")
            chromium.run_async("PUOC_READY.then(arguments[arguments.length - 1])")
            assert chromium.run(shown) == before, name
        assert "data-packed" in (reports / "passports/ova.html").read_text(encoding="utf-8")
        chromium.open(reports / "leaderboard.html")
        chromium.run("location.hash = 'family=OC&table=alpha&q=oc_svm'")
        assert chromium.settled(f"{ROWS}.length === 4")
        chromium.run(f"{ROWS}[0].cells[1].querySelector('a').click()")  # a link to a place in a packed part
        assert chromium.settled("location.pathname.includes('/passports/')")
        assert chromium.settled("document.getElementById(location.hash.slice(1))")
        chromium.open(reports / "tables/ova.html")
        assert chromium.settled("document.querySelector('.plot .legendtext')")
        assert chromium.log() == []
