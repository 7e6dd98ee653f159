"""The protocols that ``benchmarks.compare`` compares: their claims, their true costs, and two ways to play
them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.kernel import check
from dpaudit.kernel.t2.gaussian import gaussian_delta
from dpaudit.run.finding import finding_of

__all__ = [
    "DELTA",
    "EPSILON",
    "OPEN",
    "Cost",
    "Line",
    "Play",
    "Protocol",
    "Scores",
    "Seeds",
    "costed",
    "gaussian_cost",
    "gaussian_std",
    "least_epsilon",
    "least_refuted",
    "measured",
    "played",
    "row_cost",
]

Floats = NDArray[np.float64]
#: The budget for which every protocol is printed, and to which it is recalibrated.
EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
#: From a number of runs and a seed to one number per run: regret at the horizon, or the largest error.
Play = Callable[[int, "Seeds"], Floats]


@dataclass(frozen=True)
class Seeds:
    """Seeds. ``instances`` is the family's, so that run r of every protocol plays the same instance;
    ``own`` is the protocol's, for rewards and noise.
    """

    instances: np.random.SeedSequence
    own: np.random.SeedSequence


@dataclass(frozen=True)
class Cost:
    """Bounds on the least epsilon at the claimed delta.

    ``low`` has a witness. ``high`` is certified, and infinite if nothing is certified.
    """

    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.high):
            return "open" if self.low == 0 else f"at least {_down(self.low)}"
        if self.low == 0:
            return f"at most {_up(self.high)}"
        low, high = _down(self.low), _up(self.high)
        near = self.high - self.low <= 0.005 * self.high
        return high if near or low == high else f"{low} to {high}"


OPEN = Cost(0.0, math.inf)


def _rounded(value: float, way: Callable[[float], float]) -> str:
    """Return three digits, with ``way`` as floor or ceil; a number within 1e-6 of a three-digit number is
    that number.
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    nearest = round(value / unit)
    digits = nearest if abs(value / unit - nearest) < 1e-6 * nearest else way(value / unit)
    return f"{digits * unit:.3g}"


def _down(value: float) -> str:
    return _rounded(value, math.floor)


def _up(value: float) -> str:
    return _rounded(value, math.ceil)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One line of a table.

    ``trust``: who sees the data in the clear. ``claim``: as printed, for epsilon 1 and delta 1e-6 (empty: not
    private). ``cost``: the true epsilon at the claimed delta, with the printed noise. ``printed`` and
    ``equal`` play it with the printed noise and with noise that really gives (1, 1e-6). If one is missing,
    ``note`` states why.
    """

    family: str
    name: str
    paper: str
    trust: str
    claim: str = ""
    cost: Callable[[], Cost] | None = None
    printed: Play | None = None
    equal: Play | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if (self.printed is None or self.equal is None) and self.claim and not self.note:
            raise InvalidParameterError(
                f"{self.name}: a protocol without one of its two plays must have a note, got none."
            )
        if bool(self.claim) != (self.cost is not None):
            raise InvalidParameterError(
                f"{self.name}: a claim must have a cost, and only a claim, got {self.claim!r}."
            )


@dataclass(frozen=True, eq=False)
class Scores:
    """One number per run."""

    values: Floats

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Return the standard error; NaN for a single run."""
        return (
            float(self.values.std(ddof=1) / math.sqrt(len(self.values))) if len(self.values) > 1 else math.nan
        )


@dataclass(frozen=True)
class Line:
    """A protocol and its computed results."""

    protocol: Protocol
    cost: Cost | None
    printed: Scores | None
    equal: Scores | None


def measured(protocols: Sequence[Protocol], *, runs: int, seed: int) -> list[Line]:
    """Compute each protocol's cost, and ``runs`` runs with either noise, the same runs if the noise is the
    same.

    A protocol's seeds do not depend on the other protocols.
    """
    return [played(costed(protocol), runs=runs, seed=seed) for protocol in protocols]


def costed(protocol: Protocol) -> Line:
    """Return the protocol with its cost, and nothing played yet."""
    return Line(protocol, protocol.cost() if protocol.cost else None, None, None)


