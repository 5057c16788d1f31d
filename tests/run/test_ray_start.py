"""Joining a Ray cluster at an address that does not answer."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nowhere", "127.0.0.1:99999"])
def test_an_address_that_does_not_answer_is_refused_at_once_with_who_named_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from puoc.run.sweep.ray_start import start

    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ValueError, match=f"^--address: got {address}, which does not answer .*; expected auto, or H"):
        start(1, address=address)
    with pytest.raises(ValueError, match=f"^--address: got auto, here {address}, which does not answer"):
        start(1, address="auto")
