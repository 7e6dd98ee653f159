"""Evidence from small programs summed out: the exact distribution of what a view sees, on one input and its
neighbour.

    @evidence(rows, "winner", "my own", claim=PureDP(epsilon=1, domain=str(BITS)))
    def winner(run: Run) -> list[Evidence]:
        \"\"\"The noisy winner of three bits is ε-DP\"\"\"
        return enumerated(CLAIM, program, over=BITS)(run)

with ``BITS = DataSets(records=3, values=(0, 1))``; in a ``PrivacyAudit``: ``more=enumerated(CLAIM, program,
over=BITS)``.

Lower bounds are exact: the pair whose tables show most is a witness (``dpaudit.certify.witnesses.tables``).
An upper
bound is exact for the program on the data sets that were enumerated, and for no other data: there is one only
where these are all that the claim speaks about, which its ``domain`` must say in the same words. It is
accounted, since that the tables are the program's is an assumption (rule ``enumerated`` of the kernel).
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

#: What a suite's pairs are: as the ``neighbours`` of a ``PrivacyAudit``.
Pairs = Callable[[Run], Sequence[Neighbours]]

#: Working precision of an enumeration: probabilities are written with fewer bits.
BITS = 192
#: More outcomes than this are merged in a witness.
SHOWN = 200
#: The order of a zCDP witness is the best of these.
ORDERS = tuple(Fraction(n, 4) for n in (5, 6, 8, 12, 16, 32, 64, 128, 256))


@dataclass(frozen=True, kw_only=True)
class Enumeration:
    """A program to be enumerated in a claim's view: called with a run it gives the evidence."""

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
        """Return a digest of all tables: for the ``fingerprint`` of a row.

        It must be the same in any process and for any order of the inputs. Each table is enumerated once:
        whoever compares digests compares runs."""
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
    """Evidence on ``claim`` from ``program`` enumerated in the claim's view: a function of the run.

    ``over`` are pairs of neighbours, or all those of some data sets. A witness for the worst pair; and a
    certificate where ``over`` is ``DataSets`` that are, in the same words, the claim's ``domain``, everybody
    takes part, and the data are fixed in advance. Distributions with infinitely many outcomes need a
    ``tail``, the mass that each may leave out: there is a witness only.

    Raises ``InvalidParameterError`` for a claim about a float program and where there is no pair, and, when
    run, ``NotTractableError`` for distributions with densities and too many paths, ``MechanismError`` for a
    program
    that does something else when it is run again. Where there is no certificate, the description of the
    witness says why.
    """
    if claim.model is not Model.IDEAL:
        raise InvalidParameterError(
            "an enumeration is about ideal distributions, the claim is about a float program; claim "
            "model='ideal'."
        )
    return Enumeration(claim=claim, program=program, over=over, tail=tail)


def tables_of(
    program: Program, data: Any, claim: PrivacyClaim, *, view: View | None = None, tail: float = 0.0
) -> ViewDistribution:
    """The distribution of what ``view`` (the claim's) sees on ``data``. Raises ``MechanismError`` for a
    program that does not repeat itself: what it draws outside the coins is in no table."""
    seen = claim.view if view is None else view
    distribution, again = (enumerate_view(program, data, view=seen, tail=tail) for _ in range(2))
    same = distribution.probabilities.keys() == again.probabilities.keys() and all(
        p.overlaps(again.probabilities[key]) for key, p in distribution.probabilities.items()
    )
    if not same:
        raise MechanismError(
            "a program must do the same when it is enumerated again, it showed something else; draw all "
            "randomness from the coins, and keep nothing from run to run."
        )
    return distribution


def _of_pairs(
    claim: PrivacyClaim, program: Program, pairs: Sequence[Neighbours], tail: float
) -> list[tuple[ViewDistribution, ViewDistribution]]:
    """Both distributions of each pair, in the view of that pair."""

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
    """The distribution of what each view sees on each input. Raises ``MechanismError`` if a copy of this
    process finds others when it takes them in reverse order."""

    def again() -> str:
        return _digest(each_input(seen, lambda one: enumerate_view(program, one[1], view=one[0], tail=tail)))

    with backwards(again) as copies:
        distributions = [tables_of(program, data, claim, view=view, tail=tail) for view, data in seen]
        answers = copies.answers()
    if answers is not None and answers != [_digest(distributions)]:
        raise MechanismError(DIFFERS)
    return distributions


def _digest(distributions: Sequence[ViewDistribution]) -> str:
    """A digest of tables, in their order."""
    digest = hashlib.sha256()
    for distribution in distributions:
        table = {key: [str(end) for end in _interval(p)] for key, p in distribution.probabilities.items()}
        digest.update(json.dumps(table, sort_keys=True).encode())
    return digest.hexdigest()


