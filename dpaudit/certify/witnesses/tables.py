"""Witnesses from a program summed out: the probabilities of everything that a view can see, on both inputs.

Form ``tables``: for each outcome, the shown values (or how many outcomes were merged into it) and an
enclosure of its probability on either input; the mass that was not enumerated; both inputs. Let p be the
lower end on the recorded input and q the upper end on the neighbour, plus the mass left out there. Then

* epsilon >= log(p(o) / q(o)) for every outcome o;
* delta(e) >= P(S) - exp(e) Q(S) for S = {p > exp(e) q}, less exp(e) times the mass left out;
* R_a >= log(sum of p^a q^(1-a)) / (a - 1), because all terms are positive (a > 1), and rho >= R_a / a;
* mu >= Phi^-1(P(S)) - Phi^-1(Q(S)) for every set S of outcomes: those of the largest p / q are tried
  (a mu-GDP mechanism has Q(S) >= Phi(Phi^-1(P(S)) - mu), Dong, Roth and Su 2022, Definition 2.6).

Merging outcomes is a post-processing, which can only lower these bounds.

The file cannot show that the tables are the program's (``dpaudit verify --suite`` enumerates it again), and
that the inputs are neighbours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from dpaudit.certify.witnesses.inputs import require_inputs, written_inputs
from dpaudit.core.claims import (
    ApproxDP,
    Claim,
    GaussianDP,
    Model,
    PrivacyClaim,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import decode_value, encode_value, exact, exact_str, read_exact
from dpaudit.kernel.ball import ball, lower_short, precision
from dpaudit.kernel.kernel_t0 import shown

__all__ = ["Interval", "Outcome", "tables_bound", "tables_witness"]

#: Working precision, and limits for untrusted files.
BITS, MAX_OUTCOMES, MAX_ORDER = 256, 5_000, 10_000

#: A probability between two exact numbers.
Interval = tuple[Fraction, Fraction]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An output that the view may see, with enclosures of its probability on both inputs.

    ``merged`` counts the outputs that it stands for, and ``values`` are the shown values of the first one.
    """

    values: Sequence[Any]
    recorded: Interval
    neighbour: Interval
    merged: int = 1

    def swapped(self) -> Outcome:
        return Outcome(
            values=self.values, recorded=self.neighbour, neighbour=self.recorded, merged=self.merged
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "values": [encode_value(value) for value in self.values],
            "merged": str(self.merged),
            "recorded": [exact_str(end) for end in self.recorded],
            "neighbour": [exact_str(end) for end in self.neighbour],
        }


def tables_witness(
    claim: PrivacyClaim,
    outcomes: Sequence[Outcome],
    *,
    inputs: tuple[Any, Any],
    description: str,
    left_out: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0)),
    orders: Sequence[Fraction] = (Fraction(2),),
) -> Witness:
    """Return the witness that two tables give against ``claim``, in the direction with the larger bound.

    Parameters
    ----------
    claim : PrivacyClaim
        The claim.
    outcomes : sequence of Outcome
        All outputs that were enumerated.
    inputs, left_out : pairs
        The inputs and the masses that were not enumerated (0 for a complete table), as (recorded, neighbour).
    description : str
        A description of the pair of inputs.
    orders : sequence of Fraction
        The Renyi orders to try for a zCDP claim.

    Raises
    ------
    CertificateError
        As ``tables_bound``, or a zCDP claim without orders.
    """
    swapped = [outcome.swapped() for outcome in outcomes]
    sides = ((outcomes, inputs, left_out, ""), (swapped, inputs[::-1], left_out[::-1], " (swapped)"))
    tried = orders if isinstance(claim, ZeroConcentratedDP) else (None,)
    best: Witness | None = None
    for table, (recorded, neighbour), missing, suffix in sides:
        for order in tried:
            body = {
                "view": claim.view.to_json(),
                "inputs": written_inputs(recorded, neighbour),
                "outcomes": [outcome.to_json() for outcome in table],
                "left_out": [exact_str(mass) for mass in missing],
            }
            if order is not None:
                body["order"] = exact_str(order)
            bound = tables_bound(body, claim)
            if best is None or _above(bound, best.bound):
                best = Witness(
                    quantity=claim.quantity,
                    bound=bound,
                    form="tables",
                    body=body,
                    origin="enumerated",
                    description=description + suffix,
                )
    if best is None:
        raise CertificateError("a zCDP claim must be tried at some order above 1, got none.")
    return best


