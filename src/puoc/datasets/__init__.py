"""The datasets, one file per source. Importing this package imports every file, and each registers itself."""

from importlib import import_module
from pkgutil import iter_modules

from puoc.registry import DATASETS

__all__ = ["DATASETS"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
