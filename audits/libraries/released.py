"""Rows about a package that somebody may have installed.

    @released(rows, "eeprivacy/sum", package="eeprivacy", version="0.0.5", claim=CLAIM)
    def clamped_sum():
        \"\"\"PrivateClampedSum is ε-DP when a record is replaced, ε = 1\"\"\"
        ...
        return mechanism, pairs

The function imports the package and returns a mechanism with pairs, or what an adapter made. The row runs
``check`` on it. Runs never verify, so what is right comes out inconclusive. A refutation needs two routes:
the runs of the installed package, and ``second``, a witness computed from the formula that its source has; it
enters the row only where the runs refute as well. A package that is missing, or whose source was
read in another version, is listed with its rows as not looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import CertificateError, InvalidParameterError, NotAuditedError
from dpaudit.core.suite import Group, Outcome, Role, Row, Run
from dpaudit.suite.words import Words, words_of

if TYPE_CHECKING:  # a suite whose packages are missing must load at once
    from dpaudit.blackbox.adapters import Adapted
    from dpaudit.core.evidence import Witness

__all__ = ["ENTRIES", "Entry", "released", "seeding", "skipped"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Runs of a mechanism in a quick run, and in a full one.
RUNS = (4_000, 40_000)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A row that is there wherever its package is: what a page about all of them is held against."""

    id: str
    package: str
    version: str
    title: str
    role: Role
    claim: PrivacyClaim
    second: Callable[[PrivacyClaim], Witness] | None

    @property
    def expect(self) -> str:
        """The verdict to be expected: refuted where there is a second route to it."""
        return "refuted" if self.second else "inconclusive"


#: All rows of all packages, installed or not, in the order of the suite's files.
ENTRIES: dict[str, Entry] = {}

#: Package -> reason -> the rows that are left out.
_SKIPPED: dict[str, dict[str, list[str]]] = {}


