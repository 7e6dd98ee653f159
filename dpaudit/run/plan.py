"""Plan a run: its rows, their shares of the significance level, and their keys for a resumed run.

The significance level is controlled over the whole run. The rows of all suites on the command line share
``alpha`` by weight: a row gets ``alpha * weight / (sum of weights)``. Rows that ``-k`` leaves out keep their
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
from dpaudit.run.remote import Executor
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

if TYPE_CHECKING:  # the planning process must not load the numeric libraries
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

#: The default of --timeout, by profile: seconds of wall clock for one row.
TIMEOUTS = {"quick": 900.0, "full": 4 * 3600.0, "paper": 48 * 3600.0}

#: The largest significance level of a run. Above it, a refutation would be wrong more often than right.
MAX_LEVEL = 0.5

#: The time limit in seconds for all questions about noise of one suite.
CALIBRATE_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run on the command line.

    Parameters
    ----------
    profile : "quick", "full" or "paper"
        The profile.
    alpha : float
        The family-wise significance level, in (0, 1/2].
    seed : int
        The seed, from 0 to 2^63 - 1.
    jobs : int
        The number of processes.
    timeout : float, optional
        The time limit for one row in seconds. Default: ``TIMEOUTS`` of the profile.
    require, accept : str, optional
        "proved" and "consistent" (``dpaudit.core.row_verdicts.is_accepted``). Only one can be set.

    Raises
    ------
    InvalidParameterError
        A setting is out of range.
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
                f"the profile must be one of {sorted(TIMEOUTS)}, got {self.profile!r}.",
                code="E-PROFILE-UNKNOWN",
            )
        if not 0 < self.alpha <= MAX_LEVEL:
            raise InvalidParameterError(
                f"alpha must be above 0 and at most {MAX_LEVEL}, got {self.alpha}.", code="E-ALPHA-RANGE"
            )
        if not 0 <= self.seed < 2**63:
            raise InvalidParameterError(
                f"the seed must be an integer from 0 to 2^63 - 1, got {self.seed}.", code="E-SEED-RANGE"
            )
        if self.jobs < 1:
            raise InvalidParameterError(f"jobs must be 1 or more, got {self.jobs}.", code="E-JOBS-RANGE")
        if self.timeout is not None and not (self.timeout > 0 and math.isfinite(self.timeout)):
            raise InvalidParameterError(
                f"the timeout must be a positive number of seconds, got {self.timeout}.",
                code="E-TIMEOUT-RANGE",
            )
        if self.require not in (None, "proved"):
            raise InvalidParameterError(
                f"require must be 'proved' or None, got {self.require!r}.", code="E-REQUIRE-UNKNOWN"
            )
        if self.accept not in (None, "consistent"):
            raise InvalidParameterError(
                f"accept must be 'consistent' or None, got {self.accept!r}.", code="E-ACCEPT-UNKNOWN"
            )
        if self.require and self.accept:
            raise InvalidParameterError(
                f"a run cannot require {self.require} and accept {self.accept}.", code="E-REQUIRE-ACCEPT"
            )

    @property
    def row_seconds(self) -> float:
        """Return the time limit for one row, in seconds of wall clock."""
        return self.timeout or TIMEOUTS[self.profile]


@dataclass(frozen=True)
class LoadedSuite:
    """A suite file and its ``description``, which the worker that imported it made."""

    file: SuiteFile
    description: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.description["rows"]
        return rows

    @property
    def held(self) -> frozenset[Item]:
        """Return the contents of the suite, which are empty for a part without a suite."""
        return _items(self.description["held"])

    @property
    def declared(self) -> frozenset[Item]:
        """Return everything that importing the file declared."""
        return _items(self.description["declared"])

    @property
    def place(self) -> Item:
        """Return the item of the suite itself: its paper, and the file and line that make it."""
        return next(item for item in self.held if item[0] == "suite")


def _items(written: Sequence[Sequence[Any]]) -> frozenset[Item]:
    return frozenset((what, name, path, line) for what, name, path, line in written)


@dataclass(frozen=True)
class PlannedRow:
    """A row to run: its description, its share ``alpha``, its key for ``--resume`` and its command."""

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
    """A plan of a run.

    It holds the suites as the report lists them, the claims that no computation can check, the rows in order,
    and the suites that cannot be used.
    """

    suites: list[dict[str, Any]]
    unchecked: list[dict[str, str]]
    rows: list[PlannedRow]
    broken: list[BrokenSuite]


@dataclass(frozen=True)
class BrokenSuite:
    """A suite file that cannot be used, and the reason: the constraint, the error and the line of source."""

    file: SuiteFile
    reason: str


def load_suites(
    paths: Sequence[str], pool: Executor, *, broken: list[BrokenSuite] | None = None
) -> list[LoadedSuite]:
    """Import the suites that ``paths`` name, each in a separate worker.

    A suite that cannot be imported is added to ``broken``, and the others are still loaded. So is a suite
    whose import makes a row or a group that no suite includes. Raises ``InvalidParameterError`` if all suites
    are broken, if one is broken and ``broken`` is ``None``, and for a folder without suites.
    """
    refused: list[BrokenSuite] = []
    imported: set[Path] = set()
    loaded: list[LoadedSuite] = []
    named = {path: suites_at(path) for path in paths or default_paths()}
    for file in sorted(each_once(named.values()), key=lambda file: file.kind == "part"):
        if file.kind == "part" and file.path in imported:
            continue  # its declarations were recorded when another suite imported it
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
            "\n".join(item.reason for item in (refused[:1] if broken is None else refused)),
            code="E-SUITE-BROKEN",
        )
    _require_suites(
        named, [*(suite.file for suite in loaded if suite.held), *(item.file for item in refused)]
    )
    if broken is not None:
        broken.extend(refused)
    return served


def _once(suites: Sequence[LoadedSuite]) -> list[LoadedSuite]:
    """Return each suite once.

    If several files have the same suite, made at the same line, keep the file with the most rows. Among equal
    files, keep the file that makes the suite, or else the first.
    """
    kept: dict[Item, list[LoadedSuite]] = {}
    for suite in sorted(suites, key=lambda suite: (-len(suite.held), str(suite.file.path) != suite.place[2])):
        others = kept.setdefault(suite.place, [])
        if not any(suite.held <= other.held for other in others):
            others.append(suite)
    return [suite for suite in suites if any(suite is other for other in kept[suite.place])]


def _lost(loaded: Sequence[LoadedSuite], pool: Executor) -> Iterator[tuple[LoadedSuite, list[Item]]]:
    """Yield the files whose import declared something that no suite includes, with these declarations.

    A file that is run alone may import rows of neighbouring files, so the suites around it are loaded too.
    """
    held = {item for suite in loaded for item in suite.held}
    for suite in loaded:
        if suite.declared <= held:
            continue
        known = {other.file.path for other in loaded}
        for file in suites_around(suite.file):
            if file.path not in known and file.kind != "part":
                with suppress(InvalidParameterError):  # the user did not name it, so it may be broken
                    held |= LoadedSuite(file, _load(file, pool)).held
        if not suite.declared <= held:
            yield suite, sorted(suite.declared - held)


def _in_no_suite(file: SuiteFile, lost: Sequence[Item]) -> str:
    what, name, path, line = lost[0]
    place = f" ({Path(path).name}:{line})" if path else ""
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return (
        f"everything declared must be in a suite that runs, but {file.label} declares the {what} {name!r}"
        f"{place}{more} outside any suite. Include its group in the suite, set `suite` once, or remove it."
    )


def _require_suites(named: Mapping[str, Sequence[SuiteFile]], files: Sequence[SuiteFile]) -> None:
    """Raise ``InvalidParameterError`` for a path whose files contain no suite, not even a broken one."""
    for path, inside in named.items():
        if not {file.path for file in inside} & {file.path for file in files}:
            raise no_suite(path)


def require_rows(suite: LoadedSuite) -> None:
    """Raise ``InvalidParameterError`` for a suite without rows and without claims that cannot be checked."""
    if not suite.rows and not suite.description["unchecked"]:
        raise InvalidParameterError(
            f"a suite must have at least one row, {suite.file.label} has none.", code="E-SUITE-EMPTY"
        )


def calibrate_suites(
    paths: Sequence[str], pool: Executor, *, broken: list[BrokenSuite]
) -> Iterator[tuple[LoadedSuite, list[dict[str, Any]]]]:
    """Yield the suites that ``paths`` name, each with the answers to its questions about noise.

    Suites that cannot be imported or calibrated are added to ``broken``.
    """
    for suite in load_suites(paths, pool, broken=broken):
        try:
            yield suite, _calibrate(suite.file, pool)
        except InvalidParameterError as error:
            broken.append(BrokenSuite(suite.file, str(error)))


def _load(file: SuiteFile, pool: Executor) -> dict[str, Any]:
    try:
        answer = pool.load(file)
    except (ChildDiedError, ChildHungError) as error:
        raise _broken(file, "import", error) from None
    if "failed" in answer:
        lines = [f"the suite {file.label} cannot be imported:", answer["failed"]]
        lines += [answer["place"]] if answer["place"] else []
        raise InvalidParameterError(
            "\n  ".join(" ".join(line.split()) for line in lines), code="E-SUITE-BROKEN"
        )
    return answer


def _calibrate(file: SuiteFile, pool: Executor) -> list[dict[str, Any]]:
    try:
        answer = pool.ask(file, {"do": "calibrate"}, seconds=CALIBRATE_SECONDS)
    except (ChildDiedError, ChildHungError) as error:
        raise _broken(file, "calibration", error) from None
    if "failed" in answer:
        raise InvalidParameterError(
            f"the suite {file.label} cannot be calibrated: {answer['failed']}.", code="E-SUITE-BROKEN"
        )
    answers: list[dict[str, Any]] = answer["answers"]
    return answers


def _broken(file: SuiteFile, action: str, error: Exception) -> InvalidParameterError:
    reason = str(error).removesuffix(". Increase --timeout")
    return InvalidParameterError(
        f"the suite {file.label} cannot be used: the {action} {reason}.", code="E-SUITE-BROKEN"
    )


def plan_run(
    paths: Sequence[str],
    settings: Settings,
    pool: Executor,
    *,
    select: str | None = None,
    broken: list[BrokenSuite] | None = None,
) -> Plan:
    """Load suites and plan their rows, with ``broken`` as in ``load_suites``.

    Raises ``InvalidParameterError`` for a wrong path, suite or expression, or if no row is left.
    """
    matches = selector(select) if select is not None else None
    loaded = _with_rows(load_suites(paths, pool, broken=broken), broken)
    _check_ids(loaded)
    total = math.fsum(row["weight"] for suite in loaded for row in suite.rows)
    sources = Sources()  # not in a parallel thread, because CPython 3.11 cannot parse in two threads at once
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
        found = f"-k {select!r} matches none of the {count} rows" if count else "the suites have no rows"
        lost = "".join(f"\n{item.reason}" for item in broken or ())
        raise InvalidParameterError(
            f"{found}. Run `dpaudit list` to see their ids.{lost}", code="E-RUN-EMPTY"
        )
    papers = {suite.file.path: suite.description["paper"] for suite in loaded}
    unchecked = [
        {"paper": papers[suite.file.path], **item}
        for suite in loaded
        for item in suite.description["unchecked"]
    ]
    suites = [_suite_entry(suite, hashes[suite.file.path]) for suite in loaded]
    return Plan(suites, unchecked, rows, broken or [])


def _with_rows(loaded: Sequence[LoadedSuite], broken: list[BrokenSuite] | None) -> list[LoadedSuite]:
    """Return the suites that have something to run or to report. The others are added to ``broken``."""
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
                    f"{suite.file.label}. Add the paper's short name to the ids, or run one suite at a time.",
                    code="E-ROW-TWICE",
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
        row,  # the description of the row now, which may depend on the environment
    ]
    key = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()
    return PlannedRow(suite, row, alpha, key, reproduce_command(paths, row["id"], settings))


def reproduce_command(paths: Sequence[str], row_id: str, settings: Settings) -> str:
    """Return the command that runs only one row, as a run of ``paths`` with ``settings`` does.

    The command writes a separate report.
    """
    return run_command_of(paths, settings).of_row(row_id).text


def run_command_of(paths: Sequence[str], settings: Settings, *, select: str | None = None) -> RunCommand:
    """Return the command for a run of ``paths`` with ``settings``, as its report states it."""
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
