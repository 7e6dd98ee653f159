"""The plan of a run: which rows, at which share of the error level, and the key under which a resumed run
finds each again.

The error level is controlled over the whole run: the rows of all suites that the command line names share
``alpha`` by weight, a row gets ``alpha * weight / (sum of weights)``. Rows that ``-k`` leaves out keep their
share, so that a row run alone gives the same result.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.processes.child import ChildDiedError, ChildHungError
from dpaudit.report.file.strict import require_clear_ids
from dpaudit.run.commands import RunCommand
from dpaudit.run.remote import Asking
from dpaudit.run.select import selector
from dpaudit.run.stamps import (
    Sources,
    commit_of,
    library_versions,
    platform_name,
    python_version,
    tool_hash,
)
from dpaudit.run.targets import (
    SuiteFile,
    default_paths,
    each_once,
    no_suite,
    suites_around,
    suites_at,
    written_paths,
)

if TYPE_CHECKING:  # the process that plans needs no numeric library
    from dpaudit.run.describe import Item

__all__ = [
    "MAX_LEVEL",
    "TIMEOUTS",
    "BrokenSuite",
    "LoadedSuite",
    "Plan",
    "PlannedRow",
    "Settings",
    "calibrate_suites",
    "load_suites",
    "plan_run",
    "reproduce_command",
    "require_rows",
    "run_command_of",
]

#: Seconds of wall clock that one row may take, by profile, where --timeout does not say.
TIMEOUTS = {"quick": 900.0, "full": 4 * 3600.0, "paper": 48 * 3600.0}

#: The largest error level of a run: one that errs more often than not says nothing.
MAX_LEVEL = 0.5

#: Seconds that the questions about noise of one suite may take.
CALIBRATE_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the command line sets.

    ``alpha`` is the family-wise error level in (0, 1/2], ``timeout`` in seconds a row.
    """

    profile: str = "quick"
    alpha: float = 0.05
    seed: int = 0
    jobs: int = 1
    timeout: float | None = None
    require: str | None = None
    accept: str | None = None

    def __post_init__(self) -> None:
        if self.profile not in TIMEOUTS:
            raise InvalidParameterError(
                f"the profile must be one of {sorted(TIMEOUTS)}, got {self.profile!r}; choose one."
            )
        if not 0 < self.alpha <= MAX_LEVEL:
            raise InvalidParameterError(
                f"alpha must be above 0 and at most {MAX_LEVEL}, got {self.alpha}; pass a level such as 0.05."
            )
        if not 0 <= self.seed < 2**63:
            raise InvalidParameterError(
                f"the seed must be an integer from 0 to 2^63 - 1, got {self.seed}; pass another."
            )
        if self.jobs < 1:
            raise InvalidParameterError(
                f"jobs must be 1 or more, got {self.jobs}; pass the number of processes."
            )
        if self.timeout is not None and not (self.timeout > 0 and math.isfinite(self.timeout)):
            raise InvalidParameterError(
                f"the timeout must be a positive number of seconds, got {self.timeout}; pass one such as 600."
            )
        if self.require not in (None, "proved"):
            raise InvalidParameterError(f"require must be proved, got {self.require!r}; or leave it out.")
        if self.accept not in (None, "consistent"):
            raise InvalidParameterError(f"accept must be consistent, got {self.accept!r}; or leave it out.")
        if self.require and self.accept:
            raise InvalidParameterError(
                f"a run cannot require {self.require} and accept {self.accept}; leave one of them out."
            )

    @property
    def row_seconds(self) -> float:
        """Seconds of wall clock that one row may take."""
        return self.timeout or TIMEOUTS[self.profile]


