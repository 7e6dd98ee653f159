"""Verifying an untrusted report within limits: a child process checks the results one by one, and is replaced
if it overruns.

A rule or a law may take long on parameters that nobody honest would write. The parent keeps the clocks (one
for each result, one for all of them) and sends one result at a time, as one line of JSON; the child answers
with one line of findings. Only text passes between them. A result that overruns becomes a failed finding, and
the next one gets a fresh child; a result for which no time is left is a failed finding, too.

The child starts isolated (``-I``): no file of the current folder, nothing that an environment variable of
Python names is imported or executed. It finds dpaudit by the path of its own files alone, and the numeric
libraries, where they are not installed in the usual place, at the end of its path, so that they shadow
nothing. It limits its memory, its processor time and what it may write, and ends when its parent does.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.errors import BrokenReportError
from dpaudit.verify.findings import Finding, id_of
from dpaudit.verify.result import verify_result

__all__ = ["BoundedChecker", "serve"]

#: The package under its name from its own folder: what lies beside that folder is not importable.
_BOOTSTRAP = """
import importlib.util, sys
package, memory, seconds, parent, *libraries = sys.argv[1:]
sys.path.extend(folder for folder in libraries if folder not in sys.path)
spec = importlib.util.spec_from_file_location(
    "dpaudit", package + "/__init__.py", submodule_search_locations=[package])
sys.modules["dpaudit"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["dpaudit"])
from dpaudit.verify.bounded import serve
serve(megabytes=int(memory), seconds=int(seconds), parent=int(parent))
"""

_LIBRARIES = ("numpy", "scipy", "flint")

#: Seconds that the child may take to start.
START_SECONDS = 120.0

#: Bytes that the child may write to any file.
MAX_WRITTEN = 1 << 20

#: Linux: the number of the request "kill me when my parent dies".
_PR_SET_PDEATHSIG = 1


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
        self._child: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> BoundedChecker:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def check(self, result: Any) -> list[Finding]:
        """The findings about one result; a failed one if the child overran its limits or died, or if the time
        for all results was used up before."""
        name = id_of(result)
        try:
            line = json.dumps(result)
        except (ValueError, RecursionError) as error:
            return [Finding(name, False, "result", f"a result must be plain JSON: {error}")]
        if self._deadline is None:
            self._deadline = time.monotonic() + self._total
        left = self._deadline - time.monotonic()
        if left <= 0:
            return [self._failed(name, f"{self._all()}; this one was not checked, no time was left for it")]
        child = self._running()
        try:
            assert child.stdin is not None  # opened as a pipe
            child.stdin.write(line + "\n")
            child.stdin.flush()
            answer = self._lines.get(timeout=min(self._seconds, left))
        except queue.Empty:
            self._stop()
            one = f"checking must end within {self._seconds:g} seconds, it did not"
            return [self._failed(name, one if left > self._seconds else f"{self._all()}, they were not")]
        except OSError:
            answer = None
        if answer is None:
            self._stop()
            within = f"checking must fit into {self._megabytes} MB and its processor time"
            return [self._failed(name, f"{within}, the checker died")]
        return [Finding(**finding) for finding in json.loads(answer)]

    def _all(self) -> str:
        return f"all results must be checked within {self._total:g} seconds (--seconds)"

    def _failed(self, name: str, reason: str) -> Finding:
        return Finding(name, False, "limits", reason)

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            package = Path(dpaudit.__file__).resolve().parent
            processor = math.ceil(min(self._total, 10**9)) + math.ceil(START_SECONDS)
            numbers = [str(number) for number in (self._megabytes, processor, os.getpid())]
            command = [sys.executable, "-I", "-c", _BOOTSTRAP, str(package), *numbers, *_library_folders()]
            self._lines = queue.Queue()
            with tempfile.TemporaryFile() as said:
                self._child = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    text=True,
                    encoding="utf-8",
                    cwd=package,
                    env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                )
                threading.Thread(target=_pump, args=(self._child, self._lines), daemon=True).start()
                self._await_start(said)
        return self._child

    def _await_start(self, said: Any) -> None:
        try:
            ready = self._lines.get(timeout=START_SECONDS)
        except queue.Empty:
            ready = None
        if ready is None:
            self._stop()
            said.seek(0)
            last = said.read().decode(errors="replace").strip().splitlines()[-1:]
            raise BrokenReportError(
                f"the checking process must start, it did not ({''.join(last)}); check the installation."
            )

    def _stop(self) -> None:
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        self._child = None


def _library_folders() -> list[str]:
    """The folders that the parent imports the numeric libraries from."""
    origins = [spec.origin for name in _LIBRARIES if (spec := find_spec(name)) is not None]
    return sorted({str(Path(origin).resolve().parent.parent) for origin in origins if origin is not None})


def _pump(child: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Hand the child's lines over; ``None`` at its end."""
    assert child.stdout is not None  # opened as a pipe
    try:
        for line in child.stdout:
            lines.put(line)
    except ValueError:  # closed while reading: the parent stopped the child
        pass
    lines.put(None)


def serve(*, megabytes: int, seconds: int, parent: int) -> None:
    """The child: read results from standard input, write findings to standard output, one line each, until
    the input ends.

    ``megabytes`` of address space, ``seconds`` of processor time; ``parent`` is the process to end with.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its child itself
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    _end_with(parent)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a numeric library prints as it aborts is no answer
    _limit(megabytes, seconds)
    answers.write("ready\n")
    answers.flush()
    while True:
        findings = verify_result(json.loads(lines.get()))
        answers.write(json.dumps([vars(finding) for finding in findings]) + "\n")
        answers.flush()


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Hand over what the parent sends; when that ends the parent is gone or done, and so is this process,
    whatever it computes."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def _end_with(parent: int) -> None:
    """Where the system offers it, be killed when the parent dies, even inside one long computation."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):  # another C library: the end of the input remains
        return
    if os.getppid() != parent:  # it died before the request
        os._exit(0)


def _limit(megabytes: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    limits = {
        resource.RLIMIT_AS: megabytes << 20,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: MAX_WRITTEN,
        resource.RLIMIT_CORE: 0,
    }
    for kind, limit in limits.items():
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # a lower limit is in force, or the system knows none
            continue
