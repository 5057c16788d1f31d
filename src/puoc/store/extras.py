"""Libraries of the extras of puoc, which ``pip install puoc`` alone does not bring, and what installs each of them."""

from __future__ import annotations

from importlib.util import find_spec

#: Import names by extra, as in pyproject.toml.
EXTRAS = {
    "platform": ("dvc", "mlflow", "mlxtend", "optuna", "plotly", "ray"),
    "text": ("gensim", "smart_open", "snowballstemmer"),
    "images": ("torchvision",),
    "dashboard": ("optuna_dashboard",),
    "postgresql": ("psycopg",),
    "pyod": ("pyod",),
    "pulearn": ("pulearn",),
}


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """Return what to install for a library that is not there; None if it belongs to no extra."""
    library = (error.name or "").partition(".")[0]
    for extra, libraries in EXTRAS.items():
        if library in libraries:
            return (
                f"this needs the library {library}, which is not installed; expected the extra {extra}: "
                f"pip install 'puoc[{extra}]', or make install in a checkout"
            )
    return None


def check_installed(*libraries: str) -> None:
    """Raise a ValueError that says what to install, if a library of an extra is not there.

    A command calls this before it writes anything, if it needs the library only later.
    """
    for library in libraries:
        if find_spec(library) is None:
            error = ModuleNotFoundError(name=library)
            raise ValueError(missing_extra(error) or f"the library {library} is not installed")