@dataclass(frozen=True)
class LoadedSuite:
    """A suite file and what it says of itself (``description``, from the worker that imported it)."""

    file: SuiteFile
    description: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.description["rows"]
        return rows

    @property
    def held(self) -> frozenset[Item]:
        """What the suite serves; nothing for a part without a suite."""
        return _items(self.description["held"])

    @property
    def declared(self) -> frozenset[Item]:
        """Everything that the import made."""
        return _items(self.description["declared"])

    @property
    def place(self) -> Item:
        """The suite itself: its paper, and where it is made."""
        return next(item for item in self.held if item[0] == "suite")


def _items(written: Sequence[Sequence[Any]]) -> frozenset[Item]:
    return frozenset((what, name, path, line) for what, name, path, line in written)


@dataclass(frozen=True)
class PlannedRow:
    """One row to run: its ``description``, its share ``alpha`` of the error level, its resume ``key`` and its
    ``reproduce`` command.
    """

    suite: LoadedSuite
    description: dict[str, Any]
    alpha: float
    key: str
    reproduce: str

    @property
    def id(self) -> str:
        row_id: str = self.description["id"]
        return row_id


@dataclass(frozen=True)
class Plan:
    """The suites as the report lists them, their rows in order, the claims that nothing can check, and the
    suites that do not import.
    """

    suites: list[dict[str, Any]]
    unchecked: list[dict[str, str]]
    rows: list[PlannedRow]
    broken: list[BrokenSuite]


@dataclass(frozen=True)
class BrokenSuite:
    """A suite file that could not be served, and why: what must hold, the error, and the line of source."""

    file: SuiteFile
    reason: str


def load_suites(
    paths: Sequence[str], pool: Asking, *, broken: list[BrokenSuite] | None = None
) -> list[LoadedSuite]:
    """Import the suites that ``paths`` name, each in a worker of its own.

    One that does not import is added to ``broken`` and stops no other; so is one whose import makes a row or
    a group that no suite holds. Raises ``InvalidParameterError`` where all are broken, for the first one
    without that list, and for a folder without suites.
    """
    refused: list[BrokenSuite] = []
    imported: set[Path] = set()
    loaded: list[LoadedSuite] = []
    named = {path: suites_at(path) for path in paths or default_paths()}
    for file in sorted(each_once(named.values()), key=lambda file: file.kind == "part"):
        if file.kind == "part" and file.path in imported:
            continue  # what it declares was recorded there
        try:
            suite = LoadedSuite(file, _load(file, pool))
        except InvalidParameterError as error:
            refused.append(BrokenSuite(file, str(error)))
            continue
        loaded.append(suite)
        imported.update(file.root / name for name in suite.description["files"])
    served = _once([suite for suite in loaded if suite.held])
    for suite, lost in _lost(loaded, pool):
        refused.append(BrokenSuite(suite.file, _in_no_suite(suite.file, lost)))
        served = [other for other in served if other is not suite]
    if refused and (broken is None or not served):
        raise InvalidParameterError(
            "\n".join(item.reason for item in (refused[:1] if broken is None else refused))
        )
    _require_suites(
        named, [*(suite.file for suite in loaded if suite.held), *(item.file for item in refused)]
    )
    if broken is not None:
        broken.extend(refused)
    return served


def _once(suites: Sequence[LoadedSuite]) -> list[LoadedSuite]:
    """Each suite once: of files with one suite, made at one place, that which has the most rows; of equals
    the file that makes it, or else the first one."""
    kept: dict[Item, list[LoadedSuite]] = {}
    for suite in sorted(suites, key=lambda suite: (-len(suite.held), str(suite.file.path) != suite.place[2])):
        others = kept.setdefault(suite.place, [])
        if not any(suite.held <= other.held for other in others):
            others.append(suite)
    return [suite for suite in suites if any(suite is other for other in kept[suite.place])]


