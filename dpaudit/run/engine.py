"""Run a plan in worker processes and yield each result when it is finished.

The verdicts do not depend on the number of workers. Before a suite's rows, two fresh processes with other
hash seeds and other global seeds compute the fingerprints of its programs, the second process with the inputs
in reverse order. A row's result is complete when its own worker and both fresh processes agree. A difference
crashes the row (docs/design.md, rule 2).
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpaudit.core.errors import BrokenReportError
from dpaudit.core.processes.child import ChildDiedError, ChildHungError
from dpaudit.core.row_verdicts import as_expected, is_accepted
from dpaudit.report.file.document import check_result
from dpaudit.run.plan import LoadedSuite, PlannedRow, Settings
from dpaudit.run.process import FRESH_SEEDS
from dpaudit.run.remote import Executor

__all__ = ["execute", "is_result_of"]

#: The fields of a row's description that the report repeats.
_ABOUT = ("id", "title", "kind", "role", "view", "claim", "expect", "source", "quantity", "claimed")

Answer = dict[str, Any]


@dataclass(frozen=True)
class _Check:
    """A task for a fresh process: compute the fingerprints of some rows of one suite."""

    suite: LoadedSuite
    rows: tuple[PlannedRow, ...]
    seed: int


@dataclass
class _Pending:
    """The answers for a row so far: its own answer, and the fingerprints from fresh processes."""

    fresh: list[Answer] = field(default_factory=list)
    answer: Answer | None = None

    def complete(self, row: PlannedRow) -> bool:
        return self.answer is not None and len(self.fresh) == (
            len(FRESH_SEEDS) if row.description["has_fingerprint"] else 0
        )


_Task = _Check | PlannedRow


def execute(
    rows: Sequence[PlannedRow],
    settings: Settings,
    pool: Executor,
    *,
    started: Callable[[str], None] | None = None,
    read: dict[str, dict[str, str]] | None = None,
) -> Iterator[tuple[PlannedRow, dict[str, Any]]]:
    """Run ``rows`` on ``settings.jobs`` workers and yield each with its result, in the order of finishing.

    ``started`` is called with the id of each row when it begins, from the thread that waits for it. ``read``
    receives, by the key of each row, the files that were read for it with their digests.
    """
    tasks = deque(_tasks(rows))
    done: queue.SimpleQueue[tuple[_Task, Any]] = queue.SimpleQueue()
    lock = threading.Lock()

    def serve() -> None:
        while True:
            with lock:
                if not tasks:
                    return
                task = tasks.popleft()
            if started is not None and isinstance(task, PlannedRow):
                started(task.id)
            try:
                done.put(
                    (
                        task,
                        _check(task, settings, pool)
                        if isinstance(task, _Check)
                        else _evaluate(task, settings, pool),
                    )
                )
            except BaseException as error:  # passed to the caller's thread, which raises it
                done.put((task, error))
                return

    for _ in range(min(settings.jobs, len(tasks))):
        threading.Thread(target=serve, daemon=True).start()
    yield from _collect(rows, settings, done, read={} if read is None else read)


def _tasks(rows: Sequence[PlannedRow]) -> Iterator[_Task]:
    """Yield the tasks suite by suite: the two fresh-process checks of a suite first, then its rows."""
    by_suite: dict[str, list[PlannedRow]] = {}
    for row in rows:
        by_suite.setdefault(row.suite.file.label, []).append(row)
    for group in by_suite.values():
        checked = tuple(row for row in group if row.description["has_fingerprint"])
        if checked:
            yield from (_Check(group[0].suite, checked, seed) for seed in FRESH_SEEDS)
        yield from group


def _collect(
    rows: Sequence[PlannedRow],
    settings: Settings,
    done: queue.SimpleQueue[tuple[_Task, Any]],
    *,
    read: dict[str, dict[str, str]],
) -> Iterator[tuple[PlannedRow, dict[str, Any]]]:
    pending = {row.key: _Pending() for row in rows}
    while pending:
        try:
            # The timeout lets Ctrl-C interrupt the wait on every platform.
            task, answer = done.get(timeout=0.2)
        except queue.Empty:
            continue
        if isinstance(answer, BaseException):
            raise answer
        changed = task.rows if isinstance(task, _Check) else (task,)
        for row in changed:
            state = pending[row.key]
            if isinstance(task, _Check):
                state.fresh.append(answer[row.key])
            else:
                state.answer = answer
            if state.complete(row):
                read[row.key] = dict((state.answer or {}).get("read", {}))
                yield row, _result(row, pending.pop(row.key), settings)


def _command(row: PlannedRow, settings: Settings, *, do: str) -> dict[str, Any]:
    return {"do": do, "row": row.id, "seed": settings.seed, "profile": settings.profile}


def _evaluate(row: PlannedRow, settings: Settings, pool: Executor) -> Answer:
    started = time.perf_counter()
    command = _command(row, settings, do="evaluate") | {"alpha": row.alpha}
    try:
        return pool.ask(row.suite.file, command, seconds=settings.row_seconds)
    except (ChildDiedError, ChildHungError) as error:
        return {
            "failed": f"a row {error}",
            "traceback": None,
            "value": None,
            "seconds": time.perf_counter() - started,
        }


def _check(check: _Check, settings: Settings, pool: Executor) -> dict[str, Answer]:
    """Fingerprints by row key, all from processes with the check's seed."""
    answers: dict[str, Answer] = {}
    file = check.suite.file
    for row in check.rows:
        command = _command(row, settings, do="fingerprint") | {"reverse": check.seed == FRESH_SEEDS[-1]}
        try:
            answers[row.key] = pool.ask(file, command, seconds=settings.row_seconds, seed=check.seed)
        except (ChildDiedError, ChildHungError) as error:
            answers[row.key] = {"failed": f"a fingerprint {error}", "traceback": None}
    pool.forget(file, seed=check.seed)
    return answers


