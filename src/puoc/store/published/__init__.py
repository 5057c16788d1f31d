"""Published results: a folder with records as Parquet files, a plan, and a manifest with their checksums.

The records are complete except for models, scores of single rows and names of machines. Two ledgers with the same
outcomes have the same ``content``, whatever their order, times and machines are.
"""

from puoc.store.published.export import About, export_folder
from puoc.store.published.form import Manifest, PublishedFit, content_digest, published_form
from puoc.store.published.merge import Imported, add_published, import_folder
from puoc.store.published.reading import read_manifest, read_published, write_plan

__all__ = [
    "About",
    "Imported",
    "Manifest",
    "PublishedFit",
    "add_published",
    "content_digest",
    "export_folder",
    "import_folder",
    "published_form",
    "read_manifest",
    "read_published",
    "write_plan",
]