def _lost(loaded: Sequence[LoadedSuite], pool: Asking) -> Iterator[tuple[LoadedSuite, list[Item]]]:
    """Yield the files whose import declared something that no suite holds, with what that is.

    A file that is run alone may import rows of its neighbours, so those are looked at as well.
    """
    held = {item for suite in loaded for item in suite.held}
    for suite in loaded:
        if suite.declared <= held:
            continue
        known = {other.file.path for other in loaded}
        for file in suites_around(suite.file):
            if file.path not in known and file.kind != "part":
                with suppress(InvalidParameterError):  # it is not asked for, and holds nothing
                    held |= LoadedSuite(file, _load(file, pool)).held
        if not suite.declared <= held:
            yield suite, sorted(suite.declared - held)


def _in_no_suite(file: SuiteFile, lost: Sequence[Item]) -> str:
    what, name, path, line = lost[0]
    place = f" ({Path(path).name}:{line})" if path else ""
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return (
        f"everything declared must be in a suite that runs, {file.label} declares the {what} {name!r}{place}"
        f"{more} in none; include its group in the suite, set `suite` once, or remove it."
    )


def _require_suites(named: Mapping[str, Sequence[SuiteFile]], files: Sequence[SuiteFile]) -> None:
    """Raise ``InvalidParameterError`` for a path whose files hold no suite, broken ones among them."""
    for path, inside in named.items():
        if not {file.path for file in inside} & {file.path for file in files}:
            raise no_suite(path)


def require_rows(suite: LoadedSuite) -> None:
    """Raise ``InvalidParameterError`` for a suite that has no rows and lists no claim that nothing can
    check."""
    if not suite.rows and not suite.description["unchecked"]:
        raise InvalidParameterError(
            f"a suite must have at least one row, {suite.file.label} has none; add rows, or leave it out."
        )


def calibrate_suites(
    paths: Sequence[str], pool: Asking, *, broken: list[BrokenSuite]
) -> Iterator[tuple[LoadedSuite, list[dict[str, Any]]]]:
    """The suites that ``paths`` name, each with the answers to its questions about noise; ``broken`` gets
    those that do not import or cannot answer.
    """
    for suite in load_suites(paths, pool, broken=broken):
        try:
            yield suite, _calibrate(suite.file, pool)
        except InvalidParameterError as error:
            broken.append(BrokenSuite(suite.file, str(error)))


def _load(file: SuiteFile, pool: Asking) -> dict[str, Any]:
    try:
        answer = pool.load(file)
    except (ChildDiedError, ChildHungError) as error:
        raise _broken(file, "import", error) from None
    if "failed" in answer:
        lines = [f"a suite must import, {file.label} did not; correct it or leave it out:", answer["failed"]]
        lines += [answer["place"]] if answer["place"] else []
        raise InvalidParameterError("\n  ".join(" ".join(line.split()) for line in lines))
    return answer


def _calibrate(file: SuiteFile, pool: Asking) -> list[dict[str, Any]]:
    try:
        answer = pool.ask(file, {"do": "calibrate"}, seconds=CALIBRATE_SECONDS)
    except (ChildDiedError, ChildHungError) as error:
        raise _broken(file, "calibrate", error) from None
    if "failed" in answer:
        raise InvalidParameterError(
            f"a suite must calibrate, {file.label} did not: {answer['failed']}. Correct the suite."
        )
    answers: list[dict[str, Any]] = answer["answers"]
    return answers


def _broken(file: SuiteFile, verb: str, error: Exception) -> InvalidParameterError:
    reason = str(error).removesuffix("; raise --timeout")
    return InvalidParameterError(
        f"a suite must {verb}, {file.label} did not: the {verb} {reason}. Correct the suite."
    )


