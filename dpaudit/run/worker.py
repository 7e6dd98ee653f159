"""Import one suite in this process and run its rows, each in a separate process.

If the system can fork, each row runs in a fork of the process that has imported the suite
(``dpaudit.core.processes.forks``), so that rows cannot affect each other. Forking is safe here because no
other thread exists then: the environment that the parent sets limits linear algebra to one thread, FLINT
starts no thread by default, and the worker itself has none. A suite whose import starts a thread is not
forked. For such suites, and on systems without fork, a worker runs one row and is replaced.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import random
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from os import _exit, getpid  # bound here, out of reach of a row that spoils them
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.core.errors import DpauditError, InvalidParameterError
from dpaudit.core.harness import hide_checkout, is_harness_file, is_harness_module
from dpaudit.core.kept import keeping
from dpaudit.core.processes.fork_server import serve_starts
from dpaudit.core.processes.forks import serve_forked
from dpaudit.core.processes.serving import (
    is_single_threaded,
    message,
    read_lines,
    send,
    serve,
    take_over_stdio,
)
from dpaudit.core.suite import Row, Run, Suite, recording
from dpaudit.replay.input_order import reversed_inputs
from dpaudit.run.describe import declared, describe, held, import_suite
from dpaudit.run.finding import finding_of
from dpaudit.run.reading import Reading
from dpaudit.run.stamps import imported_below

__all__ = ["main", "serve_workers"]

TRACEBACK_LINES = 60
#: A source file counts as just changed for so many seconds.
JUST_NOW = 2.0
#: The thresholds of garbage collection. With Python's own, a tenth of the time is spent on it, because each
#: collection reads all objects of the imported libraries, and a fork copies every page that it touches.
COLLECTED_AFTER = (50_000, 20, 50)

Answer = dict[str, Any]


def main(root: str, global_seed: int) -> None:
    """Import the suite that the first command names, then serve commands until their pipe ends.

    ``root`` comes first on the import path. ``global_seed`` sets the global generators.
    """
    commands, answers = take_over_stdio()
    faulthandler.enable(all_threads=False)  # otherwise other threads are printed before the one that failed
    gc.set_threshold(*COLLECTED_AFTER)
    hide_checkout(Path(root))
    sys.path.insert(0, root)
    SourceFileLoader.set_data = _unless_new(SourceFileLoader.set_data)  # type: ignore[method-assign]
    own = getpid()
    load = json.loads(next(read_lines(commands)))
    worker = _Worker(Path(root), global_seed)
    if hasattr(signal, "alarm"):
        signal.alarm(int(load["seconds"]) + 5)  # the import ends even if the parent is gone
    answer = worker.load(path=load["path"], module=load["module"], part=load["part"])
    if getpid() != own:
        _exit(0)  # the other half of a fork at import time
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    forks = hasattr(os, "fork") and is_single_threaded()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # the suite may have put anything there
            stream.flush()  # otherwise each fork would print the output of the import again
    send(answers, message(load["id"], answer=answer | {"forks": forks, "modules": _shared_modules()}))
    if forks:  # without gc.freeze, which would hide objects that an audit looks for
        serve_forked(commands, answers, worker.do, worker.prepare)
    else:
        serve(commands, answers, worker.do)


def _unless_new(write: Callable[..., None]) -> Callable[..., None]:
    """Return a function that writes compiled code only for sources that were not changed just now.

    Python matches compiled code to its source by size and second of the last change, so it would not notice
    another edit within that second.
    """

    def written(loader: SourceFileLoader, path: str, data: bytes, **mode: int) -> None:
        with suppress(OSError):
            if time.time() - Path(loader.path).stat().st_mtime >= JUST_NOW:
                write(loader, path, data, **mode)

    return written


def serve_workers(root: str, global_seed: int, descriptor: int) -> None:
    """Fork workers for suites below ``root``, one for each request on the socket ``descriptor``."""
    serve_starts(descriptor, lambda: main(root, global_seed))


def _shared_modules() -> list[str]:
    """Return the modules of the harness in this process. Other suites need most of them too."""
    return [name for name in sys.modules if is_harness_module(name)]


class _Worker:
    def __init__(self, root: Path, global_seed: int) -> None:
        self.root = root
        self.global_seed = global_seed
        self.suite: Suite | None = None
        self.reading = Reading(root)
        self.reading.start()

    def load(self, *, path: str, module: str, part: bool) -> Answer:
        """Import a suite and return its description, or ``failed`` with the reason.

        ``held`` lists the contents of the suite, ``declared`` everything that the import declared. A ``part``
        may have no suite, and then it has no description.
        """
        try:
            self._seed_globals()
            with recording() as made:
                self.suite = import_suite(path, module, part=part)
            found = {"files": imported_below(self.root), "declared": declared(made), "held": []}
            if self.suite is None:
                return found
            found["held"] = held(self.suite)
            return describe(self.suite, file=path, root=self.root) | found
        except BaseException as error:  # a suite may raise anything, including SystemExit
            return self._failure(error) | {"place": self._place(error)}

    def prepare(self, command: dict[str, Any]) -> None:
        """Import the modules that a row needs before the fork, because importing takes longer than most rows.

        This starts no thread. If it fails, the row itself reports the error.
        """
        with suppress(BaseException):  # as at the import of a suite
            if command["do"] == "calibrate":
                return
            if self._row(command["row"]).fingerprint is not None:
                import dpaudit.replay.privacy
            if command["do"] == "evaluate" and "dpaudit.kernel.check" in sys.modules:
                import dpaudit.certify.witnesses.recompute
                import dpaudit.kernel.program_claim  # noqa: F401 (the row needs them)

    def do(self, command: dict[str, Any]) -> Answer:
        """Return the answer to a command, or ``failed`` with the reason if the suite's code raised."""
        if command["do"] == "calibrate":
            return self._calibrate()
        with keeping(command["profile"], verdict=command["do"] == "evaluate"):
            return self._about_row(command)

    def _about_row(self, command: dict[str, Any]) -> Answer:
        if command["do"] == "fingerprint":
            return self._fingerprint(command["row"], command["seed"], reverse=command["reverse"])
        return self._evaluate(command["row"], command["seed"], command["alpha"], command["profile"])

    def _fingerprint(self, row: str, seed: int, *, reverse: bool) -> Answer:
        try:
            with reversed_inputs(reverse):
                return {"value": self._fingerprint_of(self._row(row), seed)}
        except BaseException as error:
            return self._failure(error)

    def _evaluate(self, row: str, seed: int, alpha: float, profile: Any) -> Answer:
        """Return a row's fingerprint, its finding, its seconds, and the files that were read for it."""
        started = time.perf_counter()
        answer: Answer = {"value": None}
        try:
            found = self._row(row)
            answer["value"] = self._fingerprint_of(found, seed)
            self._seed_globals()
            outcome = found.evaluate(Run(profile=profile, alpha=alpha, seed=seed, row_id=row))
            answer["finding"] = finding_of(found.claim, outcome, alpha=alpha)
        except BaseException as error:
            answer |= self._failure(error)
        seconds = time.perf_counter() - started
        self.reading.add(imported_below(self.root))  # the row may have imported further files
        return answer | {"seconds": seconds, "read": self.reading.found}

    def _calibrate(self) -> Answer:
        """Return the answers to the suite's questions about noise."""
        from dpaudit.certify.calibrate import answer  # loads the kernel, which few commands need

        try:
            return {"answers": [answer(question).to_json() for question in self._loaded().questions]}
        except BaseException as error:
            return self._failure(error)

    def _fingerprint_of(self, row: Row, seed: int) -> str | None:
        if row.fingerprint is None:
            return None
        self._seed_globals()
        own = np.random.SeedSequence([seed, zlib.crc32(row.id.encode())]).generate_state(1)[0]
        value = row.fingerprint(int(own))
        if not isinstance(value, str):
            raise InvalidParameterError(
                f"a fingerprint must be a string, got {type(value).__name__}.", code="E-FINGERPRINT-TYPE"
            )
        return value

    def _seed_globals(self) -> None:
        """Reset the global generators to the same state for every row, whatever the import drew."""
        random.seed(self.global_seed)
        np.random.seed(self.global_seed)  # noqa: NPY002  the very generator that programs must not use

    def _loaded(self) -> Suite:
        if self.suite is None:
            raise InvalidParameterError(
                "a suite must be imported before its rows run.", code="E-SUITE-NOT-LOADED"
            )
        return self.suite

    def _row(self, row: str) -> Row:
        return next(item for item in self._loaded().rows if item.id == row)

    def _failure(self, error: BaseException) -> Answer:
        return {"failed": self._reason(error), "traceback": _traceback(error)}

    def _reason(self, error: BaseException) -> str:
        """Return the error and the last line below the root that it passed, on one line."""
        text = (
            str(error) if isinstance(error, DpauditError) else f"{type(error).__name__}: {error}".rstrip(": ")
        )
        frame = self._last_frame(error)
        if frame is None or (isinstance(error, SyntaxError) and error.filename):
            return text
        return f"{text} ({self._within(frame.filename)}:{frame.lineno})"

    def _place(self, error: BaseException) -> str:
        """Return where an import failed, with the line of source, or an empty text if outside the suite."""
        if isinstance(error, SyntaxError) and error.filename:
            return f"{self._within(error.filename)}:{error.lineno}: {(error.text or '').strip()}"
        frame = self._last_frame(error)
        return f"{self._within(frame.filename)}:{frame.lineno}: {frame.line}" if frame else ""

    def _last_frame(self, error: BaseException) -> traceback.FrameSummary | None:
        """Return the last frame in a file of the suite, of the error's cause or else of the error itself."""
        own = self._last_frame(error.__cause__) if error.__cause__ is not None else None
        frames = reversed(traceback.extract_tb(error.__traceback__))
        return own or next((item for item in frames if self._is_suite_file(Path(item.filename))), None)

    def _is_suite_file(self, path: Path) -> bool:
        return path.is_relative_to(self.root) and not is_harness_file(str(path))

    def _within(self, name: str) -> str:
        path = Path(name)
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else name


def _traceback(error: BaseException) -> str:
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(
        lines if len(lines) <= TRACEBACK_LINES else [*lines[:5], "  ...", *lines[-TRACEBACK_LINES + 6 :]]
    )
