"""Refute a stability claim: run a deterministic function once on each input, and compare exact distances.

A pair counts only if its inputs are within ``d_in`` of each other by the metric of the claim. A pair whose
outputs are more than ``d_out`` apart refutes the claim with certainty, for the program as it runs.
"""

from __future__ import annotations

import copy
import inspect
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.blackbox.distances import Distance, distance, size
from dpaudit.blackbox.neighbours import PairsOfInputs, read_neighbours
from dpaudit.blackbox.result import CheckResult
from dpaudit.blackbox.runs import CallTooLongError, limit_calls
from dpaudit.core.claims import Adjacency, Stability
from dpaudit.core.data import Records, Table
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.evidence import Estimate
from dpaudit.core.exact import exact
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.pairs import shown
from dpaudit.core.verdicts import judge

__all__ = ["adjacencies_of", "check_stability"]

#: Metrics of datasets whose neighbours have the same size.
SAME_SIZE = ("change-one", "hamming")
#: Largest relative error of a float function whose outputs are numbers. A smaller excess is rounding.
ROUNDING = Fraction(1, 2**40)


def adjacencies_of(claim: Stability) -> list[Adjacency]:
    """Return the changes of one record that the input metric of a claim allows."""
    if claim.input_metric in SAME_SIZE:
        return [Adjacency.REPLACE_ONE]
    if claim.input_metric not in ("symmetric", "insert-delete"):
        return []
    replaced = [Adjacency.REPLACE_ONE] if exact(claim.d_in) >= 2 else []
    return [Adjacency.ADD_REMOVE, *replaced]


def check_stability(
    function: Callable[..., Any],
    claim: Stability,
    *,
    neighbours: PairsOfInputs | None = None,
    data: Records | Table | None = None,
    seed: int = 0,
    timeout: float | None = 60.0,
    seconds: float | None = None,
) -> CheckResult:
    """Run a function of the data, or of (data, rng), once on each input of all pairs.

    The pairs of ``data`` include those of unusual datasets. ``CheckResult.evidence.lower`` is the largest
    distance of outputs that was found.

    Raises
    ------
    InvalidParameterError
        There are no pairs, or the metric of inputs has none that follow from ``data``.
    MechanismError
        The function is not deterministic, raises on every pair, or its output has no distance in the metric.
    """
    pairs = _pairs(claim, neighbours, data, seed)
    run = _Runs(function, claim, seed, timeout, None if seconds is None else time.monotonic() + seconds)
    run.require_deterministic(pairs[0].left)
    found = [item for pair in pairs if (item := run.measured(pair)) is not None]
    if not found:
        raise MechanismError(
            f"the function must return on both inputs of a pair within d_in = {claim.d_in}, but it did on "
            f"none of {len(pairs)}: {'; '.join(run.notes[:2]) or 'no pair is that close'}.",
            code="E-STABILITY-NO-PAIR",
        )
    return _result(claim, found, run)


def _pairs(
    claim: Stability, neighbours: PairsOfInputs | None, data: Records | Table | None, seed: int
) -> list[Neighbours]:
    if (neighbours is None) == (data is None):
        raise InvalidParameterError(
            f"exactly one of data and neighbours must be given, got {'neither' if data is None else 'both'}.",
            code="E-DATA-OR-NEIGHBOURS",
        )
    if neighbours is not None:
        return read_neighbours(neighbours, seed=seed)
    known = adjacencies_of(claim)
    if not known or data is None:
        raise InvalidParameterError(
            f"data declare datasets, whose metric is symmetric, insert-delete, change-one or hamming, got "
            f"input_metric={claim.input_metric!r}. Pass neighbours=[(input, input), ...].",
            code="E-STABILITY-DATA",
        )
    return [pair for by in known for pair in data.pairs(by, unusual=True).pairs(seed=seed)]


@dataclass(frozen=True)
class _Measured:
    """A pair with the distance of its outputs, whether that is above the claim, and the outputs in words."""

    pair: Neighbours
    apart: float
    above: bool
    words: str


