"""Record which files a suite and its rows read, with their digests, so that a resumed run can compare them.

Python reports each file that it opens and each folder that it lists to its audit hooks, for every library.
Files that a C library opens by itself, and files that other programs started by a row open, are not reported.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpaudit.core.harness import installed_folders, is_harness_file

__all__ = ["Reading", "has_changed"]

#: The flags of a file that is opened only for writing, emptied, or created, as opposed to read.
_WRITES = os.O_WRONLY | os.O_TRUNC | os.O_EXCL

_EVENTS = frozenset(("open", "os.listdir", "os.scandir", "sqlite3.connect"))

#: Prefixes of names that a run itself creates in a folder.
_OWN = ("__pycache__", "dpaudit-report.")


class Reading:
    """The files below a suite's root, or below the folder of the run, that this process has read so far.

    ``found`` maps the path of each file from the root to its digest at the first read. Files that the process
    wrote before it read them, the harness and installed packages are left out. A fork continues with a copy.
    """

    def __init__(self, root: Path) -> None:
        self.found: dict[str, str] = {}
        self._root = root
        self._folders = tuple(os.path.join(folder, "") for folder in (root, os.getcwd()))
        self._installed = installed_folders()
        self._written: set[str] = set()
        self._hashing: set[int] = set()

    def start(self) -> None:
        """Start recording. It continues to the end of the process."""
        sys.addaudithook(self._hook)

    def add(self, names: Iterable[str]) -> None:
        """Add files that were read in another way, by their paths from the root."""
        for name in names:
            self._note(os.path.join(self._root, name))

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS:  # tested first, because Python reports a great many events
            return
        thread = threading.get_ident()
        if thread in self._hashing:
            return
        self._hashing.add(thread)
        try:
            # Skip imports: they are followed by name, and they list folders that the program never reads.
            if not sys._getframe(1).f_code.co_filename.startswith("<frozen "):
                path = "." if arguments[0] is None else arguments[0]
                if not isinstance(path, int):
                    flags = arguments[2] if event == "open" else 0
                    self._opened(os.path.abspath(os.fsdecode(path)), flags)
        except (TypeError, ValueError, OSError):  # the program cannot open such a path either
            pass
        finally:
            self._hashing.discard(thread)

    def _opened(self, path: str, flags: int) -> None:
        if flags & _WRITES:
            self._written.add(path)
        elif path not in self._written:
            self._note(path)

    def _note(self, path: str) -> None:
        ours = os.path.join(path, "").startswith(self._folders)
        if not ours or path.startswith(self._installed) or is_harness_file(path):
            return
        name = Path(os.path.relpath(path, self._root)).as_posix()
        if name not in self.found:
            self.found[name] = _digest(path)


def has_changed(read: Mapping[str, str], root: Path) -> bool:
    """Return whether a file or a folder of ``Reading.found`` has changed."""
    return any(_digest(os.path.join(root, name)) != digest for name, digest in read.items())


def _digest(path: str) -> str:
    """Return a digest that shows a change: of a file's content, or of the names in a folder."""
    try:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if not name.startswith(_OWN))
            return "folder " + hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape")).hexdigest()
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"
    return "no file"
