"""Compute evidence from small programs by enumeration: the exact distribution of what a view sees.

    @evidence(rows, "winner", "my own", claim=PureDP(epsilon=1, domain=str(BITS)))
    def winner(run: Run) -> list[Evidence]:
        \"\"\"The noisy winner of three bits is ε-DP\"\"\"
        return enumerated(CLAIM, program, over=BITS)(run)

with ``BITS = DataSets(records=3, values=(0, 1))``. In a ``PrivacyAudit``: ``more=enumerated(CLAIM, program,
over=BITS)``.

Lower bounds are exact: the pair with the largest bound is a witness (``dpaudit.certify.witnesses.tables``).
An upper bound is exact for the program on the enumerated datasets, and for no other data. There is an upper
bound only if these are all the datasets of the claim, which its ``domain`` must describe by the same text. It
is accounted, because an assumption says that the tables are the program's (rule ``enumerated`` of the
kernel).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.certify.proof import certify
from dpaudit.certify.tables import enumerated_tables, enumerated_weights
from dpaudit.certify.witnesses.tables import Interval, Outcome, tables_witness
from dpaudit.coins import Program, ViewDistribution, enumerate_view
from dpaudit.coins.outside import noting_outside
from dpaudit.coins.transcript import same_shown, to_the_last_bit
from dpaudit.core.claims import Adversary, ApproxDP, Model, PrivacyClaim, Unit
from dpaudit.core.errors import CertificateError, InvalidParameterError, MechanismError
from dpaudit.core.evidence import Certificate, Evidence, Witness
from dpaudit.core.exact import decode_value, encode_value, exact
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.views import CHANGED_USER, View
from dpaudit.kernel.ball import arb, lower_short, precision, upper_exact, upper_short
from dpaudit.kernel.t1.exponentials import ExpSum
from dpaudit.replay.changed_users import view_of
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import require_finite
from dpaudit.replay.input_order import DIFFERS, backwards, each_input

__all__ = ["Enumeration", "Pairs", "enumerated", "tables_of"]

#: A suite's pairs, as in the ``neighbours`` of a ``PrivacyAudit``.
Pairs = Callable[[Run], Sequence[Neighbours]]

#: Working precision of an enumeration. Probabilities are written with fewer bits.
BITS = 192
#: Largest number of outcomes in a witness. More are merged.
SHOWN = 200
#: Orders of which the best becomes the order of a zCDP witness.
ORDERS = tuple(Fraction(n, 4) for n in (5, 6, 8, 12, 16, 32, 64, 128, 256))


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """A program to enumerate in a claim's view. Calling it with a run returns the evidence."""

    claim: PrivacyClaim
    program: Program
    over: DataSets | Pairs
    tail: float = 0.0

    def __call__(self, run: Run) -> list[Evidence]:
        with precision(BITS):
            if isinstance(self.over, DataSets):
                return _on_all(self.claim, self.program, self.over, self.tail)
            pairs = list(self.over(run))
            return [_worst(self.claim, pairs, _of_pairs(self.claim, self.program, pairs, self.tail))]

    def fingerprint(self, seed: int) -> str:
        """Return a digest of all tables, for the ``fingerprint`` of a row.

        It must be the same in every process and for every order of the inputs. Each table is enumerated once,
        because comparing digests compares runs.
        """
        run = Run(profile="quick", alpha=0.05, seed=seed, row_id="")
        with precision(BITS):
            if isinstance(self.over, DataSets):
                inputs = list(self.over.listed())
            else:
                view = self.claim.view
                sides = [(view, data) for pair in self.over(run) for data in _sides(pair)]
                inputs = [data for _, data in _distinct(sides)[0]]
            with noting_outside() as outside:
                distributions = each_input(inputs, self._distribution)
            return _digest(distributions) + "".join(outside)

    def _distribution(self, data: Any) -> ViewDistribution:
        return enumerate_view(self.program, data, view=self.claim.view, tail=self.tail)


