"""The process in which suites are imported and rows run. One root a process; rows of one suite after another.

The parent writes one JSON command a line to standard input and reads one JSON answer a line from standard
output. Before any code of a suite runs, the worker moves both aside: a row that prints, or reads standard
input, cannot disturb the exchange. When the parent dies, standard input ends, and the worker ends itself and
whatever it started.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import inspect
import json
import math
import os
import queue
import random
import signal
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from dpaudit.claims import Claim
from dpaudit.errors import DpauditError, InvalidParameterError
from dpaudit.runner.finding import finding_of, rounded_down
from dpaudit.suite import Row, Run, Suite
from dpaudit.views import View

__all__ = ["main"]

TRACEBACK_LINES = 60


def main(root: str, global_seed: int) -> None:
    """Serve commands until standard input ends.

    ``root`` goes first on the import path; ``global_seed`` sets the global generators.
    """
    commands, answers = _take_over_stdio()
    faulthandler.enable()
    sys.path.insert(0, root)
    worker = _Worker(Path(root), global_seed)
    handlers: dict[str, Callable[..., dict[str, Any]]] = {
        "load": worker.load,
        "fingerprint": worker.fingerprint,
        "evaluate": worker.evaluate,
        "calibrate": worker.calibrate,
    }
    while True:
        command = commands.get()
        answer = handlers[command.pop("do")](**command)
        answers.write(json.dumps(answer, allow_nan=False) + "\n")
        answers.flush()


class _Worker:
    def __init__(self, root: Path, global_seed: int) -> None:
        self.root = root
        self.global_seed = global_seed
        self.suites: dict[str, Suite] = {}

    def load(self, *, path: str, module: str) -> dict[str, Any]:
        """Import a suite and describe it; ``{"failed": reason}`` where that is impossible."""
        try:
            return _describe(self._suite(path, module))
        except (
            BaseException
        ) as error:  # a suite may raise anything, SystemExit too; all of it is the suite's failure
            return {"failed": self._reason(error), "traceback": self._traceback(error)}

    def fingerprint(self, *, path: str, module: str, row: str, seed: int) -> dict[str, Any]:
        """The row's fingerprint: ``{"value": ...}``, or ``{"failed": reason}`` where its function raised."""
        try:
            return {"value": self._fingerprint(self._row(path, module, row), seed)}
        except BaseException as error:
            return {"failed": self._reason(error), "traceback": self._traceback(error)}

    def evaluate(
        self, *, path: str, module: str, row: str, seed: int, alpha: float, profile: Any
    ) -> dict[str, Any]:
        """Run a row: its fingerprint, its finding and its seconds; ``failed`` with the reason where it
        raised.
        """
        started = time.perf_counter()
        answer: dict[str, Any] = {"value": None}
        try:
            found = self._row(path, module, row)
            answer["value"] = self._fingerprint(found, seed)
            self._seed_globals()
            outcome = found.evaluate(Run(profile=profile, alpha=alpha, seed=seed, row_id=row))
            answer["finding"] = finding_of(found.claim, outcome, alpha=alpha)
        except BaseException as error:
            answer |= {"failed": self._reason(error), "traceback": self._traceback(error)}
        return answer | {"seconds": time.perf_counter() - started}

    def calibrate(self, *, path: str, module: str) -> dict[str, Any]:
        """Answer the suite's questions about noise; ``failed`` with the reason where one raised."""
        from dpaudit.certificates.calibrate import answer  # loads the kernel, which few commands need

        try:
            return {
                "answers": [answer(question).to_json() for question in self._suite(path, module).questions]
            }
        except BaseException as error:  # a suite may raise anything
            return {"failed": self._reason(error), "traceback": self._traceback(error)}

    def _fingerprint(self, row: Row, seed: int) -> str | None:
        if row.fingerprint is None:
            return None
        self._seed_globals()
        own = np.random.SeedSequence([seed, zlib.crc32(row.id.encode())]).generate_state(1)[0]
        value = row.fingerprint(int(own))
        if not isinstance(value, str):
            raise InvalidParameterError(
                f"a fingerprint must be a string, got {type(value).__name__}; return repr(...) or a hash."
            )
        return value

    def _seed_globals(self) -> None:
        """Put the global generators where every row finds them, so that a row's result does not depend on the
        rows before it.
        """
        random.seed(self.global_seed)
        np.random.seed(self.global_seed)  # noqa: NPY002  the very generator that programs must not use

    def _row(self, path: str, module: str, row: str) -> Row:
        return next(item for item in self._suite(path, module).rows if item.id == row)

    def _suite(self, path: str, module: str) -> Suite:
        if path not in self.suites:
            self._seed_globals()
            self.suites[path] = _import_suite(path, module)
        return self.suites[path]

    def _reason(self, error: BaseException) -> str:
        """One line: the error, and the last place below the root that it came through."""
        message = (
            str(error) if isinstance(error, DpauditError) else f"{type(error).__name__}: {error}".rstrip(": ")
        )
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(self.root)
        ]
        if isinstance(error, SyntaxError) and error.filename:
            return message
        return (
            f"{message} ({Path(frames[-1].filename).relative_to(self.root).as_posix()}:{frames[-1].lineno})"
            if frames
            else message
        )

    def _traceback(self, error: BaseException) -> str:
        lines = "".join(traceback.format_exception(error)).splitlines()
        return "\n".join(
            lines if len(lines) <= TRACEBACK_LINES else [*lines[:5], "  ...", *lines[-TRACEBACK_LINES + 6 :]]
        )


