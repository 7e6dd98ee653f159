"""Suites: what a user writes. A suite is a list of rows; a row is a claim with a function that gathers
evidence.

A suite file defines one module-level ``suite = Suite(...)``. Rows are added by the decorator ``suite.row`` or
by helpers that build rows from a program and its neighbours (``dpaudit.replay.privacy``). A row function
receives a ``Run`` and returns an ``Outcome``; the verdict is the harness's.
"""

from __future__ import annotations

import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from types import FrameType
from typing import Any, Literal, get_args

import numpy as np

from dpaudit.core.claims import Claim, Controls, PrivacyClaim, Unbuilt
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Certificate, Evidence
from dpaudit.core.harness import is_harness_file
from dpaudit.core.question import Question

__all__ = [
    "KINDS",
    "ROLES",
    "Cell",
    "Group",
    "Outcome",
    "Profile",
    "Role",
    "Row",
    "Run",
    "Suite",
    "recording",
]

Profile = Literal["quick", "full", "paper"]
KINDS = ("privacy", "tail", "regret", "lower-bound", "utility", "structure")

#: What a row's claim is to the paper: what it states, under its own conditions; a printed step of a proof; a
#: repair; something tighter than stated; a setting outside the stated conditions; a control of this harness.
Role = Literal["printed", "step", "repaired", "sharper", "what-if", "control"]
ROLES: tuple[Role, ...] = get_args(Role)

EXPECTATIONS = ("verified", "consistent", "refuted", "inconclusive")

#: Characters of a cell's name.
MAX_NAME = 200

#: How the Unicode names of letters begin that a cell's name may have.
CLEAR_LETTERS = ("LATIN ", "GREEK ", "MICRO SIGN", "SCRIPT ", "MODIFIER LETTER ", "DOUBLE-STRUCK ")


