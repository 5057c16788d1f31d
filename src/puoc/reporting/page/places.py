"""Where each page of the site is, below ``reports/``. Links are relative, so the site opens from any folder."""

from __future__ import annotations

import re
from hashlib import blake2b

#: Folders of pages. Pages in them that the site no longer has are removed when it is built.
FOLDERS = ("tables", "passports", "methods", "datasets", "sweeps")
_OTHER = re.compile(r"[^A-Za-z0-9._-]")


def file_name(name: str) -> str:
    """Return a file name for a table, method, dataset or sweep. Unusual characters are replaced, unlike names differ.

    Examples
    --------
    >>> file_name("one_vs_all")
    'one_vs_all'
    """
    plain = _OTHER.sub("_", name).lstrip(".")
    if plain == name:
        return name
    return f"{plain}-{blake2b(name.encode(), digest_size=4).hexdigest()}"


def table_page(table: str) -> str:
    """Return the page of a table."""
    return f"tables/{file_name(table)}.html"


def method_page(method: str) -> str:
    """Return the page of a method."""
    return f"methods/{file_name(method)}.html"


def dataset_page(dataset: str) -> str:
    """Return the page of a dataset."""
    return f"datasets/{file_name(dataset)}.html"


def sweep_page(sweep: str) -> str:
    """Return the page of a sweep."""
    return f"sweeps/{file_name(sweep)}.html"


def passport_page(table: str) -> str:
    """Return the page with the passports of all numbers of a table."""
    return f"passports/{file_name(table)}.html"


def passport(table: str, entry_index: int, column: int | None = None) -> str:
    """Return the address of a number: that of an entry in a column of a table, or of all its columns."""
    return f"{passport_page(table)}#{passport_id(entry_index, column)}"


def passport_id(entry_index: int, column: int | None = None) -> str:
    """Return the anchor of a number on the page of passports."""
    return f"e{entry_index}" if column is None else f"e{entry_index}-c{column}"
