"""Optimizers without the compiler of torch, whose import takes about as long as that of torch itself.

puoc compiles nothing. But the first optimizer and the first ``torch.func.grad`` of a process import ``torch._dynamo``,
to exclude something from compilation. An import of this module puts a stand-in in that place, which excludes nothing
while nothing can be compiled. The first use of anything else in it, such as by ``torch.compile``, loads the compiler,
and the stand-in forwards to it from then on. No number changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial, wraps
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch

_NAME = "torch._dynamo"


class _StandIn(ModuleType):
    """What training uses of the compiler; the compiler itself as soon as something else of it is used."""

    def _is_in_place(self) -> bool:
        return sys.modules.get(_NAME) is self

    def _compiler(self) -> ModuleType:
        if self._is_in_place():
            del sys.modules[_NAME]
            vars(torch).pop("_dynamo", None)
        return import_module(_NAME)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked by what walks through all modules
            raise AttributeError(name)
        return getattr(self._compiler(), name)

    @property
    def compiled_autograd(self) -> Any:
        """What excludes gradients from compilation."""
        return _StandInOfGradients(self) if self._is_in_place() else self._compiler().compiled_autograd

    def graph_break(self, *args: Any, **kwargs: Any) -> None:
        """Mark a place at which compiled code ends."""
        if not self._is_in_place():
            self._compiler().graph_break(*args, **kwargs)

    def disable(self, fn: Callable[..., Any] | None = None, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return a function that is never compiled, or a decorator that makes such functions."""
        if fn is None:
            return partial(self.disable, **kwargs)
        if not self._is_in_place():
            return self._compiler().disable(fn, *args, **kwargs)  # type: ignore[no-any-return]

        @cache
        def excluded() -> Callable[..., Any]:
            return self._compiler().disable(fn, *args, **kwargs)  # type: ignore[no-any-return]

        @wraps(fn)
        def call(*given: Any, **named: Any) -> Any:
            return (fn if self._is_in_place() else excluded())(*given, **named)

        return call


class _StandInOfGradients:
    """The same for the part of the compiler that is about gradients."""

    def __init__(self, compiler: _StandIn):
        self._of = compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of._compiler().compiled_autograd, name)

    def _disable(self) -> AbstractContextManager[None]:
        return nullcontext()


def _put_in_place() -> None:
    spec = find_spec(_NAME)
    if spec is None or _NAME in sys.modules:
        return
    stand_in = _StandIn(_NAME)
    stand_in.__spec__, stand_in.__file__ = spec, spec.origin
    torch._dynamo = sys.modules[_NAME] = stand_in


_put_in_place()
