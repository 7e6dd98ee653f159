"""Bound how much likelier ONE decision sequence of an index policy is on one dataset than on a neighbour.

Model. At each round an arm of largest index is pulled. After O pulls arm a has the index (S + N)/O + bonus(O,
t): S is the sum of its rewards, N the sum of the independent Laplace noises that ``sums[a][O]`` names. Let u
= unit * epsilon > 0 and measure everything in 1/u: noise i is m_i ~ Lap(b_i) with a constant scale b_i,
rewards are multiples of u, and a bonus term of order 0 or 1 is 1 or u times sqrt(factor * log2(t)^log *
floor(log2(O+1))^level / O^count). So each comparison of the winner of a round with another arm is a row A.m +
c0 + u*c1 > 0 (ties have probability 0), and E, the set of noises that produce ``path`` from the data D
(``rewards``, arm by arm in the order of the path), is where all rows hold. D' differs in one reward, that of
the pull ``replaced``, and E' is its set. Everything below holds for EVERY epsilon > 0.

1. Shift. v (``shift``) changes each sum by what the replacement adds to it, so E' = E - u*v. Hence P(E') is
   the integral over E of p(m - u*v), and p(m - u*v) <= p(m) * exp(-c*u) * exp(2u * sum of |v_k|/b_k over the
   k with v_k*m_k > 0), where c = sum |v_k|/b_k.
2. Wrong signs. Let B_k = {v_k*m_k >= 0}, in the order of ``tails``, and s_k = |v_1|/b_1 + ... + |v_k|/b_k.
   By step 1, P(E') <= exp(-c*u) * (P(E) + sum_k (exp(2*s_k*u) - 1) * P(E and B_k)).
3. Box. E contains all m with |m_i - x_i| <= h*b_i, where x = x0 + u*x1 is the centre and h ``half_width``;
   each of these independent events has probability at least exp(-|x_i|/b_i) * (1 - exp(-h)).
4. Chernoff. Where rows A.m + c0 + u*c1 >= 0 hold, multipliers y >= 0 give theta.m + C0 + u*C1 >= 0, theta =
   yA. If all |theta_i|*b_i < 1, the probability is at most E exp(theta.m + C0 + u*C1), which is exp(C0 +
   u*C1) * prod 1/(1 - (theta_i*b_i)^2).
5. Transport. Let w change no sum, and s = s0 + u*s1 >= 0. The translation by s*w maps E onto E. Where each
   noise j != k has w_j*m_j <= -s*w_j^2, it raises the density by at least exp(g*s), where g = sum_{j != k}
   |w_j|/b_j - |w_k|/b_k: that part of E has probability at most exp(-g*s) * P(E). The rest of B_k lies in
   the ``escapes``, one for each j, bounded by step 4.
6. Sum. Each part of B_k has P(part) <= exp(-a0 - u*a1) * P(E) with a1 >= 2*s_k, and exp(x) - 1 <= x*exp(x),
   so P(E') <= exp(-c*u) * P(E) * (1 + u*eta), eta = sum 2*s_k*exp(-a0), and log P(E) - log P(E') >= u*(c -
   eta).

The file cannot show that ``sums``, ``scales`` and ``bonus`` are the mechanism's. A reader must compare them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from dpaudit.core.errors import CertificateError, UndecidedError
from dpaudit.core.exact import positive, read_exact, refuse_floats
from dpaudit.kernel.ball import arb, ball, lower, precision, upper_exact

__all__ = ["EventLoss", "Row", "event_rows", "window_event_bound", "window_event_loss"]

BITS = 192
MAX_ROUNDS, MAX_POWER = 5000, 8
GRID = 10**12  # the loss is rounded down to a multiple of 1/GRID

Sparse = dict[str, Fraction]
_MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, UndecidedError)


@dataclass(frozen=True)
class EventLoss:
    """Two bounds for all epsilon > 0.

    log P(E) - log P(E') >= loss * epsilon, and log P(E) >= constant + slope * epsilon.
    """

    loss: Fraction
    constant: float
    slope: float


@dataclass(frozen=True)
class Row:
    """The inequality ``coefficients . m + constant + u * slope >= 0``, with balls ``constant`` and
    ``slope``.
    """

    coefficients: Sparse
    constant: arb
    slope: arb


def window_event_bound(body: Mapping[str, Any]) -> Fraction:
    """Return a lower bound on the loss at ``body["epsilon"]``, the parameter of the mechanism."""
    return window_event_loss(body).loss * positive(_read(body.get("epsilon")), name="epsilon")


def event_rows(body: Mapping[str, Any]) -> dict[str, Row]:
    """Return the comparisons that make up E, by ``"round/losing arm"``, to compare with the mechanism's
    own.
    """
    with precision(BITS):
        return _Event(body).rows


def window_event_loss(body: Mapping[str, Any]) -> EventLoss:
    """Return the loss per unit of epsilon of the decision sequence that ``body`` (plain JSON data) describes.

    Raise ``CertificateError`` if the data are malformed or any step of the proof fails.
    """
    try:
        with precision(BITS):
            return _Event(body).loss()
    except _MALFORMED as error:
        message = f"a window event must have the fields that dpaudit writes, got {error!r}."
        raise CertificateError(message) from error


class _Event:
    """One decision sequence from a file. Every method checks its part of the file before it returns."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        refuse_floats(dict(body), name="a window event")
        self.body = body
        self.scales = {name: positive(_read(value), name="scale") for name, value in body["scales"].items()}
        self.rewards = [[_read(value) for value in arm] for arm in body["rewards"]]
        self.path = _path(body["path"])
        self.counts = [self.path.count(arm) for arm in range(1, len(body["sums"]) + 1)]
        self.rows = dict(self._rows())

    def loss(self) -> EventLoss:
        """Apply steps 1, 2 and 6."""
        shift = self._translation(self.body["shift"], self.body["replaced"])
        low = self._box()
        charge, eta = Fraction(0), ball(0)
        for tail in self.body["tails"]:
            noise = tail["noise"]
            step = shift.pop(noise)  # each shifted noise has exactly one tail
            charge += abs(step) / self.scales[noise]
            for a0, a1 in self._tail(tail, Row({noise: _sign(step)}, ball(0), ball(0)), low):
                _need(a1 >= ball(2 * charge), "tails that outweigh their likelihood ratio", noise)
                eta += 2 * ball(charge) * (-a0).exp()
        _need(not shift, "a tail for every shifted noise", sorted(shift))
        unit = positive(_read(self.body["unit"]), name="unit")
        loss = Fraction(floor(unit * (charge - upper_exact(eta)) * GRID), GRID)
        return EventLoss(loss, lower(low[0]), lower(low[1] * ball(unit)))

    def _rows(self) -> Iterator[tuple[str, Row]]:
        arms = range(1, len(self.counts) + 1)
        first = self.path[: len(arms)]
        _need(first == list(arms), "a path that starts with each arm once, in order", first)
        _need(sum(self.counts) == len(self.path), f"arms 1 to {len(arms)} on the path", set(self.path))
        for t in range(len(arms) + 1, len(self.path) + 1):
            past, winner = self.path[: t - 1], self.path[t - 1]
            best = self._index(winner, past.count(winner), t)
            for loser in arms:
                if loser != winner:
                    other = self._index(loser, past.count(loser), t)
                    coefficients = _add(dict(best.coefficients), other.coefficients, Fraction(-1))
                    constants = best.constant - other.constant, best.slope - other.slope
                    yield f"{t}/{loser}", Row(coefficients, *constants)

    def _index(self, arm: int, count: int, t: int) -> Row:
        _need(len(self.rewards[arm - 1]) >= count, "a reward for every pull on the path", (arm, count))
        orders = [ball(0), ball(sum(self.rewards[arm - 1][:count], Fraction(0)) / count)]
        level = (count + 1).bit_length() - 1  # floor(log2(count + 1))
        log2 = ball(t).log() / ball(2).log()
        for term in self.body["bonus"]:
            powers = [term[name] for name in ("order", "count", "level", "log")]
            _need(all(type(p) is int and 0 <= p <= MAX_POWER for p in powers), "small whole powers", powers)
            weight = positive(_read(term["factor"]), name="factor")
            weight *= Fraction(level ** term["level"], count ** term["count"])
            orders[term["order"]] += (ball(weight) * log2 ** term["log"]).sqrt()
        return Row(dict.fromkeys(self._sum(arm, count), Fraction(1, count)), *orders)

    def _sum(self, arm: int, count: int) -> list[str]:
        """Return the noises in the arm's sum after ``count`` pulls.

        Their names start with the arm, so no two arms share a noise.
        """
        names: list[str] = self.body["sums"][arm - 1][count - 1]
        known = all(name in self.scales and name.startswith(f"{arm}/") for name in names)
        _need(known and len(set(names)) == len(names), "distinct noises of the arm, with scales", names)
        return names

    def _translation(self, steps: Mapping[str, str], replaced: list[Any] | None = None) -> Sparse:
        """Return a translation of the noise, after checking its effect on each sum.

        It must change each sum by what the replaced reward adds, or by 0.
        """
        shift = {name: _read(value) for name, value in steps.items()}
        known = all(value != 0 and name in self.scales for name, value in shift.items())
        _need(known, "steps of known noises, none of them 0", sorted(shift))
        where, pull, change = 0, 0, Fraction(0)
        if replaced is not None:
            where, pull, new = int(replaced[0]), int(replaced[1]), _read(replaced[2])
            on_path = 1 <= where <= len(self.counts) and 1 <= pull <= self.counts[where - 1]
            _need(on_path, "a replaced pull on the path", replaced)
            inside = all(0 <= reward <= 1 for arm in (*self.rewards, [new]) for reward in arm)
            _need(inside, "rewards in [0, 1]", new)
            change = new - self.rewards[where - 1][pull - 1]
        for arm, final in enumerate(self.counts, start=1):
            for count in range(1, final + 1):
                total = sum((shift.get(name, Fraction(0)) for name in self._sum(arm, count)), Fraction(0))
                wanted = change if arm == where and count >= pull else Fraction(0)
                _need(total == wanted, f"sums that change by {wanted}", f"{total} (arm {arm}, pulls {count})")
        return shift

    def _box(self) -> tuple[arb, arb]:
        """Apply step 3: log P(E) >= low[0] + u * low[1]."""
        half = positive(_read(self.body["box"]["half_width"]), name="half_width")
        given = self.body["box"]["centre"]
        centre = [{name: _read(given.get(name, ("0", "0"))[i]) for name in self.scales} for i in (0, 1)]
        for key, row in self.rows.items():
            at = [sum((q * x[name] for name, q in row.coefficients.items()), Fraction(0)) for x in centre]
            width = half * sum(abs(q) * self.scales[name] for name, q in row.coefficients.items())
            _need(ball(at[0] - width) + row.constant > 0, "a box inside the event", f"round/arm {key}")
            _need(ball(at[1]) + row.slope > 0, "a box inside the event for large epsilon", f"round/arm {key}")
        costs = [sum((abs(x[name]) / b for name, b in self.scales.items()), Fraction(0)) for x in centre]
        return len(self.scales) * (1 - (-ball(half)).exp()).log() - ball(costs[0]), -ball(costs[1])

    def _tail(self, tail: Mapping[str, Any], wrong: Row, low: tuple[arb, arb]) -> list[tuple[arb, arb]]:
        """Return pairs (a0, a1) with P(E and B_k) <= P(E) * (sum of exp(-a0 - u * a1)), by step 4 alone or
        step 5.
        """
        if "transport" not in tail:
            return [self._chernoff(tail["chernoff"], [wrong], low)]
        plan = tail["transport"]
        move, (s0, s1) = self._translation(plan["move"]), [_read(s) for s in plan["length"]]
        lost = abs(move.pop(tail["noise"], Fraction(0))) / self.scales[tail["noise"]]
        gain = sum((abs(w) / self.scales[name] for name, w in move.items()), -lost)
        _need(min(s0, s1) >= 0 and gain > 0, "a transport that gains probability", (gain, s0, s1))
        parts = [(ball(gain * s0), ball(gain * s1))]
        for name, w in move.items():  # the escape: w_j*m_j >= -s*w_j^2, divided by |w_j|
            escape = Row({name: _sign(w)}, ball(s0 * abs(w)), ball(s1 * abs(w)))
            parts.append(self._chernoff(plan["escapes"][name], [wrong, escape], low))
        return parts

    def _chernoff(self, proof: Mapping[str, Any], extra: list[Row], low: tuple[arb, arb]) -> tuple[arb, arb]:
        """Divide step 4 by step 3: P(E and extra) <= exp(-a0 - u * a1) * P(E)."""
        terms = [(self.rows[key], _read(y)) for key, y in proof["rows"].items()]
        terms += zip(extra, [_read(y) for y in proof["extra"]], strict=True)
        theta: Sparse = {}
        constant, slope = ball(0), ball(0)
        for row, y in terms:
            _need(y >= 0, "multipliers that are at least 0", y)
            _add(theta, row.coefficients, y)
            constant, slope = constant + ball(y) * row.constant, slope + ball(y) * row.slope
        for name, value in theta.items():
            product = abs(value) * self.scales[name]
            _need(product < 1, "exponents below the rate of each noise", f"{float(product)} for {name}")
            constant -= ball(1 - product**2).log()
        return low[0] - constant, low[1] - slope


def _read(text: Any) -> Fraction:
    return read_exact(text, name="a number of a window event")


def _path(runs: list[list[int]]) -> list[int]:
    """Return the arms pulled in rounds 1, 2, ..., from runs [arm, number of rounds]."""
    good = all(type(x) is int and x >= 1 for run in runs for x in run)
    _need(good, "runs [arm, rounds] of positive integers", runs)
    total = sum(count for _, count in runs)
    _need(total <= MAX_ROUNDS, f"at most {MAX_ROUNDS} rounds", total)
    return [arm for arm, count in runs for _ in range(count)]


def _sign(number: Fraction) -> Fraction:
    return Fraction(1 if number > 0 else -1)


def _add(target: Sparse, other: Sparse, factor: Fraction) -> Sparse:
    """Add ``factor * other`` to ``target`` in place, and return it."""
    for name, value in other.items():
        target[name] = target.get(name, Fraction(0)) + factor * value
    return target


def _need(condition: bool, what: str, got: Any) -> None:
    if not condition:
        raise CertificateError(f"a window event needs {what}, got {str(got)[:80]}.")
