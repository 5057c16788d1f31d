"""The site of the documentation: it builds strictly, its links lead somewhere, and it needs no network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browsing import DRIVER, Browser, browser
from project import REPOSITORY
from typer.main import get_command

import puoc
from puoc.cli.app import app

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mkdocs") is None, reason="no mkdocs: make install EXTRAS=docs"),
]

_VERBATIM = re.compile(r"<(pre|script|style)\b.*?</\1>", re.DOTALL)
_IN_LINE = re.compile(r"</?(?:code|strong|em|a|span)\b[^>]*>")
#: What Markdown should have made a list, a table or a block of: a paragraph or a line of one begins so.
_LEFT = re.compile(r"(?:<p>|\n)(?:[*-] |\d+\. |\| |```|:::|#+ )|&lt;!--|<!-- site:")


class Page(HTMLParser):
    """Names, links and loaded files of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names or leads to."""
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") not in ("prev", "next", "canonical"):
            self.loads.append(given["href"])
        if "src" in given:
            self.loads.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site") / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    path = os.pathsep.join((str(REPOSITORY / "src"), *sys.path))
    environment = os.environ | {"PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return built


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_each_page_is_built_and_nothing_is_left_as_markdown(site: Path, pages: dict[Path, Page]) -> None:
    written = {
        path.relative_to(REPOSITORY / "docs").with_suffix(".html") for path in (REPOSITORY / "docs").rglob("*.md")
    }
    assert {path.relative_to(site) for path in pages} == {*written, Path("404.html")}
    for path, page in pages.items():
        shown = _IN_LINE.sub("", _VERBATIM.sub("", page.text))
        assert [shown[found.start() - 40 : found.end() + 40] for found in _LEFT.finditer(shown)] == [], path.name
    assert not list(site.rglob("*.py"))
    assert not list(site.rglob("*.parquet"))


def test_each_link_and_each_anchor_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the address of a server
            continue
        for link in page.links:
            where, anchor = urldefrag(link)
            if "://" in where or where.startswith("mailto:"):
                continue
            target = (path.parent / unquote(where)).resolve() if where else path
            if not target.is_file() or (anchor and target in pages and unquote(anchor) not in pages[target].names):
                broken.append((path.name, link))
    assert broken == []


def test_nothing_is_loaded_from_the_network(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for one in page.loads:
            assert "://" not in one, (path.name, one)
            assert not one.startswith("//"), (path.name, one)
            assert path.name == "404.html" or (path.parent / unquote(urldefrag(one)[0])).resolve().is_file(), one
    styles = "\n".join(path.read_text() for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)]+", styles) == []


def test_the_reference_has_each_public_name_and_each_command(site: Path, pages: dict[Path, Page]) -> None:
    def heads(name: str) -> set[str]:
        found = re.findall(r"<h[1-6][^>]*>(.*?)</h[1-6]>", pages[site / "reference" / name].text, re.DOTALL)
        return {" ".join(re.sub(r"<[^>]+>|&para;|¶", "", head).split()) for head in found}

    assert set(puoc._PUBLIC) - heads("api.html") == set()
    assert set(puoc.all_estimators()) - heads("estimators.html") == set()
    assert {f"puoc {name}" for name in get_command(app).commands} - heads("commands.html") == set()  # type: ignore[attr-defined]
    assert 'class="nf">wilcoxon_exact<' in pages[site / "reference" / "api.html"].text


def test_the_search_has_an_index_for_reading_from_disk(site: Path) -> None:
    text = (site / "search" / "search_index.js").read_text()
    found = json.loads(text.removeprefix("var __index = "))
    assert len(found["docs"]) > 300
    assert any(one["location"].startswith("concepts/alpha.html") for one in found["docs"])


needs_browser = pytest.mark.skipif(DRIVER is None, reason="no chromedriver (Debian: chromium-driver)")
SHOWN = ("index", "concepts/alpha-near-1", "howto/choosing-a-method", "reference/commands", "own-data")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_a_page_fits_a_phone_and_a_desk_in_both_schemes(chromium: Browser, site: Path, width: int, scheme: str) -> None:
    for name in SHOWN:
        chromium.open(site / f"{name}.html", width, scheme)
        assert chromium.run("return document.documentElement.scrollWidth") <= width, name
        behind = chromium.run("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", behind)[:3])) > 600) == (scheme == "light"), name
        loaded = chromium.run("return performance.getEntriesByType('resource').map(one => one.name)")
        assert [one for one in loaded if not one.startswith(("file:", "data:"))] == []
        assert chromium.log() == []


@needs_browser
def test_the_search_works_from_disk(chromium: Browser, site: Path) -> None:
    chromium.open(site / "index.html")
    box = "document.querySelector('.md-search__input')"
    chromium.run(f"{box}.focus(); {box}.value = 'class prior'; {box}.dispatchEvent(new Event('keyup'))")
    results = "document.querySelectorAll('.md-search-result__item a')"
    assert chromium.settled(f"{results}.length > 0")
    found = chromium.run(f"return [...{results}].map(one => one.href)")
    assert any("concepts/alpha.html" in one for one in found), found
    assert chromium.log() == []