class _Runs:
    """Runs of a function on inputs, and what prevented some of them."""

    def __init__(
        self,
        function: Callable[..., Any],
        claim: Stability,
        seed: int,
        timeout: float | None,
        deadline: float | None,
    ) -> None:
        self.claim, self.notes, self.runs = claim, list[str](), 0
        self._function, self._seed, self._timeout, self._deadline = function, seed, timeout, deadline
        self._alone = _takes_data_alone(function)

    def require_deterministic(self, data: Any) -> None:
        """Raise ``MechanismError`` if two runs on one input have outputs at a positive distance."""
        try:
            apart = distance(self.claim.metric, self._call(data, 0), self._call(data, 1))
        except MechanismError:
            raise
        except (Exception, SystemExit):  # an input on which it raises is noted with its pair
            return
        if apart != 0:
            raise MechanismError(
                "a function with a stability claim must be deterministic, but two runs on one input have "
                f"outputs at distance {_root(self.claim.metric, apart):.6g}.",
                code="E-STABILITY-RANDOM",
            )

    def measured(self, pair: Neighbours) -> _Measured | None:
        """Return the pair with the distance of its outputs, or None if it is not evidence."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.notes.append(f"the time limit was reached before {pair.name}")
            return None
        if _above(self.claim.input_metric, distance(self.claim.input_metric, *_both(pair)), self.claim.d_in):
            return None
        outputs, raised = [], []
        for side in _both(pair):
            try:
                outputs.append(self._call(side, 0))
            except CallTooLongError:
                raise
            except (Exception, SystemExit) as error:
                raised.append(f"{type(error).__name__}: {error}")
        if raised:
            self.notes.append(f"the function raised on {len(raised)} of 2 inputs ({pair.name}): {raised[0]}")
            return None
        apart = distance(self.claim.metric, *outputs)
        return _Measured(
            pair,
            _root(self.claim.metric, apart),
            _above(self.claim.metric, apart, self.claim.d_out, outputs),
            f"the outputs are {shown(outputs[0])} and {shown(outputs[1])}",
        )

    def _call(self, data: Any, extra: int) -> Any:
        self.runs += 1
        own = copy.deepcopy(data)
        with limit_calls(self._timeout):
            if self._alone:
                return self._function(own)
            return self._function(own, np.random.default_rng(self._seed + extra))


def _both(pair: Neighbours) -> tuple[Any, Any]:
    return pair.left, pair.right


def _takes_data_alone(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("data", "rng")
    except TypeError:
        return True
    except ValueError:  # a function of C code
        return True
    return False


def _above(metric: str, apart: Distance, limit: Any, outputs: Sequence[Any] = ()) -> bool:
    """Return whether a distance exceeds a limit by more than the rounding of float outputs."""
    if apart == math.inf:
        return True
    most = exact(limit)
    if metric in ("absolute", "L1", "L2", "LInf") and outputs:
        most += ROUNDING * (most + size(outputs[0]))
    return bool(apart > (most**2 if metric == "L2" else most))


def _root(metric: str, apart: Distance) -> float:
    """Return a distance as a float. The square root of metric L2 is rounded down."""
    if metric != "L2" or apart == math.inf:
        return float(apart)
    return math.nextafter(math.sqrt(apart), 0) if apart else 0.0


def _result(claim: Stability, found: list[_Measured], run: _Runs) -> CheckResult:
    worst = max(found, key=lambda item: (item.above, item.apart))
    limit = float(claim.bound)
    lower = worst.apart if worst.above else min(worst.apart, limit)
    estimate = Estimate(
        quantity=claim.quantity,
        lower=lower,
        upper=None,
        confidence=1.0,
        samples=run.runs,
        method="one run on each input",
        scope=f"the largest of {len(found)} pairs: {worst.pair.name}",
        seed=None,
        details={},
    )
    return CheckResult(claim, estimate, judge(claim, [estimate]), worst.words, tuple(run.notes[:3]))