@dataclass(frozen=True)
class Run:
    """What a row function may know of the run: the profile, the row's error level and its seeds."""

    profile: Profile
    alpha: float
    seed: int
    row_id: str

    def seed_sequence(self, purpose: str = "") -> np.random.SeedSequence:
        """A seed sequence that depends on the run's seed, the row and the purpose, on nothing else."""
        return np.random.SeedSequence(
            [self.seed, zlib.crc32(self.row_id.encode()), zlib.crc32(purpose.encode())]
        )

    def rng(self, purpose: str = "") -> np.random.Generator:
        """A generator of its own for one purpose."""
        return np.random.default_rng(self.seed_sequence(purpose))

    def choose(self, *, quick: Any, full: Any, paper: Any = None) -> Any:
        """The setting for this profile; ``paper`` falls back on ``full``."""
        if self.profile == "quick":
            return quick
        return full if self.profile == "full" or paper is None else paper


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One setting, or one part, of a row: a claim of its own with its evidence.

    ``name`` is what the row's table prints and is used once in the row; ``samples`` are counted from the
    evidence where they are 0. With ``deciding=False`` the cell stands under the row and does not enter its
    verdict. A cell with an ``error`` (one line; ``traceback`` has the rest) has no evidence: it crashed, and
    so does its row. How cells decide a row: ``dpaudit.core.row_verdicts``.
    """

    name: str
    claim: Claim
    evidence: Sequence[Evidence]
    expect: str = "verified"
    notes: Sequence[str] = ()
    unmet: Sequence[str] = ()
    samples: int = 0
    deciding: bool = True
    error: str = ""
    traceback: str = ""

    def __post_init__(self) -> None:
        name = self.name
        plain = isinstance(name, str) and name.isprintable() and name == " ".join(name.split())
        if not plain or not 0 < len(name) <= MAX_NAME:
            raise InvalidParameterError(
                f"a cell's name must be 1 to {MAX_NAME} printable characters without spaces to spare, got "
                f"{str(name)[:60]!r}; rename the cell."
            )
        strange = next((character for character in name if not _is_clear(character)), None)
        if strange is not None:
            raise InvalidParameterError(
                "a cell's name must be in Latin and Greek letters, digits 0 to 9 and signs, got "
                f"{strange!a} in {name[:60]!a}, which may look like another or like nothing; rename the cell."
            )
        if not isinstance(self.claim, Claim) or isinstance(self.claim, Controls | Unbuilt):
            raise InvalidParameterError(
                f"the cell {name!r} must have a claim about its own setting, got "
                f"{type(self.claim).__name__}; pass PureDP(...) or another."
            )
        if self.expect not in EXPECTATIONS:
            raise InvalidParameterError(
                f"the cell {name!r} must expect one of {EXPECTATIONS}, got {self.expect!r}; correct it."
            )
        if self.error and (self.evidence or not isinstance(self.error, str)):
            raise InvalidParameterError(
                f"the cell {name!r} crashed, so it must have its error in words and no evidence, got "
                f"{len(self.evidence)} pieces and {str(self.error)[:60]!r}; leave one of them out."
            )


@dataclass(frozen=True)
class Outcome:
    """What a row function found. ``plots`` are plain-data series that the report draws; ``unmet`` are
    reasons why a certificate does not verify the claim of this program; ``cells`` are the settings that the
    row's claim was looked at in, each with a verdict of its own.

    ``evidence`` holds every estimate that was made, not the best ones: they share the row's error level with
    those of the cells, so each of k is stated at confidence ``1 - run.alpha / k``
    (``dpaudit.core.verdicts.only_describing``).
    """

    evidence: Sequence[Evidence]
    notes: Sequence[str] = ()
    unmet: Sequence[str] = ()
    plots: Sequence[dict[str, Any]] = ()
    samples: int = 0
    cells: Sequence[Cell] = ()

    def as_cells(self, name: str, *, claim: Claim, expect: str) -> list[Cell]:
        """The same as a deciding cell of a larger row, with its own cells under it: ``name: theirs``."""
        whole = Cell(
            name=name,
            claim=claim,
            evidence=self.evidence,
            expect=expect,
            notes=self.notes,
            unmet=self.unmet,
            samples=self.samples,
        )
        return [whole, *(replace(cell, name=f"{name}: {cell.name}") for cell in self.cells)]


def _is_clear(character: str) -> bool:
    """Whether a reader sees the character and takes it for no other: a letter of another script, a digit of
    one, or a mark that changes nothing on the page may look like what another name has."""
    kind = unicodedata.category(character)
    if kind.startswith("L"):
        return unicodedata.name(character, "").startswith(CLEAR_LETTERS)
    if kind.startswith("M"):
        return "\u0300" <= character <= "\u036f" and character != "\u034f"  # the last is invisible
    return character.isascii() or kind != "Nd"


RowFunction = Callable[[Run], Outcome]

#: The lists that rows and groups enter as they are made.
_records: list[list[Row | Group]] = []


@contextmanager
def recording() -> Iterator[list[Row | Group]]:
    """Yield a list that gets every row and every group, suites too, made within the block.

    A suite is served by its name in a module: what was declared beside it can be found only this way.
    """
    made: list[Row | Group] = []
    _records.append(made)
    try:
        yield made
    finally:
        _records[:] = [other for other in _records if other is not made]


def _record(item: Row | Group) -> None:
    for made in _records:
        made.append(item)


@dataclass(frozen=True)
class Row:
    """One claim and how to gather evidence on it.

    ``expect`` is the verdict that the suite's author expects (``verified``, ``consistent``, ``refuted``,
    ``inconclusive``), ``weight`` the row's share of the run's error level, ``fingerprint`` (for programs) a
    function of a seed whose value must not depend on the process, ``role`` what the claim is to the paper.
    ``repairs`` names the rows that a repair mends; without it that is ``ID`` for an id that begins with
    ``ID/repaired``. ``location`` is the file and the line where the row is declared; it is found where it is
    not given.
    """

    id: str
    title: str
    kind: str
    claim: Claim
    evaluate: RowFunction
    expect: str = "verified"
    view: str = ""
    weight: float = 1.0
    fingerprint: Callable[[int], str] | None = None
    source: str = ""
    role: Role = "printed"
    repairs: str | Sequence[str] = ()
    location: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.location is None:
            object.__setattr__(self, "location", _place_of_call())
        named = (self.repairs,) if isinstance(self.repairs, str) else tuple(self.repairs)
        object.__setattr__(self, "repairs", named)
        if named and self.role != "repaired":
            raise InvalidParameterError(
                f"{self.id}: only a row with the role 'repaired' mends another one, got {self.role!r} for "
                f"repairs={named}; give it that role, or leave repairs out."
            )
        if self.role not in ROLES:
            raise InvalidParameterError(
                f"{self.id}: role must be one of {ROLES}, got {self.role!r}; correct the row."
            )
        if isinstance(self.claim, Controls) and self.role != "control":
            raise InvalidParameterError(
                f"{self.id}: a claim about controls must have the role 'control', got {self.role!r}; "
                "give it that role, or claim what the paper states."
            )
        if self.kind not in KINDS:
            raise InvalidParameterError(
                f"{self.id}: kind must be one of {KINDS}, got {self.kind!r}; correct the row."
            )
        if (self.kind == "privacy") != isinstance(self.claim, PrivacyClaim):
            raise InvalidParameterError(
                f"{self.id}: a privacy claim, and no other, must have the kind 'privacy', got {self.kind!r} "
                f"for {self.claim.type!r}; choose 'structure' for a statement about privacy that is none."
            )
        if self.expect not in EXPECTATIONS:
            raise InvalidParameterError(
                f"{self.id}: expect must be one of {EXPECTATIONS}, got {self.expect!r}; correct the row."
            )
        _record(self)


def _place_of_call() -> tuple[str, int] | None:
    """File and line of the nearest caller outside the harness: for a decorated function its decorator."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        is_harness_file(frame.f_code.co_filename) or frame.f_code.co_filename.startswith("<")
    ):
        frame = frame.f_back  # "<string>" is the __init__ that dataclass has made
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _with_clean_state(row: Row) -> RowFunction:
    """The row's function; a privacy row with a certificate that runs no program says so."""
    evaluate = row.evaluate

    @wraps(evaluate)
    def sober(run: Run) -> Outcome:
        outcome = evaluate(run)
        if not isinstance(outcome, Outcome):
            return outcome  # refused where it is judged
        notes = list(outcome.notes)
        parts: list[Outcome | Cell] = [outcome]
        parts += [cell for cell in outcome.cells if isinstance(cell, Cell)]
        certified = any(isinstance(item, Certificate) for part in parts for item in part.evidence)
        if (
            row.kind == "privacy"
            and certified
            and row.fingerprint is None
            and not any(part.samples for part in parts)
        ):
            notes.append("no program is run here: the certificate speaks about a mechanism")
        return replace(outcome, notes=notes)

    return sober