def enumerated(
    claim: PrivacyClaim, program: Program, *, over: DataSets | Pairs, tail: float = 0.0
) -> Enumeration:
    """Return a function of the run that computes evidence on ``claim`` by enumerating ``program``.

    The evidence is a witness for the worst pair. There is also a certificate if ``over`` is a ``DataSets``
    whose text is the claim's ``domain``, everybody takes part, and the data are fixed in advance. If there is
    no certificate, the description of the witness says why.

    Parameters
    ----------
    claim : PrivacyClaim
        A claim about the ideal model. Its view is enumerated.
    program : callable
        ``program(coins, data)`` with few paths.
    over : DataSets or callable
        The datasets whose pairs are all enumerated, or a function of the run that returns pairs.
    tail : float
        The mass that each distribution may leave out (0). It is required for distributions with infinitely
        many outcomes, and allows a witness only.

    Raises
    ------
    InvalidParameterError
        The claim is about a float program, or there is no pair.
    NotTractableError
        When run: a distribution has a density, or there are too many paths.
    MechanismError
        When run: the program does something else when it is run again.
    """
    if claim.model is not Model.IDEAL:
        raise InvalidParameterError(
            "enumerated requires a claim about ideal distributions (model='ideal'), got one about a float "
            "program.",
            code="E-CLAIM-NOT-IDEAL",
        )
    return Enumeration(claim=claim, program=program, over=over, tail=tail)


def tables_of(
    program: Program, data: Any, claim: PrivacyClaim, *, view: View | None = None, tail: float = 0.0
) -> ViewDistribution:
    """Return the distribution of what ``view`` (default: the claim's) sees on ``data``.

    Raises ``MechanismError`` for a program that does not repeat itself, because tables omit what it draws
    outside the coins.
    """
    seen = claim.view if view is None else view
    distribution, again = (enumerate_view(program, data, view=seen, tail=tail) for _ in range(2))
    same = distribution.probabilities.keys() == again.probabilities.keys() and all(
        p.overlaps(again.probabilities[key]) for key, p in distribution.probabilities.items()
    )
    if not same:
        raise MechanismError(
            "the program gave another distribution when it was enumerated again. Draw all randomness from "
            "the coins, and keep no state between runs.",
            code="E-MECHANISM-STATE",
        )
    return distribution


def _of_pairs(
    claim: PrivacyClaim, program: Program, pairs: Sequence[Neighbours], tail: float
) -> list[tuple[ViewDistribution, ViewDistribution]]:
    """Return both distributions of each pair, in the view of that pair."""

    for pair in pairs:
        require_finite(pair)
    views = [view_of(pair, claim.view) for pair in pairs]
    sides = [(view, data) for view, pair in zip(views, pairs, strict=True) for data in _sides(pair)]
    distinct, places = _distinct(sides)
    distributions = _agreed(claim, program, distinct, tail)
    found = [distributions[place] for place in places]
    return list(zip(found[::2], found[1::2], strict=True))


def _agreed(
    claim: PrivacyClaim, program: Program, seen: Sequence[tuple[View, Any]], tail: float
) -> list[ViewDistribution]:
    """Return the distribution of what each view sees on each input.

    Raises ``MechanismError`` if a copy of this process finds others when it takes the inputs in reverse
    order.
    """

    def again() -> str:
        return _digest(each_input(seen, lambda one: enumerate_view(program, one[1], view=one[0], tail=tail)))

    with backwards(again) as copies:
        distributions = [tables_of(program, data, claim, view=view, tail=tail) for view, data in seen]
        answers = copies.answers()
    if answers is not None and answers != [_digest(distributions)]:
        raise MechanismError(DIFFERS, code="E-MECHANISM-STATE")
    return distributions


def _digest(distributions: Sequence[ViewDistribution]) -> str:
    """Return a digest of tables, in their order."""
    digest = hashlib.sha256()
    for distribution in distributions:
        table = {key: [str(end) for end in _interval(p)] for key, p in distribution.probabilities.items()}
        digest.update(json.dumps(table, sort_keys=True).encode())
    return digest.hexdigest()


def _distinct(sides: Sequence[tuple[View, Any]]) -> tuple[list[tuple[View, Any]], list[int]]:
    """Return the sides without repeats (pairs share inputs), and the index of each side among them."""
    found: list[tuple[View, Any]] = []
    places = []
    for view, data in sides:
        same = (k for k, (seen, other) in enumerate(found) if seen == view and same_shown(other, data))
        place = next(same, len(found))
        if place == len(found):
            found.append((view, data))
        places.append(place)
    return found, places