def plan_run(
    paths: Sequence[str],
    settings: Settings,
    pool: Asking,
    *,
    select: str | None = None,
    broken: list[BrokenSuite] | None = None,
) -> Plan:
    """Load suites and plan their rows; ``broken`` as for ``load_suites``.

    Raises ``InvalidParameterError`` for a bad path, suite or expression, or where no row is left.
    """
    matches = selector(select) if select is not None else None
    loaded = _with_rows(load_suites(paths, pool, broken=broken), broken)
    _check_ids(loaded)
    total = math.fsum(row["weight"] for suite in loaded for row in suite.rows)
    sources = Sources()  # not in a thread meanwhile: CPython 3.11 cannot parse in two at a time
    hashes = {one.file.path: sources.hash_of(one.file, also=one.description["files"]) for one in loaded}
    rows = [
        _planned(
            suite, row, settings, share=row["weight"] / total, sha256=hashes[suite.file.path], paths=paths
        )
        for suite in loaded
        for row in suite.rows
        if matches is None or matches(row["id"])
    ]
    if not rows:
        count = sum(len(suite.rows) for suite in loaded)
        found = f"none of the {count} rows matches -k {select!r}" if count else "the suites have no rows"
        lost = "".join(f"\n{item.reason}" for item in broken or ())
        raise InvalidParameterError(f"a run must have at least one row, {found}; see `dpaudit list`.{lost}")
    papers = {suite.file.path: suite.description["paper"] for suite in loaded}
    unchecked = [
        {"paper": papers[suite.file.path], **item}
        for suite in loaded
        for item in suite.description["unchecked"]
    ]
    suites = [_suite_entry(suite, hashes[suite.file.path]) for suite in loaded]
    return Plan(suites, unchecked, rows, broken or [])


def _with_rows(loaded: Sequence[LoadedSuite], broken: list[BrokenSuite] | None) -> list[LoadedSuite]:
    """The suites that have something to run or to report; ``broken`` gets the others."""
    kept: list[LoadedSuite] = []
    for suite in loaded:
        try:
            require_rows(suite)
            kept.append(suite)
        except InvalidParameterError as error:
            if broken is None:
                raise
            broken.append(BrokenSuite(suite.file, str(error)))
    return kept


def _check_ids(loaded: Sequence[LoadedSuite]) -> None:
    require_clear_ids(
        item["id"] for suite in loaded for item in (*suite.rows, *suite.description["unchecked"])
    )
    owners: dict[str, str] = {}
    for suite in loaded:
        for row in suite.rows:
            other = owners.setdefault(row["id"], suite.file.label)
            if other != suite.file.label:
                raise InvalidParameterError(
                    f"a row's id must be unique in a run, got {row['id']!r} in {other} and in "
                    f"{suite.file.label}; put the paper's short name first, or run the suites one by one."
                )


def _planned(
    suite: LoadedSuite,
    row: dict[str, Any],
    settings: Settings,
    *,
    share: float,
    sha256: str,
    paths: Sequence[str],
) -> PlannedRow:
    alpha = settings.alpha * share
    depends_on = [
        *(sha256, tool_hash(), row["id"]),
        *(settings.seed, alpha, settings.profile),
        *(library_versions(), platform_name(), python_version()),
        row,  # what the suite says of it now, which may come from the environment
    ]
    key = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()
    return PlannedRow(suite, row, alpha, key, reproduce_command(paths, row["id"], settings))


def reproduce_command(paths: Sequence[str], row_id: str, settings: Settings) -> str:
    """The command that runs one row, and no other, as a run of ``paths`` with ``settings`` does, into a
    report of its own."""
    return run_command_of(paths, settings).of_row(row_id).text


def run_command_of(paths: Sequence[str], settings: Settings, *, select: str | None = None) -> RunCommand:
    """The run of ``paths`` with ``settings``, as its report names it."""
    return RunCommand(
        paths=written_paths(paths),
        select=select,
        seed=settings.seed,
        profile=settings.profile,
        alpha=settings.alpha,
        require=settings.require,
    )


def _suite_entry(suite: LoadedSuite, sha256: str) -> dict[str, Any]:
    commit, modified = commit_of(suite.file)
    description = {name: suite.description[name] for name in ("paper", "title", "reference", "symbols")}
    return {
        "suite": suite.file.label,
        **description,
        "sha256": sha256,
        "commit": commit,
        "modified": modified,
    }
