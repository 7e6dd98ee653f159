"""Suites: lists of rows, each of which is a claim with a function that collects evidence.

A suite file defines one module-level ``suite = Suite(...)``. Add rows with the decorator ``suite.row``, or
with helpers that build rows from a program and its neighbours (``dpaudit.replay.privacy``). A row function
receives a ``Run`` and returns an ``Outcome``. dpaudit computes the verdict from it.
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

#: The relation of a row's claim to the paper: a printed claim under its own conditions, a printed step of a
#: proof, a repair, a tighter claim, a setting outside the stated conditions, or a control of dpaudit itself.
Role = Literal["printed", "step", "repaired", "sharper", "what-if", "control"]
ROLES: tuple[Role, ...] = get_args(Role)

EXPECTATIONS = ("verified", "consistent", "refuted", "inconclusive")

#: The largest number of characters in a cell's name.
MAX_NAME = 200

#: Prefixes of the Unicode names of the letters that a cell's name may contain.
CLEAR_LETTERS = ("LATIN ", "GREEK ", "MICRO SIGN", "SCRIPT ", "MODIFIER LETTER ", "DOUBLE-STRUCK ")


@dataclass(frozen=True)
class Run:
    """The settings of a run that a row function may use.

    Parameters
    ----------
    profile : "quick", "full" or "paper"
        The profile of the run.
    alpha : float
        The row's share of the significance level.
    seed : int
        The seed of the run.
    row_id : str
        The id of the row.
    """

    profile: Profile
    alpha: float
    seed: int
    row_id: str

    def seed_sequence(self, purpose: str = "") -> np.random.SeedSequence:
        """Return a seed sequence that depends only on the run's seed, the row and ``purpose``."""
        return np.random.SeedSequence(
            [self.seed, zlib.crc32(self.row_id.encode()), zlib.crc32(purpose.encode())]
        )

    def rng(self, purpose: str = "") -> np.random.Generator:
        """Return a separate generator for one purpose."""
        return np.random.default_rng(self.seed_sequence(purpose))

    def choose(self, *, quick: Any, full: Any, paper: Any = None) -> Any:
        """Return the setting for this profile. ``paper`` defaults to ``full``."""
        if self.profile == "quick":
            return quick
        return full if self.profile == "full" or paper is None else paper


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One setting or part of a row: a claim with its evidence.

    ``dpaudit.core.row_verdicts`` documents how cells decide a row.

    Parameters
    ----------
    name : str
        The name in the row's table, unique in the row: 1 to 200 printable characters, Latin or Greek letters.
    claim : Claim
        The claim of the cell.
    evidence : sequence of evidence
        The evidence on this claim. It is empty if the cell has an error.
    expect : str
        The expected verdict ("verified").
    notes, unmet : sequence of str
        Notes, and unmet conditions that keep a certificate from verifying the claim.
    samples : int
        The number of samples. 0 means that they are counted from the evidence.
    deciding : bool
        Whether the cell counts for the row's verdict (True).
    error, traceback : str
        One line of error message and the traceback, if the cell crashed. Its row then crashes too.

    Raises
    ------
    InvalidParameterError
        The name, the claim or ``expect`` is not allowed, or there are both an error and evidence.
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
                f"a cell's name must be 1 to {MAX_NAME} printable characters without superfluous spaces, got "
                f"{str(name)[:60]!r}.",
                code="E-CELL-NAME",
            )
        strange = next((character for character in name if not _is_clear(character)), None)
        if strange is not None:
            raise InvalidParameterError(
                "a cell's name must consist of Latin and Greek letters, digits 0 to 9 and signs, got "
                f"{strange!a} in {name[:60]!a}, which may be invisible or look like another character.",
                code="E-CELL-NAME",
            )
        if not isinstance(self.claim, Claim) or isinstance(self.claim, Controls | Unbuilt):
            raise InvalidParameterError(
                f"the cell {name!r} must have a claim such as PureDP(...) about its own setting, got "
                f"{type(self.claim).__name__}.",
                code="E-CELL-CLAIM",
            )
        if self.expect not in EXPECTATIONS:
            raise InvalidParameterError(
                f"the cell {name!r} must expect one of {EXPECTATIONS}, got {self.expect!r}.",
                code="E-EXPECT-UNKNOWN",
            )
        if self.error and (self.evidence or not isinstance(self.error, str)):
            raise InvalidParameterError(
                f"the cell {name!r} crashed, so it must have its error as a string and no evidence, got "
                f"{len(self.evidence)} pieces of evidence and {str(self.error)[:60]!r}.",
                code="E-CELL-ERROR",
            )


