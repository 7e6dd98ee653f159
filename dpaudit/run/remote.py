"""Run a row in another process or on another machine: define what is sent, and answer it there.

Each process that serves rows keeps a separate pool for each run, so that a row runs there as it does here: in
a fork of a process that has imported only its suite, with the same environment and the same limits. It
refuses a row unless its sources and versions equal those of the process that planned the run.
"""

from __future__ import annotations

import atexit
import platform
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpaudit.core.errors import CodedError, InvalidParameterError
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

__all__ = ["Asked", "Executor", "RemoteError", "Stamp", "answer", "end_run", "stamp_of"]

#: The identity of a suite, apart from its path: names and values of its sources and versions.
Stamp = tuple[tuple[str, str], ...]


class RemoteError(CodedError):
    """The cluster is gone, or one of its processes has other sources or versions than this one."""

    code = "E-REMOTE"


class Executor(Protocol):
    """A backend that runs commands about suites in processes: a pool of this machine, or a cluster."""

    def load(self, file: SuiteFile) -> Answer:
        """Return the description of a suite, or ``failed`` with the reason."""

    def ask(self, file: SuiteFile, command: dict[str, Any], *, seconds: float, seed: int = 0) -> Answer:
        """Return the answer to a command about a suite."""

    def forget(self, file: SuiteFile, *, seed: int) -> None:
        """Allow the backend to end workers: no further command for this suite and seed follows."""

    def close(self) -> None:
        """End every process."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A command of a run about a suite.

    ``seconds`` is the limit of wall clock and ``seed`` the seed of hashes and global generators. ``folder``
    is the folder in which the run was started. ``also`` are files that the suite imported.
    """

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
        """Return the suite file on this machine: a bundled one of this installation, or the same path."""
        if not self.label.startswith(f"{PAPERS}:"):
            return SuiteFile(Path(self.path), Path(self.root), self.label)
        audits = bundled_audits()
        return SuiteFile(audits / self.label.removeprefix(f"{PAPERS}:"), audits.parent, self.label)


def stamp_of(file: SuiteFile, *, also: Iterable[str] = ()) -> Stamp:
    """Return everything that a result depends on besides its command. Processes with the same stamp agree.

    ``also`` are files that the suite imports by computed names (``Sources.hash_of``). Raises
    ``InvalidParameterError`` if a source file cannot be read.
    """
    versions = {name: str(number) for name, number in library_versions().items()}
    own = {"dpaudit's sources": tool_hash(), "the suite's sources": Sources().hash_of(file, also=also)}
    return tuple((own | {"Python": python_version(), "platform": platform_name()} | versions).items())


class _Serving:
    """The state of this process for one run: a pool, and the stamps of the suites.

    Stamps are read again for each run, because a file may be edited during the life of a cluster's process.
    """

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
        """Repeat this check once after the import of the suite: a file may have been edited meanwhile."""
        with self._lock:
            if asked.file in self._compared:
                return
            self._compared.add(asked.file)
        _require_equal(dict(_stamp_here(asked)), asked)


_lock = threading.Lock()
_serving: dict[str, _Serving] = {}


def answer(asked: Asked) -> Answer:
    """Answer a command in this process's pool for its run.

    Raises ``RemoteError`` if this process has other sources or versions, and ``ChildHungError`` or
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
    """Return the folder that rows run in: the folder in which the run was started.

    Suites may read files by relative paths. Bundled suites do not, so they need no such folder.
    """
    if Path(asked.folder).is_dir():
        return asked.folder
    if asked.label.startswith(f"{PAPERS}:"):
        return ""
    raise RemoteError(
        f"{_worker_name()} lacks the folder that the run was started in, {asked.folder}, where rows may read "
        "files. Put it on a shared disk, or start the run in another folder, and use --resume.",
        code="E-REMOTE-FOLDER",
    )


def _stamp_here(asked: Asked) -> Stamp:
    try:
        return stamp_of(asked.file, also=asked.also)
    except InvalidParameterError as error:
        raise RemoteError(
            f"{_worker_name()} cannot read the suite {asked.label}: {error}", code="E-REMOTE-SUITE"
        ) from error


def _require_equal(here: dict[str, str], asked: Asked) -> None:
    for name, wanted in asked.stamp:
        if here[name] != wanted:
            raise RemoteError(
                f"{_worker_name()} has another version of {name} than the process that planned the run: "
                f"{here[name][:12]} instead of {wanted[:12]}. Install the same version and use --resume.",
                code="E-REMOTE-VERSION",
            )


def _worker_name() -> str:
    return f"a worker ({platform.node()})"


def end_run(run: str) -> None:
    """End what this process is still doing for a run."""
    with _lock:
        serving = _serving.pop(run, None)
    if serving is not None:
        serving.pool.close()


@atexit.register
def _end_all() -> None:
    for run in list(_serving):
        end_run(run)
