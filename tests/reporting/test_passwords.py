"""No message shows a password of the store's URI, wherever in it the password stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from puoc.reporting.tracking import TrackingError, track
from puoc.reporting.tracking.database import without_password

SIGNS = "@:/?#&=% "  # one of them in a password, not written as %40 and its like
KEYS = ("password", "sslpassword", "PASSWORD", "sslPassword", "passwd", "pwd", "pass%77ord", "odbc_connect", "token")


@pytest.mark.parametrize("kind", ["postgresql", "mysql+pymysql", "mssql+pyodbc", "https"])
def test_a_password_before_the_host_is_hidden_whatever_signs_it_has(kind: str) -> None:
    for password in ("secret", *(f"sec{sign}ret" for sign in SIGNS), "s@c@t", "s:e/c?r@t"):
        for name in ("me", "", "me@server", "my/self"):
            for rest in ("", ":5432", ":5432/db", "/db?sslmode=require&application_name=puoc"):
                shown = without_password(f"{kind}://{name}:{password}@host{rest}")
                assert shown == f"{kind}://{name}:***@host{rest}"


@pytest.mark.parametrize("key", KEYS)
def test_a_password_in_the_query_is_hidden_and_nothing_else(key: str) -> None:
    for before, after in (("", ""), ("user=me&", ""), ("", "&sslmode=require"), ("user=me&", "&connect_timeout=3")):
        shown = without_password(f"postgresql://host/db?{before}{key}=sec=ret{after}")
        assert shown == f"postgresql://host/db?{before}{key}=***{after}"
    twice = f"postgresql://me:secret@host/db?{key}=secret&user=me"
    assert without_password(twice) == f"postgresql://me:***@host/db?{key}=***&user=me"


@pytest.mark.parametrize(
    "uri",
    [
        "sqlite:////a/b.db",
        "sqlite:////a/b.db?timeout=20",
        "http://host:5000",
        "postgresql://host:5432/db?sslmode=allow",
    ],
)
def test_a_uri_without_a_password_is_shown_as_it_is(uri: str) -> None:
    assert without_password(uri) == uri


@pytest.mark.parametrize("password", ["geh@eim", "geh@eim:x", "geh@eim/x", "geh@e@im"])
def test_no_part_of_a_password_with_an_at_sign_is_taken_for_the_host_and_told(
    password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"postgresql://me:{password}@127.0.0.1:1/db")
    with pytest.raises(TrackingError, match="expected an @ in a password as %40") as told:
        track(tmp_path)
    assert str(told.value).startswith("postgresql://me:***@127.0.0.1:1/db cannot be used: ")
    assert "geh" not in str(told.value)
    assert "eim" not in str(told.value)


@pytest.mark.parametrize(
    "uri", ["postgresql://me:geheim@127.0.0.1:1/db", "postgresql://127.0.0.1:1/db?password=geheim"]
)
def test_a_server_that_does_not_answer_is_told_without_its_password(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with pytest.raises(TrackingError, match="cannot be used") as told:
        track(tmp_path)
    assert "***" in str(told.value)
    assert "geheim" not in str(told.value)