def played(line: Line, *, runs: int, seed: int) -> Line:
    """Return the line with ``runs`` runs of its protocol with either noise."""
    protocol = line.protocol

    def scores(play: Play | None) -> Scores | None:
        if play is None:
            return None
        seeds = Seeds(_seed(seed, protocol.family), _seed(seed, f"{protocol.family}: {protocol.name}"))
        return Scores(np.asarray(play(runs, seeds), dtype=np.float64))

    return Line(protocol, line.cost, scores(protocol.printed), scores(protocol.equal))


def _seed(seed: int, words: str) -> np.random.SeedSequence:
    return np.random.SeedSequence([seed, *words.encode()])


# The cost of noise


def least_epsilon(proof: Proof, delta: Fraction = DELTA) -> float:
    """Return the least epsilon at which the kernel confirms ``proof`` with ``delta``.

    It is rounded up to a thousandth, and infinite beyond 1000.
    """
    derived = check.derive(proof.to_json(), ApproxDP(epsilon=1, delta=1))

    def holds(epsilon: float) -> bool:
        bound = check.derived_bound(derived, ApproxDP(epsilon=Fraction(epsilon), delta=1))
        return bound is not None and bound <= delta

    return _least(holds)


def _least(holds: Callable[[float], bool]) -> float:
    low, high = 0.0, 1e-6
    while not holds(high):
        low, high = high, 2 * high
        if high > 1000:
            return math.inf
    while high - low > high / 1000:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def gaussian_cost(mu_squared: Fraction, delta: Fraction = DELTA) -> float:
    """Return the least epsilon of the Gaussian mechanism for a change of ``mu_squared`` squared standard
    deviations.

    It is rounded up to a thousandth.
    """
    return _least(lambda epsilon: gaussian_delta(mu_squared, Fraction(epsilon)) <= delta)


@lru_cache(maxsize=1)
def _gaussian_limit() -> Fraction:
    """Return the largest squared change, in squared standard deviations and to 1e-4, that is (1, 1e-6)-DP."""
    low, high = Fraction(0), Fraction(1)
    while high - low > Fraction(1, 20_000) * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, EPSILON) <= DELTA else (low, middle)
    return low


def gaussian_std(squared_change: float) -> float:
    """Return the least standard deviation that makes a change of this squared length (1, 1e-6)-DP.

    It is rounded up to 1e-4.
    """
    return math.sqrt(squared_change / float(_gaussian_limit()))


# Findings of the suites


@lru_cache(maxsize=64)
def _finding(paper: str, row_id: str) -> tuple[dict[str, Any], float]:
    """Return a row's finding, evaluated in the quick profile, and the bound that it claims."""
    suite = importlib.import_module(f"audits.{paper}.suite").suite
    rows = {row.id: row for row in suite.rows}
    if row_id not in rows:
        raise InvalidParameterError(f"the suite {paper} must have the row {row_id}, it has none.")
    row, alpha = rows[row_id], 0.05
    found = finding_of(row.claim, row.evaluate(Run("quick", alpha, 0, row_id)), alpha=alpha)
    return found, float(row.claim.bound)


def row_cost(paper: str, row_id: str) -> Cost:
    """Return the finding of a row about a pure claim, in units of the claimed epsilon."""
    found, claimed = _finding(paper, row_id)
    low, high = found["lower"], found["upper"]
    if high is None and low is None:
        raise CertificateError(f"the row {row_id} must bound its claim, it does not.")
    return Cost((low or 0.0) / claimed, math.inf if high is None else high / claimed)


def least_refuted(paper: str, row_id: str, detail: str) -> float:
    """Return the smallest ``detail`` among the settings that refute a row; all of them must have it."""
    found, _ = _finding(paper, row_id)
    refuting = [cell["evidence"] for cell in found["cells"] if cell["verdict"] == "refuted"]
    values = [item["details"][detail] for evidence in refuting for item in evidence]
    if not values:
        raise CertificateError(
            f"the row {row_id} must be refuted in some setting, it is {found['verdict']}; state its bounds."
        )
    return min(map(float, values))
