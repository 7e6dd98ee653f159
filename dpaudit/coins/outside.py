"""Note the effects of a program outside its process: written files, connections and other processes.

A later run, in this or in a fresh process, may find what an earlier run left there, so neither repeated runs
nor another order of the inputs detects this. Python reports such operations to audit hooks (PEP 578). A hook
cannot be removed, so one hook is installed, and it does nothing unless ``noting_outside`` is active.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["noting_outside"]

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
_CHANGES = frozenset(
    f"os.{name}"
    for name in ("link", "mkdir", "remove", "rename", "rmdir", "setxattr", "symlink", "truncate", "utime")
)
_PROCESSES = frozenset({"os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"})
_CONNECTIONS = frozenset({"socket.connect", "socket.sendmsg", "socket.sendto", "sqlite3.connect"})

#: For each thread, where to note its operations.
_noting: dict[int, dict[str, None]] = {}


@contextmanager
def noting_outside() -> Iterator[dict[str, None]]:
    """Note the operations of this thread outside its process as texts, each once and in order."""
    _hooked()
    thread = threading.get_ident()
    before, found = _noting.get(thread), dict[str, None]()
    _noting[thread] = found
    try:
        yield found
    finally:
        del _noting[thread]
        if before is not None:
            before.update(found)
            _noting[thread] = before


@cache
def _hooked() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _noting:
        return
    found = _noting.get(threading.get_ident())
    if found is not None:
        text = _description(event, arguments)
        if text:
            found[text] = None


def _description(event: str, arguments: tuple[Any, ...]) -> str:
    """Describe an operation. Return an empty text if it leaves nothing behind."""
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, int) or not isinstance(flags, int) or not flags & _WRITING:
            return ""
    elif event in _CHANGES:
        path = arguments[0]
    elif event in _PROCESSES:
        return "starts another process"
    elif event in _CONNECTIONS:
        in_memory = event == "sqlite3.connect" and arguments[0] in (":memory:", b":memory:")
        return "" if in_memory else f"opens a connection ({event.partition('.')[0]})"
    else:
        return ""
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path)
    if name == os.devnull or "__pycache__" in name:  # bytecode that an import writes
        return ""
    return f"changes the file system ({os.path.basename(name.rstrip(os.sep))})"