def _result(row: PlannedRow, state: _Pending, settings: Settings) -> dict[str, Any]:
    answer = state.answer or {}
    failure = _failure(answer, state.fresh)
    result = _merge(row, _crash(*failure) if failure else answer["finding"], answer, settings)
    result["fresh_processes"] = 0 if failure else len(state.fresh)
    try:
        check_result(result)
    except BrokenReportError as error:
        result = _merge(row, _crash(str(error), None), answer, settings) | {"fresh_processes": 0}
    return result


def _failure(answer: Answer, fresh: Sequence[Answer]) -> tuple[str, str | None] | None:
    """Return the reason why a row crashed with the traceback if there is one, or ``None`` if it did not."""
    if "failed" in answer:
        return answer["failed"], answer["traceback"]
    for other in fresh:
        if "failed" in other:
            return f"in a fresh process: {other['failed']}", other["traceback"]
        if other["value"] != answer["value"]:
            return (
                "randomness outside coins, or state between runs: the program's fingerprint differs in a "
                "fresh process with other hash and global seeds, or with the inputs in reverse order. Draw "
                "only through the coins and keep no state between runs",
                None,
            )
    return None


def _crash(reason: str, trace: str | None) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(
        ("lower", "upper", "lower_exact", "upper_exact", "slack", "confidence")
    )
    lists: dict[str, Any] = {name: [] for name in ("evidence", "notes", "plots", "obstacles", "cells")}
    return {
        "verdict": "crashed",
        "strength": "none",
        **empty,
        "samples": 0,
        **lists,
        "reasons": [reason],
        "traceback": trace,
    }


def is_result_of(row: PlannedRow, result: dict[str, Any]) -> bool:
    """Return whether a result repeats the description of its row, at the row's significance level."""
    fixed = _fixed(row)
    return {name: result.get(name) for name in fixed} == fixed


def _fixed(row: PlannedRow) -> dict[str, Any]:
    """Return the fields of a result that are known before the row runs."""
    fixed = {name: row.description[name] for name in _ABOUT}
    if row.description["repairs"]:
        fixed["repairs"] = row.description["repairs"]
    if row.description["location"]:
        fixed["location"] = row.description["location"]
    return fixed | {"paper": row.suite.description["paper"], "alpha": row.alpha}


def _merge(row: PlannedRow, finding: dict[str, Any], answer: Answer, settings: Settings) -> dict[str, Any]:
    """Return the result as the report holds it: the row's description and the finding."""
    about = _fixed(row)
    return {
        **about,
        "suite": row.suite.file.label,
        **finding,
        "seconds": round(float(answer.get("seconds", 0.0)), 3),
        "as_expected": as_expected(finding | about),
        "accepted": is_accepted(finding | about, require=settings.require, accept=settings.accept),
        "reproduce": row.reproduce,
    }