@dataclass(frozen=True)
class Outcome:
    """The result of a row function.

    Parameters
    ----------
    evidence : sequence of evidence
        All evidence. Include every estimate that was made, not only the best ones: the estimates of the row
        and of its cells share the row's significance level, so state each of k at confidence
        ``1 - run.alpha / k`` (``dpaudit.core.verdicts.only_describing``).
    notes : sequence of str
        Notes for the report.
    unmet : sequence of str
        Unmet conditions: reasons why a certificate does not verify the claim about this program.
    plots : sequence of dict
        Plain data of plots (``dpaudit.core.plots``).
    samples : int
        The number of samples. 0 means that they are counted from the evidence.
    cells : sequence of Cell
        The settings in which the row's claim was examined, each with its own verdict.
    """

    evidence: Sequence[Evidence]
    notes: Sequence[str] = ()
    unmet: Sequence[str] = ()
    plots: Sequence[dict[str, Any]] = ()
    samples: int = 0
    cells: Sequence[Cell] = ()

    def as_cells(self, name: str, *, claim: Claim, expect: str) -> list[Cell]:
        """Return this outcome as a deciding cell of a larger row, with its cells renamed ``name: cell``."""
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
    """Return whether a character is visible and cannot be mistaken for another.

    Letters and digits of other scripts may look like those of another name. Some marks are invisible.
    """
    kind = unicodedata.category(character)
    if kind.startswith("L"):
        return unicodedata.name(character, "").startswith(CLEAR_LETTERS)
    if kind.startswith("M"):
        return "\u0300" <= character <= "\u036f" and character != "\u034f"  # the last is invisible
    return character.isascii() or kind != "Nd"


RowFunction = Callable[[Run], Outcome]

#: The lists to which new rows and groups are added.
_records: list[list[Row | Group]] = []


@contextmanager
def recording() -> Iterator[list[Row | Group]]:
    """Yield a list that receives every row, group and suite made within the block.

    A suite is found by its name in a module. Rows and groups outside it can be found only by recording.
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
    """One claim and a function that collects evidence on it.

    Parameters
    ----------
    id, title : str
        The id, unique in the run, and the title.
    kind : str
        One of ``KINDS``. "privacy" is required for privacy claims, and for no others.
    claim : Claim
        The claim.
    evaluate : callable
        ``evaluate(run)`` returns an ``Outcome``.
    expect : str
        The verdict that the author expects: "verified", "consistent", "refuted" or "inconclusive".
    view : str
        The view as the report prints it.
    weight : float
        The row's share of the run's significance level, relative to the other rows (1).
    fingerprint : callable, optional
        For programs, a function from a seed to a string that must not depend on the process.
    source : str
        The source code that the report shows.
    role : str
        The relation of the claim to the paper, one of ``ROLES``.
    repairs : str or sequence of str
        The ids of the rows that a repair corrects. Default: ``ID`` for an id that begins with
        ``ID/repaired``.
    location : tuple of (str, int), optional
        The file and line of the declaration. Default: the line that makes the row.

    Raises
    ------
    InvalidParameterError
        A field has an unknown value, or ``kind``, ``role``, ``repairs`` and ``claim`` do not fit together.
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
                f"{self.id}: a row with repairs={named} must have the role 'repaired', got {self.role!r}.",
                code="E-ROW-REPAIRS",
            )
        if self.role not in ROLES:
            raise InvalidParameterError(
                f"{self.id}: role must be one of {ROLES}, got {self.role!r}.", code="E-ROLE-UNKNOWN"
            )
        if isinstance(self.claim, Controls) and self.role != "control":
            raise InvalidParameterError(
                f"{self.id}: a Controls claim must have the role 'control', got {self.role!r}.",
                code="E-CONTROLS-ROLE",
            )
        if self.kind not in KINDS:
            raise InvalidParameterError(
                f"{self.id}: kind must be one of {KINDS}, got {self.kind!r}.", code="E-KIND-UNKNOWN"
            )
        if (self.kind == "privacy") != isinstance(self.claim, PrivacyClaim):
            raise InvalidParameterError(
                f"{self.id}: a privacy claim, and no other, must have the kind 'privacy', got {self.kind!r} "
                f"for {self.claim.type!r}. Use 'structure' for other statements about privacy.",
                code="E-ROW-KIND",
            )
        if self.expect not in EXPECTATIONS:
            raise InvalidParameterError(
                f"{self.id}: expect must be one of {EXPECTATIONS}, got {self.expect!r}.",
                code="E-EXPECT-UNKNOWN",
            )
        _record(self)