def _distinct(sides: Sequence[tuple[View, Any]]) -> tuple[list[tuple[View, Any]], list[int]]:
    """The sides without repeats (pairs share inputs), and the place of each side among them."""
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
    """The worst pair of all, and what all of them prove."""
    of = _changing(claim)
    places, pairs = over.neighbours(claim.adjacency, of=of), over.pairs(claim.adjacency, of=of)
    if CHANGED_USER in claim.view.principals:
        witness = _worst(claim, pairs, _of_pairs(claim, program, pairs, tail))
        why_not = "each pair is seen in a view of its own; claim it for one user after the other"
        return [replace(witness, description=f"{witness.description}; a lower bound only: {why_not}")]
    with noting_outside() as outside:
        distributions = _agreed(claim, program, [(claim.view, data) for data in over.listed()], tail)
    witness = _worst(claim, pairs, [(distributions[i], distributions[j]) for i, j in places])
    why_not = _beyond(claim, over, tail)
    if outside:
        why_not = f"the program {', '.join([*outside][:3])}, where a later run may read what it left"
    if not why_not:
        try:
            return [_certificate(claim, over, distributions, places), witness]
        except CertificateError as error:
            why_not = str(error)
    return [replace(witness, description=f"{witness.description}; a lower bound only: {why_not}")]


def _beyond(claim: PrivacyClaim, over: DataSets, tail: float) -> str:
    """Why the claim speaks of more than what was enumerated; empty if it does not."""
    if claim.domain != str(over):
        return f"the claim's domain is not {str(over)!r}"
    if claim.adversary is not Adversary.OBLIVIOUS:
        return "the data of an adaptive adversary are not fixed in advance"
    if claim.participation != "everybody":
        return "everybody takes part in what was enumerated"
    return f"outcomes of mass {tail:g} may be left out at each distribution" if tail > 0 else ""


def _changing(claim: PrivacyClaim) -> list[int] | None:
    """The records that may differ: under joint privacy those of the users whom the view leaves out."""
    names = [principal.name for principal in claim.view.principals]
    users = [int(name.removeprefix("user-")) for name in names if re.fullmatch(r"user-\d+", name)]
    return users if claim.view.complement and users else None


def _worst(
    claim: PrivacyClaim,
    pairs: Sequence[Neighbours],
    distributions: Sequence[tuple[ViewDistribution, ViewDistribution]],
) -> Witness:
    """The witness of the pair that shows most."""
    if not pairs:
        raise InvalidParameterError("an enumeration must have a pair of neighbours, got none; give one.")
    if not any(distribution.ended for sides in distributions for distribution in sides):
        raise MechanismError("a program must return on some path, it raised an error on every one.")
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
    """The mass that was not enumerated, from above; 0 for a complete distribution."""
    if not distribution.left_out:
        return Fraction(0)
    return min(upper_exact(1 - sum(distribution.probabilities.values(), arb(0))), Fraction(1))


def _interval(p: arb) -> Interval:
    return max(lower_short(p), Fraction(0)), min(upper_short(p), Fraction(1))


def _outcomes(claim: PrivacyClaim, left: ViewDistribution, right: ViewDistribution) -> list[Outcome]:
    """One for each transcript; where there are too many, transcripts of nearly the same ratio as one."""
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
    """What was shown, as a file can hold it. With ``apart`` it is one list, followed by what the written
    values leave out: types, digits, that an error was raised. No value passes for that then."""
    seen = (left if key in left.transcripts else right).transcripts[key]
    shown = [value if _is_read_back(value) else to_the_last_bit(value) for value in seen]
    return [shown, _beyond_of(key)] if apart else shown


def _beyond_of(key: str) -> Any:
    """What a key says beside the values; ``None`` for nothing."""
    last = [None, *json.loads(key)][-1]
    return last.get("beyond") if isinstance(last, dict) else None


def _is_read_back(value: Any) -> bool:
    """Whether a file can hold the value: an array of texts, say, is written and not read."""
    with suppress(InvalidParameterError):
        decode_value(encode_value(value))
        return True
    return False


def _log_ratio(left: ViewDistribution, right: ViewDistribution, key: str) -> float:
    """For an order only."""
    p, q = (distribution.probabilities.get(key, arb(0)) for distribution in (left, right))
    if p > 0 and q > 0:
        return float((p / q).log().mid())
    return math.inf if p > 0 else -math.inf


def _cells(claim: PrivacyClaim, ratios: dict[str, float]) -> Callable[[str], Any]:
    """Which transcripts are merged: those in one cell of log-ratios. Both ends stay alone, and no cell
    reaches over a claimed epsilon in either direction, so that delta and epsilon lose nothing."""
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
    """What the tables prove on these data sets. Raises ``CertificateError`` for tables that are too large,
    and for a notion that they do not bound."""
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
    if len(weights) == len(distributions):  # an epsilon that is rational is then that number
        exact_rows = [[one.get(key, ExpSum({})) for key in keys] for one in weights]
        with suppress(CertificateError):  # too many of them, or too long: tables may do
            return certify(claim, enumerated_weights(exact_rows, **about))
    rows = [
        [_interval(distribution.probabilities.get(key, arb(0))) for key in keys]
        for distribution in distributions
    ]
    return certify(claim, enumerated_tables(rows, **about))
