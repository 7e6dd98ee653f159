"""Verifying an untrusted report within limits: a child process checks the results one by one, and is replaced
if it overruns.

A rule or a law may take long on parameters that nobody honest would write. The parent keeps the clock and
sends one result at a time, as one line of JSON; the child answers with one line of findings and has a limit
on its memory where the system offers one. Only text passes between them. A result that overruns becomes a
failed finding, and the next one gets a fresh child.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.certificates.findings import Finding, id_of
from dpaudit.errors import BrokenReportError

__all__ = ["BoundedChecker", "serve"]

#: The child finds the package where the parent found it.
_BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); from dpaudit.certificates.bounded import serve; "
    "sys.path.pop(0); serve(int(sys.argv[2]))"
)


class BoundedChecker:
    """Checks results in a child process. Use as a context manager.

    ``seconds`` is the limit for one result, ``megabytes`` the limit on the child's address space.
    """

    def __init__(self, *, seconds: float, megabytes: int) -> None:
        self._seconds = seconds
        self._megabytes = megabytes
        self._child: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> BoundedChecker:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def check(self, result: Any) -> list[Finding]:
        """The findings about one result; a failed one if the child overran its limits or died."""
        name = id_of(result)
        try:
            line = json.dumps(result)
        except (ValueError, RecursionError) as error:
            return [Finding(name, False, "result", f"a result must be plain JSON: {error}")]
        child = self._running()
        try:
            assert child.stdin is not None  # opened as a pipe
            child.stdin.write(line + "\n")
            child.stdin.flush()
            answer = self._lines.get(timeout=self._seconds)
        except queue.Empty:
            self._stop()
            return [
                Finding(
                    name, False, "limits", f"checking must end within {self._seconds:g} seconds, it did not"
                )
            ]
        except OSError:
            answer = None
        if answer is None:
            self._stop()
            return [
                Finding(
                    name, False, "limits", f"checking must fit into {self._megabytes} MB, the checker died"
                )
            ]
        return [Finding(**finding) for finding in json.loads(answer)]

    def _running(self) -> subprocess.Popen[str]:
        if self._child is None:
            root = str(Path(dpaudit.__file__).resolve().parent.parent)
            self._lines = queue.Queue()
            self._child = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, root, str(self._megabytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            threading.Thread(target=_pump, args=(self._child, self._lines), daemon=True).start()
            if self._lines.get() is None:
                raise BrokenReportError(
                    "the checking process must start, it did not; check the installation."
                )
        return self._child

    def _stop(self) -> None:
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        self._child = None


def _pump(child: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    """Hand the child's lines over; ``None`` at its end."""
    assert child.stdout is not None  # opened as a pipe
    try:
        for line in child.stdout:
            lines.put(line)
    except ValueError:  # closed while reading: the parent stopped the child
        pass
    lines.put(None)


def serve(megabytes: int) -> None:
    """The child: read results from standard input, write findings to standard output, one line each."""
    from dpaudit.certificates.verify import verify_result

    _limit_memory(megabytes)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        findings = verify_result(json.loads(line))
        sys.stdout.write(json.dumps([vars(finding) for finding in findings]) + "\n")
        sys.stdout.flush()


def _limit_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    try:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    except (ValueError, OSError):  # a lower limit is in force, or the system knows none
        return
