"""Raw files that their source gives inside an archive.

They have a module of their own because every dataset's fits depend on what ``dataset.py`` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from puoc.datasets.declare.dataset import RawFile


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

    @property
    def member(self) -> str:
        """Name inside the archive."""
        return self.path

    @property
    def checksum(self) -> tuple[str, str]:
        """An algorithm, and what it gives of the archive."""
        return "md5", self.archive_md5


@dataclass(frozen=True, kw_only=True)
class ZippedFile(ArchivedFile):
    """A file inside a zip archive, which is known by its sha256; ``name`` is what the file is called in there."""

    md5: str = ""
    archive_md5: str = ""
    archive_sha256: str
    name: str

    @property
    def member(self) -> str:
        """Name inside the archive."""
        return self.name

    @property
    def checksum(self) -> tuple[str, str]:
        """An algorithm, and what it gives of the archive."""
        return "sha256", self.archive_sha256
