"""Pack long parts of the pages of a large site, which a script of the page unpacks.

A site of 72 tables says much the same for thousands of numbers, so that its parts shrink to a tenth. A small site is
left as it is: it can be read without scripts, and searched with grep.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Mapping

LIMIT = 6_000_000  # bytes of all pages up to which nothing is packed; with the scripts, a site is then below 10 MB
_LEAST = 4_000  # characters of a part that is worth it
#: Templates mark what can be packed by these comments. Parts do not contain each other.
_PART = re.compile(r"<!--pack-->(.*?)<!--/pack-->", re.DOTALL)


def packed(pages: Mapping[str, str], limit: int | None = None) -> dict[str, str]:
    """Return the pages without the marks; their marked parts are packed if all pages together are above the limit.

    Parameters
    ----------
    pages : HTML by path.
    limit : in bytes; ``LIMIT`` by default.
    """
    size = sum(len(text.encode()) for text in pages.values())
    if size <= (LIMIT if limit is None else limit):
        return {name: _PART.sub(r"\1", text) for name, text in pages.items()}
    return {name: _PART.sub(_packed, text) for name, text in pages.items()}


def _packed(part: re.Match[str]) -> str:
    if len(part[1]) < _LEAST:
        return part[1]
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)  # raw, "deflate-raw" in browsers
    data = b64encode(deflate.compress(part[1].encode()) + deflate.flush()).decode()
    return (
        f'<div class="packed" data-packed="{data}">\n<p>The page unpacks this part by a script. Without scripts, '
        "<code>puoc show</code> prints the numbers of a table in the terminal.</p></div>"
    )
