"""The plan of a project, or that of its params.yaml for commands that look ahead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from puoc.cli.console import planned, say, working

_ROOT = Path()


@contextmanager
def planned_or_not(computes: bool = False) -> Iterator[Path]:
    """Yield the project's folder. Without a plan, yield a temporary one with the plan of params.yaml and links.

    So a sweep can be looked at before ``puoc plan``, and nothing is written to the project. A plan that is older than
    params.yaml is an error if the command computes, or shows what would be computed.
    """
    if (_ROOT / "work" / "plan").exists() or not (_ROOT / "params.yaml").is_file():
        planned(_ROOT, computes=computes)
        yield _ROOT
        return
    from puoc.datasets.user.dataset import register_planned
    from puoc.plan.make_plan import make_plan
    from puoc.plan.params import read_params
    from puoc.store.temporary import temporary_folder

    with temporary_folder("plan") as root:
        (root / "work").mkdir()
        here = [
            path for path in (*_ROOT.glob("*"), *(_ROOT / "work").glob("*")) if path.name not in ("work", "configs")
        ]
        for path in here:
            (root / path).symlink_to(path.resolve())
        with working("plan"):
            make_plan(read_params(_ROOT / "params.yaml", _ROOT)).write(root, _ROOT / "params.yaml")
        register_planned(root)
        say("there is no plan yet (puoc plan makes one): the lines below are for params.yaml as it is now")
        yield root