def released(
    rows: Group,
    id: str,
    *,
    package: str,
    version: str,
    claim: PrivacyClaim,
    second: Callable[[PrivacyClaim], Witness] | None = None,
    role: Role = "printed",
    runs: tuple[int, int] = RUNS,
    needs: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Callable[[Function], Function]:
    """Decorator: add the row ``LIB/id`` about ``package``, which was read in ``version``.

    With ``second`` the row is expected to be refuted, without it to stay open. ``runs``: of a quick and of a
    full run. ``needs``: modules that the package imports and does not install. ``options`` go to the
    function, and fill ``{name}`` in its docstring, which holds title, text and notes.
    """

    def decorate(function: Function) -> Function:
        fixed = dict(options or {})
        words = words_of(function, fixed, id=f"LIB/{id}")
        entry = Entry(
            id=f"LIB/{id}",
            package=package,
            version=version,
            title=words.title,
            role=role,
            claim=claim,
            second=second,
        )
        ENTRIES[entry.id] = entry
        found = _installed(package)
        missing = _missing(entry, found, needs)
        if missing:
            _SKIPPED.setdefault(package, {}).setdefault(missing, []).append(id.split("/", 1)[1])
        else:
            rows.add(_row(entry, partial(function, **fixed), words, found, runs))
        return function

    return decorate


def _row(entry: Entry, made: Callable[[], Any], words: Words, found: str, runs: tuple[int, int]) -> Row:
    """The row of an entry whose package is there, in the version ``found``."""
    notes = list(words.notes)
    if found != entry.version:
        notes.append(f"the row was written for version {entry.version}")

    def evaluate(run: Run) -> Outcome:
        return _outcome(made(), entry, run, runs, notes)

    evaluate.__doc__ = _about(words)
    return Row(
        id=entry.id,
        title=f"{entry.package} {found}: {entry.title}",
        kind="privacy",
        claim=entry.claim,
        evaluate=evaluate,
        expect=entry.expect,
        view=str(entry.claim.view),
        source=f"{entry.package} {entry.version}",
        role=entry.role,
    )


def skipped() -> list[tuple[str, str]]:
    """Each package with rows that cannot be run here, with the reasons and the names of the rows."""
    return [
        (package, "; ".join(f"{why}: {', '.join(names)}" for why, names in reasons.items()))
        for package, reasons in _SKIPPED.items()
    ]


def seeding(function: Callable[[Any], Any]) -> Callable[[Any, np.random.Generator], Any]:
    """A function of the data that draws from numpy's global generator or from ``random``, both seeded in each
    call by the generator that the call is given."""

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        seed = int(rng.integers(2**32))
        np.random.seed(seed)  # noqa: NPY002 (what the packages draw from)
        random.seed(seed)
        return function(data)

    return mechanism


def _installed(package: str) -> str:
    """The installed version, empty for none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _missing(entry: Entry, found: str, needs: Sequence[str]) -> str:
    """Why the row cannot be run here, in words; empty where it can. A second route is a formula that was read
    in one version: of another one nothing is known, so that a refutation would have no second route there."""
    package = entry.package
    if not found:
        return f"{package} is not installed (pip install {package})"
    if entry.second is not None and found != entry.version:
        return f"{package} {found} is installed, and the source was read in {entry.version}"
    absent = [name for name in needs if find_spec(name) is None]
    return f"{package} needs {' and '.join(absent)}, which it does not install" if absent else ""


def _about(words: Words) -> str:
    how = "The installed package is run on neighbouring inputs (check); its formula is the second route."
    return how if words.about == words.title else f"{words.about}\n\n{how}"


def _outcome(given: Any, entry: Entry, run: Run, runs: tuple[int, int], notes: Sequence[str]) -> Outcome:
    from dpaudit.blackbox.check import check

    claim, second = entry.claim, entry.second
    mechanism, pairs, said = _read(given, claim)
    result = check(
        mechanism,
        claim,
        neighbours=pairs,
        alpha=run.alpha,
        seed=int(run.seed_sequence().generate_state(1)[0]),
        max_samples=run.choose(quick=runs[0], full=runs[1]),
        record_draws=False,
    )
    notes = [*notes, *said, *(note for note in result.notes if note.startswith("not reproducible"))]
    if result.not_audited:  # `inconclusive` is what a right mechanism is expected to be: this must not pass
        raise NotAuditedError(str(result))
    if result.verdict != "refuted":
        withheld = ["the second route is withheld: the runs do not refute the claim"] if second else []
        return Outcome([result.evidence], [*notes, *withheld])
    notes.append(f"the runs refute it, most by the event {result.event}")
    if second is None:
        return Outcome([result.evidence], [*notes, "no second route confirms it: look at the mechanism"])
    return Outcome([result.evidence, _confirming(second, claim)], notes)


def _confirming(second: Callable[[PrivacyClaim], Witness], claim: PrivacyClaim) -> Witness:
    witness = second(claim)
    if witness.bound is not None and claim.bound is not None and witness.bound <= claim.bound:
        raise CertificateError(
            f"the second route must be above the claim, {float(claim.bound):g}, got "
            f"{float(witness.bound):g}; compare the formula with the installed source."
        )
    return witness


def _read(given: Any, claim: PrivacyClaim) -> tuple[Any, Sequence[Any], Sequence[str]]:
    """Mechanism, pairs and notes; what an adapter read from the object must be the row's claim."""
    if isinstance(given, tuple):
        mechanism, pairs = given
        return mechanism, pairs, ()
    adapted: Adapted = given
    own = adapted.claim
    if (own.type, own.bound, own.adjacency) != (claim.type, claim.bound, claim.adjacency):
        raise InvalidParameterError(
            f"the object must claim what its row does, {claim.in_words()}, got {own.in_words()}; correct the "
            "row."
        )
    return adapted.mechanism, adapted.neighbours, adapted.notes