def _above(bound: Fraction | None, other: Fraction | None) -> bool:
    """Return whether a bound is larger than another one. ``None`` is infinity."""
    return other is not None and (bound is None or bound > other)


def tables_bound(body: dict[str, Any], claim: Claim) -> Fraction | None:
    """Return the lower bound on the claim's quantity that the tables give, or ``None`` for an infinite one.

    Raise ``CertificateError`` for malformed tables, for tables that no two distributions fit, and for a claim
    about a float program.
    """
    if not isinstance(claim, PrivacyClaim) or claim.model is not Model.IDEAL:
        raise CertificateError(
            "tables of probabilities support only a privacy claim about ideal distributions "
            f"(model='ideal'), got {claim.in_words()}."
        )
    fields = {"view", "inputs", "outcomes", "left_out"}
    if body.keys() - {"order"} != fields:
        raise CertificateError(f"tables must have the fields {sorted(fields)}, got {sorted(body)[:8]}.")
    require_inputs(body["inputs"])
    rows, left_out = _read(body)
    if ("order" in body) != isinstance(claim, ZeroConcentratedDP):
        raise CertificateError("tables must state an order for a zCDP claim and for no other.")
    with precision(BITS):
        if isinstance(claim, ApproxDP):
            return _delta(rows, left_out, exact(claim.epsilon))
        if isinstance(claim, GaussianDP):
            return _mu(rows, left_out)
        if isinstance(claim, PureDP):
            return _epsilon(rows, left_out)
        if isinstance(claim, RenyiDP):
            return _renyi(rows, left_out, exact(claim.order))
        if isinstance(claim, ZeroConcentratedDP):
            order = read_exact(body["order"], name="order")
            found = _renyi(rows, left_out, order)
            return None if found is None else found / order
    raise CertificateError(f"tables of probabilities do not support a {claim.type} claim.")


#: p from below and q from above, without the mass left out.
Row = tuple[Fraction, Fraction]


def _read(body: dict[str, Any]) -> tuple[list[Row], Fraction]:
    """Return the rows (p, q) of well-formed tables, and the mass that the neighbour's table leaves out."""
    data, missing = body["outcomes"], body["left_out"]
    good = isinstance(data, list) and 0 < len(data) <= MAX_OUTCOMES
    if not good or not isinstance(missing, list) or len(missing) != 2:
        raise CertificateError(
            f"tables must have 1 to {MAX_OUTCOMES} outcomes and two masses that were left out."
        )
    left_out = [_number(text, "left_out") for text in missing]
    distinct, sides = set(), ([], [])  # type: tuple[set[str], tuple[list[Interval], list[Interval]]]
    for item in data:
        if item.keys() != {"values", "merged", "recorded", "neighbour"}:
            raise CertificateError(f"an outcome must have its four fields, got {sorted(item)}.")
        merged, values = _number(item["merged"], "merged", most=10**12), item["values"]
        if merged.denominator != 1 or merged < 1 or not isinstance(values, list):
            raise CertificateError(
                "an outcome must have a list of values, and merged must be a positive integer."
            )
        for value in values:
            decode_value(value)  # refuses other spellings, so that equal values are written alike
        distinct.add(json.dumps(values, sort_keys=True))  # 0, 0.0, -0.0 and False are four outcomes
        for side, name in zip(sides, ("recorded", "neighbour"), strict=True):
            side.append(_interval(item[name]))
    if len(distinct) != len(data):
        raise CertificateError("the outcomes of a table must be distinct.")
    for side, mass, name in zip(sides, left_out, ("recorded", "neighbour"), strict=True):
        _require_distribution(side, mass, name)
    recorded, neighbour = sides
    return [(p[0], q[1]) for p, q in zip(recorded, neighbour, strict=True)], left_out[1]