def _sides(pair: Neighbours) -> tuple[Any, Any]:
    return pair.left, pair.right


def _on_all(claim: PrivacyClaim, program: Program, over: DataSets, tail: float) -> list[Evidence]:
    """Return the witness of the worst pair, and the certificate of all pairs if there is one."""
    of = _changing(claim)
    places, pairs = over.neighbours(claim.adjacency, of=of), over.pairs(claim.adjacency, of=of)
    if CHANGED_USER in claim.view.principals:
        witness = _worst(claim, pairs, _of_pairs(claim, program, pairs, tail))
        why_not = "each pair has its own view; claim it for one user at a time"
        return [replace(witness, description=f"{witness.description}; a lower bound only: {why_not}")]
    with noting_outside() as outside:
        distributions = _agreed(claim, program, [(claim.view, data) for data in over.listed()], tail)
    witness = _worst(claim, pairs, [(distributions[i], distributions[j]) for i, j in places])
    why_not = _beyond(claim, over, tail)
    if outside:
        why_not = f"the program {', '.join([*outside][:3])}, and a later run may read what it left there"
    if not why_not:
        try:
            return [_certificate(claim, over, distributions, places), witness]
        except CertificateError as error:
            why_not = str(error)
    return [replace(witness, description=f"{witness.description}; a lower bound only: {why_not}")]


def _beyond(claim: PrivacyClaim, over: DataSets, tail: float) -> str:
    """Return why the claim covers more than what was enumerated, or "" if it does not."""
    if claim.domain != str(over):
        return f"the claim's domain is not {str(over)!r}"
    if claim.adversary is not Adversary.OBLIVIOUS:
        return "the data of an adaptive adversary are not fixed in advance"
    if claim.participation != "everybody":
        return "the enumeration assumes that everybody takes part"
    return f"each distribution may omit outcomes of mass {tail:g}" if tail > 0 else ""


def _changing(claim: PrivacyClaim) -> list[int] | None:
    """Return the records that may differ. Under joint privacy these are the records of the users left out."""
    names = [principal.name for principal in claim.view.principals]
    users = [int(name.removeprefix("user-")) for name in names if re.fullmatch(r"user-\d+", name)]
    return users if claim.view.complement and users else None


def _worst(
    claim: PrivacyClaim,
    pairs: Sequence[Neighbours],
    distributions: Sequence[tuple[ViewDistribution, ViewDistribution]],
) -> Witness:
    """Return the witness of the pair with the largest bound."""
    if not pairs:
        raise InvalidParameterError(
            "an enumeration requires at least one pair of neighbours, got none.", code="E-NEIGHBOURS-MISSING"
        )
    if not any(distribution.ended for sides in distributions for distribution in sides):
        raise MechanismError("the program raised an error on every path.", code="E-MECHANISM-RAISED")
    found = []
    for pair, sides in zip(pairs, distributions, strict=True):
        outcomes = _outcomes(claim, *sides)
        words = f"{pair.name}: the distributions of all that the view sees, {len(outcomes)} outcomes"
        missing = [_missing(distribution) for distribution in sides]
        found.append(
            tables_witness(
                claim,
                outcomes,
                inputs=_sides(pair),
                description=words,
                left_out=(missing[0], missing[1]),
                orders=ORDERS,
            )
        )
    return max(found, key=lambda one: math.inf if one.bound is None else one.bound)


def _missing(distribution: ViewDistribution) -> Fraction:
    """Return an upper bound on the mass that was not enumerated, which is 0 for a complete distribution."""
    if not distribution.left_out:
        return Fraction(0)
    return min(upper_exact(1 - sum(distribution.probabilities.values(), arb(0))), Fraction(1))


def _interval(p: arb) -> Interval:
    return max(lower_short(p), Fraction(0)), min(upper_short(p), Fraction(1))


