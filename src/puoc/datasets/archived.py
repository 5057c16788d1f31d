"""Raw files that their source gives inside an archive.

They have a module of their own because every dataset's fits depend on what ``dataset.py`` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from puoc.datasets.dataset import RawFile


@dataclass(frozen=True, kw_only=True)
class ArchivedFile(RawFile):
    """A file inside a gzipped tar archive; ``path`` is its name in there too, ``url`` the address of the archive.

    Files that name the same address come from one download.
    """

    url: str
    md5: str  # of the file, as its source or those who read it publish it
    archive_md5: str

    @property
    def archive(self) -> str:
        """File name of the archive."""
        return self.url.rpartition("/")[2]