def _require_distribution(side: Sequence[Interval], left_out: Fraction, name: str) -> None:
    """Require that some distribution fits the table: probabilities that add up to 1 with the mass left
    out.
    """
    least, most = (sum((ends[i] for ends in side), Fraction(0)) for i in (0, 1))
    if not least <= 1 <= most + left_out:
        raise CertificateError(
            f"the {name} probabilities and the mass left out must be able to add up to 1, got from "
            f"{shown(least)} to {shown(most + left_out)}."
        )


def _interval(data: Any) -> Interval:
    if not isinstance(data, list) or len(data) != 2:
        raise CertificateError(f"a probability must be two ends, got {str(data)[:40]!r}.")
    low, high = (_number(text, "probability") for text in data)
    if low > high:
        raise CertificateError("the ends of a probability must be in order.")
    return low, high


def _number(text: Any, name: str, *, most: int = 1) -> Fraction:
    number = read_exact(text, name=name)
    if not 0 <= number <= most:
        raise CertificateError(f"{name} must be in [0, {most}], got {shown(number)}.")
    return number


def _epsilon(rows: Sequence[Row], left_out: Fraction) -> Fraction | None:
    possible = [(p, q + left_out) for p, q in rows if p > 0]
    if any(q == 0 for _, q in possible):
        return None
    worst = max((p / q for p, q in possible), default=Fraction(0))
    return max(lower_short(ball(worst).log()), Fraction(0)) if worst else Fraction(0)


def _delta(rows: Sequence[Row], left_out: Fraction, epsilon: Fraction) -> Fraction:
    e = ball(epsilon).exp()
    gaps = [ball(p) - e * ball(q) for p, q in rows]
    total = sum((gap for gap in gaps if gap > 0), arb(0)) - e * ball(left_out)
    return max(lower_short(total), Fraction(0))


def _renyi(rows: Sequence[Row], left_out: Fraction, order: Fraction) -> Fraction | None:
    if not 1 < order <= MAX_ORDER:
        raise CertificateError(f"an order must be in (1, {MAX_ORDER}], got {shown(order)}.")
    total, a = arb(0), ball(order)
    for p, q in ((p, q + left_out) for p, q in rows if p > 0):
        if q == 0:
            return None
        total += (a * ball(p).log() + (1 - a) * ball(q).log()).exp()
    return max(lower_short(total.log() / (a - 1)), Fraction(0)) if total > 0 else Fraction(0)


def _mu(rows: Sequence[Row], left_out: Fraction) -> Fraction | None:
    """Return the largest bound over the sets {p / q >= t}, largest ratios first.

    The bound is infinite (``None``) if the neighbour never shows one of these sets.
    """
    ordered = sorted((row for row in rows if row[0] > 0), key=lambda row: -_ratio(*row))
    best, p, q = Fraction(0), Fraction(0), left_out
    for here, there in ordered:
        p, q = p + here, q + there
        if q == 0:
            return None
        if p < 1 and q < 1:
            best = max(best, lower_short(_quantile(p) - _quantile(q)))
    return best


def _ratio(p: Fraction, q: Fraction) -> float:
    """Return p / q for sorting only: infinity if q is 0, or if a float cannot hold it."""
    try:
        return float(p / q) if q else float("inf")
    except OverflowError:
        return float("inf")


def _quantile(p: Fraction) -> arb:
    """Return Phi^-1(p) for p in (0, 1)."""
    return -arb(2).sqrt() * ball(2 * p).erfcinv()