def _place_of_call() -> tuple[str, int] | None:
    """Return file and line of the nearest caller outside dpaudit: the decorator of a decorated function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (
        is_harness_file(frame.f_code.co_filename) or frame.f_code.co_filename.startswith("<")
    ):
        frame = frame.f_back  # "<string>" is the __init__ that dataclass generates
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _noting_unrun_programs(row: Row) -> RowFunction:
    """Return the row's function. It adds a note if a privacy row with a certificate runs no program."""
    evaluate = row.evaluate

    @wraps(evaluate)
    def evaluate_with_note(run: Run) -> Outcome:
        outcome = evaluate(run)
        if not isinstance(outcome, Outcome):
            return outcome  # finding_of refuses it
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
            notes.append("this row runs no program: its certificate is about a mechanism")
        return replace(outcome, notes=notes)

    return evaluate_with_note


@dataclass
class Group:
    """A group of rows, such as the rows of a lemma or a page. A suite includes groups.

    Parameters
    ----------
    title : str
        The title of the group.
    rows, questions : list
        The rows, and the questions about the noise of mechanisms.
    unchecked : list of (str, str)
        The id of each claim that no computation can check, and the reason.
    kind : str
        The kind of the group's inequalities ("structure").
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
        """Add a row and return it. Raises ``InvalidParameterError`` if its id is already used."""
        row = replace(row, evaluate=_noting_unrun_programs(row))
        self._append(row)
        return row

    def row(
        self, id: str, *, title: str, kind: str, claim: Claim, **options: Any
    ) -> Callable[[RowFunction], RowFunction]:
        """Return a decorator that adds a row whose evidence the decorated function collects."""

        def decorate(function: RowFunction) -> RowFunction:
            self.add(Row(id=id, title=title, kind=kind, claim=claim, evaluate=function, **options))
            return function

        return decorate

    def calibrate(self, question: Question) -> None:
        """Add a question for ``dpaudit calibrate``: whether a mechanism has enough noise for its claim.

        Raises ``InvalidParameterError`` if its id is already used.
        """
        if any(question.id == other.id for other in self.questions):
            raise InvalidParameterError(
                f"a question's id must be unique in its suite, got {question.id!r} twice.",
                code="E-QUESTION-TWICE",
            )
        self.questions.append(question)

    def not_checkable(self, id: str, *, reason: str) -> None:
        """Add a claim that no computation can check, with the reason."""
        self.unchecked.append((id, reason))

    def include(self, *groups: Group) -> None:
        """Add all rows, questions and unchecked claims of ``groups``, in order."""
        for group in groups:
            for row in group.rows:
                self._append(row)
            for question in group.questions:
                self.calibrate(question)
            self.unchecked.extend(group.unchecked)

    def _append(self, row: Row) -> None:
        if any(row.id == other.id for other in self.rows):
            raise InvalidParameterError(
                f"a row's id must be unique in its suite, got {row.id!r} twice.", code="E-ROW-TWICE"
            )
        self.rows.append(row)


@dataclass(kw_only=True)
class Suite(Group):
    """The rows about one project, or about one paper.

    Parameters
    ----------
    name : str
        The short name of the project.
    paper, reference : str
        The short name of a paper, instead of ``name``, and its full reference.
    symbols : mapping of str to str
        The letters and terms that titles use, with their meaning. The HTML report and ``dpaudit explain``
        show them.

    Raises
    ------
    InvalidParameterError
        Neither ``name`` nor ``paper`` is given, or both.
    """

    name: str = ""
    paper: str = ""
    reference: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.name) == bool(self.paper):
            raise InvalidParameterError(
                "a suite must have either a name or a paper, got "
                f"name={self.name!r} and paper={self.paper!r}.",
                code="E-SUITE-NAME",
            )

    @property
    def short(self) -> str:
        """Return the short name of the project or paper."""
        return self.name or self.paper
