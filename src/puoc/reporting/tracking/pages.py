"""Paged searches of the client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mlflow.store.entities import PagedList

T = TypeVar("T")

PAGE = 1000  # results of a search per page; without paging, mlflow omits the rest silently


def pages(search: Callable[[str | None], PagedList[T]]) -> Iterator[T]:
    """Yield all results of a paged search of the client."""
    page = search(None)
    yield from page
    while page.token:
        page = search(page.token)
        yield from page
