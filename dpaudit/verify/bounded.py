"""Verify an untrusted report within limits: a child process checks the results one by one.

A rule or a distribution may take long on parameters that no honest report has. The parent keeps the time
limits (for each result, and for all of them) and sends one result at a time. Only text passes between the
processes. A result that exceeds a limit becomes a failed finding, and the next result gets a new child. A
result for which no time is left becomes a failed finding too.

The child starts isolated (``-I``): it imports and executes no file of the current folder and nothing that an
environment variable of Python names. It finds dpaudit only by the path of dpaudit's own files. Folders of
numeric libraries that are not installed in the usual place come at the end of its path, so that they shadow
nothing. The child limits its memory, its processor time and its written bytes, and ends when its parent ends.
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

#: Import the package from its own folder, without making its sibling folders importable.
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

#: The time limit in seconds for the start of the child.
START_SECONDS = 120.0

#: The largest number of bytes that the child may write to any file.
MAX_WRITTEN = 1 << 20


class BoundedChecker:
    """A checker of results in a child process. Use it as a context manager.

    Parameters
    ----------
    seconds : float
        The time limit for one result.
    megabytes : int
        The limit on the child's address space.
    total : float
        The time limit for all results, from the first result on (no limit).
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
        """Return the findings about one result.

        There is a failed finding if the child exceeded its limits or died, or if no time was left.
        """
        name = id_of(result)
        if self._deadline is None:
            self._deadline = time.monotonic() + self._total
        left = self._deadline - time.monotonic()
        if left <= 0:
            return [self._failed(name, f"{self._limit_on_all()}. No time was left for this result")]
        try:
            answer = self._running().ask({"result": result}, seconds=min(self._seconds, left))
        except (ValueError, RecursionError) as error:
            return [Finding(name, False, "result", f"a result must be plain JSON: {error}")]
        except ChildHungError:
            self._stop()
            one = f"checking this result did not end within {self._seconds:g} seconds"
            whole = f"{self._limit_on_all()}, but this result did not end in time"
            return [self._failed(name, one if left > self._seconds else whole)]
        except ChildDiedError:
            self._stop()
            limits = f"{self._megabytes} MB and the limit of processor time"
            return [self._failed(name, f"the checker died; it must stay within {limits}")]
        return [Finding(**finding) for finding in answer["findings"]]

    def _limit_on_all(self) -> str:
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
                    f"the checking process did not start: it {error}. Check the installation.",
                    code="E-CHECKER-START",
                ) from None
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.close()
        self._child = None


def _library_folders() -> list[str]:
    """Return the folders from which the parent imports the numeric libraries."""
    origins = [spec.origin for name in _LIBRARIES if (spec := find_spec(name)) is not None]
    return sorted({str(Path(origin).resolve().parent.parent) for origin in origins if origin is not None})


def main(*, megabytes: int, seconds: int, parent: int) -> None:
    """Run the child: answer each result with its findings until the request pipe is closed.

    ``megabytes`` limits the address space and ``seconds`` the processor time. The child ends when the process
    ``parent`` ends.
    """
    questions, answers = take_over_stdio()
    end_with(parent)

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        # The first request has no result. The limits start here, after all imports and thread starts.
        if "result" not in question:
            limit(megabytes=megabytes, seconds=seconds, written=MAX_WRITTEN)
            return {}
        return {"findings": [vars(finding) for finding in verify_result(question["result"])]}

    serve(questions, answers, answer)
