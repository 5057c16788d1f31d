"""The contract of methods as tests: toy problems, and checks that pytest runs for each method.

The repository's own tests (``tests/contracts``) and the plugin ``puoc.testing``, for methods of other packages, run the
same checks. ``checks`` needs pytest.
"""

from __future__ import annotations

__all__ = ["checks", "problems"]