@dataclass
class Group:
    """Rows that belong together, such as a lemma's or a page's; a suite is made of groups.

    ``title`` heads the group; ``kind`` is that of its inequalities; ``questions`` are about mechanisms'
    noise, ``unchecked`` the claims that no computation can check.
    """

    title: str = ""
    rows: list[Row] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unchecked: list[tuple[str, str]] = field(default_factory=list)
    kind: str = field(default="structure", kw_only=True)
    #: The file and the line where the group is made.
    location: tuple[str, int] | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.location = _place_of_call()
        _record(self)

    def add(self, row: Row) -> Row:
        """Add a row; its id must be new."""
        row = replace(row, evaluate=_with_clean_state(row))
        self._take(row)
        return row

    def row(
        self, id: str, *, title: str, kind: str, claim: Claim, **options: Any
    ) -> Callable[[RowFunction], RowFunction]:
        """Decorator: add a row whose evidence the decorated function gathers."""

        def decorate(function: RowFunction) -> RowFunction:
            self.add(Row(id=id, title=title, kind=kind, claim=claim, evaluate=function, **options))
            return function

        return decorate

    def calibrate(self, question: Question) -> None:
        """Add a mechanism whose noise ``dpaudit calibrate`` holds against its claim; its id must be new."""
        if any(question.id == other.id for other in self.questions):
            raise InvalidParameterError(
                f"a question's id must be unique in its suite, got {question.id!r} twice; add a suffix."
            )
        self.questions.append(question)

    def not_checkable(self, id: str, *, reason: str) -> None:
        """List a claim that no computation can check, with the reason."""
        self.unchecked.append((id, reason))

    def include(self, *groups: Group) -> None:
        """Add everything that ``groups`` hold, in order."""
        for group in groups:
            for row in group.rows:
                self._take(row)
            for question in group.questions:
                self.calibrate(question)
            self.unchecked.extend(group.unchecked)

    def _take(self, row: Row) -> None:
        if any(row.id == other.id for other in self.rows):
            raise InvalidParameterError(
                f"a row's id must be unique in its suite, got {row.id!r} twice; add a suffix."
            )
        self.rows.append(row)


@dataclass(kw_only=True)
class Suite(Group):
    """The claims of one paper, or of one repository. ``symbols`` are the paper's letters and words that
    titles use, each with a short line on what it stands for; the page and ``dpaudit explain`` show them."""

    paper: str
    reference: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict)
