"""Results as text: tables, cells and single entries for the terminal, Markdown, LaTeX, CSV and JSON."""

from puoc.reporting.show.find import Place, find
from puoc.reporting.show.formats import FORMATS, formatted
from puoc.reporting.show.sweeps import names_sweeps, sweep_view
from puoc.reporting.show.views import View, view

__all__ = ["FORMATS", "Place", "View", "find", "formatted", "names_sweeps", "sweep_view", "view"]
