"""A row on another process or machine: what is sent, and how the process that gets it answers.

Each process that serves rows keeps a pool of its own for each run, so that a row there runs as it does here:
in a fork of a process that has imported its suite alone, with the same environment and the same limits. It
refuses a row unless its sources and versions are those of the process that planned the run.
"""

from __future__ import annotations

import atexit
import platform
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.processes.child import Answer
from dpaudit.run.process import Pool
from dpaudit.run.stamps import (
    Sources,
    forget_versions,
    library_versions,
    platform_name,
    python_version,
    tool_hash,
)
from dpaudit.run.targets import PAPERS, SuiteFile, bundled_audits

__all__ = ["Asked", "Asking", "RemoteError", "Stamp", "answer", "end_run", "stamp_of"]

#: What a sent suite is, apart from where it lies.
Stamp = tuple[tuple[str, str], ...]


class RemoteError(DpauditError):
    """The cluster is gone, or one of its processes has other sources or versions than this one."""


class Asking(Protocol):
    """Whoever gives rows to processes: a pool of this machine, or a cluster."""

    def load(self, file: SuiteFile) -> Answer:
        """What a suite says of itself, or ``failed`` with the reason."""

    def ask(self, file: SuiteFile, command: dict[str, Any], *, seconds: float, seed: int = 0) -> Answer:
        """The answer to a command about a suite."""

    def forget(self, file: SuiteFile, *, seed: int) -> None:
        """A suite is not asked again with this seed."""

    def close(self) -> None:
        """End every process."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One command of one run about one suite; ``seconds`` of wall clock, ``seed`` of hashes and globals;
    ``folder`` is the one that the run was started in, ``also`` files that the suite imported."""

    run: str
    folder: str
    path: str
    root: str
    label: str
    also: tuple[str, ...]
    stamp: Stamp
    command: dict[str, Any]
    seconds: float
    seed: int

    @property
    def file(self) -> SuiteFile:
        """The suite here: a bundled one where this installation has it, another one at the same path."""
        if not self.label.startswith(f"{PAPERS}:"):
            return SuiteFile(Path(self.path), Path(self.root), self.label)
        audits = bundled_audits()
        return SuiteFile(audits / self.label.removeprefix(f"{PAPERS}:"), audits.parent, self.label)


def stamp_of(file: SuiteFile, *, also: Iterable[str] = ()) -> Stamp:
    """Everything that a result depends on besides its command: two processes with the same stamp agree.
    ``also``: files that the suite imports by computed names (``Sources.hash_of``).

    Raises ``InvalidParameterError`` where a source file cannot be read.
    """
    versions = {name: str(number) for name, number in library_versions().items()}
    own = {"dpaudit's sources": tool_hash(), "the suite's sources": Sources().hash_of(file, also=also)}
    return tuple((own | {"Python": python_version(), "platform": platform_name()} | versions).items())


class _Serving:
    """What this process does for one run: a pool, and what it knows of the suites' sources. They are read
    anew for each run, since a process of a cluster outlives many an edit."""

    def __init__(self, folder: str) -> None:
        self.pool = Pool(1, folder=folder)
        self._lock = threading.Lock()
        self._stamps: dict[SuiteFile, Stamp] = {}
        self._compared: set[SuiteFile] = set()

    def require_same(self, asked: Asked) -> None:
        """Raise ``RemoteError`` unless this process has the suite with the versions and sources planned."""
        with self._lock:
            if asked.file not in self._stamps:
                self._stamps[asked.file] = _stamp_here(asked)
            here = dict(self._stamps[asked.file])
        _require_equal(here, asked)

    def require_still_same(self, asked: Asked) -> None:
        """The same once the suite has been imported, so that no edit comes in between."""
        with self._lock:
            if asked.file in self._compared:
                return
            self._compared.add(asked.file)
        _require_equal(dict(_stamp_here(asked)), asked)


_lock = threading.Lock()
_serving: dict[str, _Serving] = {}


def answer(asked: Asked) -> Answer:
    """Answer a command in this process's pool for its run.

    Raises ``RemoteError`` where this process has other sources or versions, ``ChildHungError`` or
    ``ChildDiedError`` as ``Pool.ask`` does.
    """
    with _lock:
        if asked.run not in _serving:
            forget_versions()
            _serving[asked.run] = _Serving(_folder_here(asked))
        serving = _serving[asked.run]
    serving.require_same(asked)
    found = serving.pool.ask(asked.file, asked.command, seconds=asked.seconds, seed=asked.seed)
    serving.require_still_same(asked)
    return found


def _folder_here(asked: Asked) -> str:
    """The folder that rows run in, as on the machine that the run was started on: suites may read files by
    relative paths. Those that ship with dpaudit read none, and need no such folder."""
    if Path(asked.folder).is_dir():
        return asked.folder
    if asked.label.startswith(f"{PAPERS}:"):
        return ""
    raise RemoteError(
        f"{_whose()} must have the folder that the run was started in, {asked.folder}, where rows may read "
        "files, and has not; put it on a shared disk, or start the run in another one, and use --resume."
    )


def _stamp_here(asked: Asked) -> Stamp:
    try:
        return stamp_of(asked.file, also=asked.also)
    except InvalidParameterError as error:
        raise RemoteError(f"{_whose()} must have the suite {asked.label}, and has not: {error}") from error


def _require_equal(here: dict[str, str], asked: Asked) -> None:
    for name, wanted in asked.stamp:
        if here[name] != wanted:
            raise RemoteError(
                f"{_whose()} must have {name} as in the process that planned the run, got "
                f"{here[name][:12]} instead of {wanted[:12]}; put the same there and use --resume."
            )


def _whose() -> str:
    return f"a worker ({platform.node()})"


def end_run(run: str) -> None:
    """End what this process still does for a run."""
    with _lock:
        serving = _serving.pop(run, None)
    if serving is not None:
        serving.pool.close()


@atexit.register
def _end_all() -> None:
    for run in list(_serving):
        end_run(run)