def _import_suite(path: str, module: str) -> Suite:
    """Import the file at ``path`` under its dotted name from the root, whatever else has that name."""
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise InvalidParameterError(f"a suite must be a Python file, got {path}; rename it.")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[module]
        raise
    suite = getattr(loaded, "suite", None)
    if not isinstance(suite, Suite):
        raise InvalidParameterError(
            f"a suite file must set `suite` to a dpaudit Suite, got {type(suite).__name__}; "
            "write `suite = Suite(paper=..., title=...)`."
        )
    return suite


def _describe(suite: Suite) -> dict[str, Any]:
    return {
        "paper": str(suite.paper),
        "title": str(suite.title),
        "reference": str(suite.reference),
        "unchecked": [{"id": str(name), "reason": str(reason)} for name, reason in suite.unchecked],
        "rows": [_describe_row(row) for row in suite.rows],
    }


def _describe_row(row: Row) -> dict[str, Any]:
    if not isinstance(row.id, str) or not row.id.strip():
        raise InvalidParameterError(
            f"a row's id must be a non-empty string, got {row.id!r}; name the row after its theorem."
        )
    if not isinstance(row.claim, Claim):
        raise InvalidParameterError(
            f"{row.id}: claim must be a dpaudit claim, got {type(row.claim).__name__}; "
            "pass PureDP(...) or another."
        )
    weight = float(row.weight)
    if not 0 < weight < math.inf:
        raise InvalidParameterError(
            f"{row.id}: weight must be a positive number, got {weight}; correct the row."
        )
    view = getattr(row.claim, "view", None)
    if isinstance(view, View) and row.view and row.view != str(view):
        raise InvalidParameterError(
            f"{row.id}: the row's view must be the claim's, {str(view)!r}, got {row.view!r}; leave it out."
        )
    return {
        "id": row.id,
        "title": str(row.title),
        "kind": row.kind,
        "view": str(row.view) or (str(view) if isinstance(view, View) else ""),
        "claim": row.claim.to_json(),
        "quantity": getattr(row.claim, "quantity_name", "") or row.claim.quantity,
        "claimed": rounded_down(row.claim.bound),
        "expect": row.expect,
        "source": str(row.source),
        "weight": weight,
        "has_fingerprint": row.fingerprint is not None,
        "does": _documentation(row),
    }


def _documentation(row: Row) -> str:
    """The row function's own docstring; of a callable object or a partial, that of what it calls."""
    function: Any = row.evaluate
    while hasattr(function, "func"):
        function = function.func
    return inspect.cleandoc(getattr(function, "__doc__", None) or "")


def _take_over_stdio() -> tuple[queue.SimpleQueue[dict[str, Any]], TextIO]:
    """Keep the parent's two pipes for the exchange; give the row an empty standard input, and standard error
    for its output.
    """
    incoming = os.fdopen(os.dup(0), "r", encoding="utf-8")
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  lives as long as the process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers itself
    commands: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_commands, args=(incoming, commands), daemon=True).start()
    return commands, outgoing


def _read_commands(incoming: TextIO, commands: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in incoming:
        commands.put(json.loads(line))
    _end_group()


def _end_group() -> None:
    """End this process and everything it started: the parent is gone, or done with us."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)
