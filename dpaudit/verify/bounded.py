"""Verifying an untrusted report within limits: a child process checks the results one by one, and is replaced
if it overruns.

A rule or a distribution may take long on parameters that nobody honest would write. The parent keeps the
clocks (one
for each result, one for all of them) and asks about one result at a time. Only text passes between them. A
result that overruns becomes a failed finding, and the next one gets a fresh child; a result for which no time
is left is a failed finding, too.

The child starts isolated (``-I``): no file of the current folder, nothing that an environment variable of
Python names is imported or executed. It finds dpaudit by the path of its own files alone, and the numeric
libraries, where they are not installed in the usual place, at the end of its path, so that they shadow
nothing. It limits its memory, its processor time and what it may write, and ends when its parent does.
"""

from __future__ import annotations

import math
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.core.errors import BrokenReportError
from dpaudit.core.processes.child import Child, ChildDiedError, ChildHungError
from dpaudit.core.processes.serving import end_with, limit, serve, take_over_stdio
from dpaudit.verify.findings import Finding, id_of
from dpaudit.verify.result import verify_result

__all__ = ["BoundedChecker", "main"]

#: The package under its name from its own folder: what lies beside that folder is not importable.
_BOOTSTRAP = """
import importlib.util, sys
package, memory, seconds, parent, *libraries = sys.argv[1:]
sys.path.extend(folder for folder in libraries if folder not in sys.path)
spec = importlib.util.spec_from_file_location(
    "dpaudit", package + "/__init__.py", submodule_search_locations=[package])
sys.modules["dpaudit"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["dpaudit"])
from dpaudit.verify.bounded import main
main(megabytes=int(memory), seconds=int(seconds), parent=int(parent))
"""

_LIBRARIES = ("numpy", "scipy", "flint")

#: Seconds that the child may take to start.
START_SECONDS = 120.0

#: Bytes that the child may write to any file.
MAX_WRITTEN = 1 << 20


class BoundedChecker:
    """Checks results in a child process. Use as a context manager.

    ``seconds`` is the limit for one result, ``total`` that for all results together, from the first one on;
    ``megabytes`` is the limit on the child's address space.
    """

    def __init__(self, *, seconds: float, megabytes: int, total: float = math.inf) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        self._total = total
        self._deadline: float | None = None
        self._child: Child | None = None

    def __enter__(self) -> BoundedChecker:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def check(self, result: Any) -> list[Finding]:
        """The findings about one result; a failed one if the child overran its limits or died, or if the time
        for all results was used up before."""
        name = id_of(result)
        if self._deadline is None:
            self._deadline = time.monotonic() + self._total
        left = self._deadline - time.monotonic()
        if left <= 0:
            return [self._failed(name, f"{self._all()}; this one was not checked, no time was left for it")]
        try:
            answer = self._running().ask({"result": result}, seconds=min(self._seconds, left))
        except (ValueError, RecursionError) as error:
            return [Finding(name, False, "result", f"a result must be plain JSON: {error}")]
        except ChildHungError:
            self._stop()
            one = f"checking must end within {self._seconds:g} seconds, it did not"
            return [self._failed(name, one if left > self._seconds else f"{self._all()}, they were not")]
        except ChildDiedError:
            self._stop()
            within = f"checking must fit into {self._megabytes} MB and its processor time"
            return [self._failed(name, f"{within}, the checker died")]
        return [Finding(**finding) for finding in answer["findings"]]

    def _all(self) -> str:
        return f"all results must be checked within {self._total:g} seconds (--seconds)"

    def _failed(self, name: str, reason: str) -> Finding:
        return Finding(name, False, "limits", reason)

    def _running(self) -> Child:
        if self._child is None:
            package = Path(dpaudit.__file__).resolve().parent
            processor = math.ceil(min(self._total, 10**9)) + math.ceil(START_SECONDS)
            numbers = [str(number) for number in (self._megabytes, processor, os.getpid())]
            self._child = Child(
                [sys.executable, "-I", "-c", _BOOTSTRAP, str(package), *numbers, *_library_folders()],
                environment={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                folder=package,
            )
            try:
                self._child.ask({}, seconds=START_SECONDS)
            except (ChildHungError, ChildDiedError) as error:
                self._stop()
                raise BrokenReportError(
                    f"the checking process must start, it did not ({error}); check the installation."
                ) from None
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.close()
        self._child = None


def _library_folders() -> list[str]:
    """The folders that the parent imports the numeric libraries from."""
    origins = [spec.origin for name in _LIBRARIES if (spec := find_spec(name)) is not None]
    return sorted({str(Path(origin).resolve().parent.parent) for origin in origins if origin is not None})


def main(*, megabytes: int, seconds: int, parent: int) -> None:
    """The child: once it is ready, answer each result with its findings, until the questions end.

    ``megabytes`` of address space, ``seconds`` of processor time; ``parent`` is the process to end with.
    """
    questions, answers = take_over_stdio()
    end_with(parent)

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        if "result" not in question:  # the first one: all is imported, and the thread that listens exists
            limit(megabytes=megabytes, seconds=seconds, written=MAX_WRITTEN)
            return {}
        return {"findings": [vars(finding) for finding in verify_result(question["result"])]}

    serve(questions, answers, answer)
