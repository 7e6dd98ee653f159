"""A row on another process or machine: what is sent, and how the process that gets it answers.

Each process that serves rows keeps a pool of its own for each run, so that a row there runs as it does here:
in a fork of a process that has imported its suite alone, with the same environment and the same limits. It
refuses a row unless its sources and versions are those of the process that planned the run.
"""

from __future__ import annotations

import atexit
import platform
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from dpaudit.errors import DpauditError, InvalidParameterError
from dpaudit.processes.child import Answer
from dpaudit.runner.process import Pool
from dpaudit.runner.stamps import Sources, library_versions, platform_name, python_version, tool_hash
from dpaudit.runner.targets import PAPERS, SuiteFile, bundled_audits

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
    """One command of one run about one suite; ``seconds`` of wall clock, ``seed`` of hashes and globals."""

    run: str
    path: str
    root: str
    label: str
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


def stamp_of(file: SuiteFile) -> Stamp:
    """Everything that a result depends on besides its command: two processes with the same stamp agree.

    Raises ``InvalidParameterError`` where a source file cannot be read.
    """
    versions = {name: str(number) for name, number in library_versions().items()}
    own = {"dpaudit's sources": tool_hash(), "the suite's sources": Sources().hash_of(file)}
    return tuple((own | {"Python": python_version(), "platform": platform_name()} | versions).items())


_stamp_here = cache(stamp_of)
_lock = threading.Lock()
_pools: dict[str, Pool] = {}


def answer(asked: Asked) -> Answer:
    """Answer a command in this process's pool for its run.

    Raises ``RemoteError`` where this process has other sources or versions, ``ChildHungError`` or
    ``ChildDiedError`` as ``Pool.ask`` does.
    """
    _require_same(asked)
    with _lock:
        pool = _pools.setdefault(asked.run, Pool(1))
    return pool.ask(asked.file, asked.command, seconds=asked.seconds, seed=asked.seed)


def _require_same(asked: Asked) -> None:
    try:
        here = dict(_stamp_here(asked.file))
    except InvalidParameterError as error:
        raise RemoteError(f"{_whose()} must have the suite {asked.label}, and has not: {error}") from error
    for name, wanted in asked.stamp:
        if here[name] != wanted:
            raise RemoteError(
                f"{_whose()} must have the same {name} as the process that planned the run, got "
                f"{here[name][:12]} instead of {wanted[:12]}; install the same there and use --resume."
            )


def _whose() -> str:
    return f"a worker ({platform.node()})"


def end_run(run: str) -> None:
    """End what this process still does for a run."""
    with _lock:
        pool = _pools.pop(run, None)
    if pool is not None:
        pool.close()


@atexit.register
def _end_all() -> None:
    for run in list(_pools):
        end_run(run)