def _outcomes(claim: PrivacyClaim, left: ViewDistribution, right: ViewDistribution) -> list[Outcome]:
    """Return one outcome per transcript. If there are too many, transcripts of similar ratios are merged."""
    keys = [*dict.fromkeys([*left.probabilities, *right.probabilities])]
    groups: dict[Any, list[str]] = {}
    cell = _cells(claim, {key: _log_ratio(left, right, key) for key in keys})
    for key in keys:
        groups.setdefault(cell(key) if len(keys) > SHOWN else key, []).append(key)
    found, apart = [], any(_beyond_of(key) for key in keys)
    for group in groups.values():
        masses = [
            sum((distribution.probabilities.get(key, arb(0)) for key in group), arb(0))
            for distribution in (left, right)
        ]
        shown = _values(group[0], left, right, apart=apart)
        recorded, neighbour = map(_interval, masses)
        found.append(Outcome(values=shown, recorded=recorded, neighbour=neighbour, merged=len(group)))
    return found


def _values(key: str, left: ViewDistribution, right: ViewDistribution, *, apart: bool) -> list[Any]:
    """Return the values that were seen, in a form that a file can hold.

    With ``apart``, return one list, followed by what the written values leave out: types, digits, and whether
    an error was raised. No value can be mistaken for that part.
    """
    seen = (left if key in left.transcripts else right).transcripts[key]
    shown = [value if _is_read_back(value) else to_the_last_bit(value) for value in seen]
    return [shown, _beyond_of(key)] if apart else shown


def _beyond_of(key: str) -> Any:
    """Return what a key holds in addition to the values, or ``None``."""
    last = [None, *json.loads(key)][-1]
    return last.get("beyond") if isinstance(last, dict) else None


def _is_read_back(value: Any) -> bool:
    """Return whether a file can hold the value. An array of texts, say, can be written but not read."""
    with suppress(InvalidParameterError):
        decode_value(encode_value(value))
        return True
    return False


def _log_ratio(left: ViewDistribution, right: ViewDistribution, key: str) -> float:
    """Return the approximate log-ratio of a transcript, used for ordering only."""
    p, q = (distribution.probabilities.get(key, arb(0)) for distribution in (left, right))
    if p > 0 and q > 0:
        return float((p / q).log().mid())
    return math.inf if p > 0 else -math.inf


def _cells(claim: PrivacyClaim, ratios: dict[str, float]) -> Callable[[str], Any]:
    """Return a function that maps transcripts to the cell of log-ratios in which they are merged.

    The transcripts at both ends stay alone, and no cell contains a claimed epsilon in its interior, in either
    direction, so that delta and epsilon lose nothing.
    """
    finite = [ratio for ratio in ratios.values() if math.isfinite(ratio)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    ends = {min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)}
    epsilon = float(exact(claim.epsilon)) if isinstance(claim, ApproxDP) else 0.0

    def cell(key: str) -> Any:
        ratio = ratios[key]
        if key in ends:
            return key
        if not math.isfinite(ratio):
            return ratio
        place = math.floor((SHOWN - 10) * (ratio - low) / (high - low)) if high > low else 0
        return place, ratio > epsilon, ratio > -epsilon

    return cell


def _certificate(
    claim: PrivacyClaim,
    over: DataSets,
    distributions: Sequence[ViewDistribution],
    places: Sequence[tuple[int, int]],
) -> Certificate:
    """Return what the tables prove on these datasets.

    Raises ``CertificateError`` for tables that are too large, and for a notion that they do not bound.
    """
    keys = [*dict.fromkeys(key for distribution in distributions for key in distribution.probabilities)]
    of = _changing(claim)
    whole = ["each record is all that one user contributes"] * (claim.unit is Unit.USER)
    if of is not None:
        whole.append(f"neighbours differ in record {', '.join(str(i + 1) for i in of)}")
    about: dict[str, Any] = {
        "neighbours": places,
        "domain": str(over),
        "program": f"{len(keys)} outcomes on {len(distributions)} datasets, summed over every path",
        "records": "; ".join(whole),
    }
    weights = [distribution.weights for distribution in distributions if distribution.weights is not None]
    if len(weights) == len(distributions):  # a rational epsilon then stays exact
        exact_rows = [[one.get(key, ExpSum({})) for key in keys] for one in weights]
        with suppress(CertificateError):  # too many or too long: fall back to tables
            return certify(claim, enumerated_weights(exact_rows, **about))
    rows = [
        [_interval(distribution.probabilities.get(key, arb(0))) for key in keys]
        for distribution in distributions
    ]
    return certify(claim, enumerated_tables(rows, **about))
