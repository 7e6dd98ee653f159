"""Read noise from a node: a list of parts, each a distribution with its parameters and a count, and a shift.

``{"parts": [{"law": {"law": "laplace", "scale": "2"}, "count": "4"}], "shift": "0"}`` is the sum of four
independent Laplace variables. The distributions are written as in ``dpaudit.distributions``. In addition,
``finite`` has ``values`` and ``weights``, and ``bounded`` with ``lower`` and ``upper`` means every
distribution on an interval, minus its mean.

A claim about noise names it as text (``of``, ``event``). A certificate is about the claim if the text equals
the name that is derived here from the distribution itself (``described``), or if the node's ``stands_for`` is
that text. In the second case, the certificate assumes that the text means this distribution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpaudit.kernel.kernel_t0 import Parameters
from dpaudit.kernel.t2.noise import (
    Binomial,
    Bounded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Finite,
    Gaussian,
    Laplace,
    Noise,
    Part,
    Skellam,
)

__all__ = ["read_noise", "subject"]

MAX_PARTS = 50
MAX_COUNT = 10**9
MAX_OUTCOMES = 2000

#: Longer names are cut to this length, and a digest is appended.
MAX_NAME = 300


def read_noise(parameters: Parameters) -> tuple[Noise, str]:
    """Return the noise of a node and its name."""
    parts, names = [], []
    for number, entry in enumerate(parameters.entries("parts", most=MAX_PARTS)):
        table = Parameters(entry, rule=f"{parameters.rule}.parts[{number}]")
        count = table.integer("count", low=1, high=MAX_COUNT)
        distribution = table.table("law")
        part, name = _part(distribution)
        distribution.finish()
        table.finish()
        parts.append((part, count))
        names.append(name if count == 1 else f"{count} independent {name}")
    parameters.need(bool(parts), "parts must be at least one distribution, got none.")
    shift = parameters.number("shift")
    words = " + ".join(names) + (f" shifted by {shift}" if shift else "")
    return Noise(tuple(parts), shift), _shortened(words)


def subject(parameters: Parameters, described: str) -> tuple[str, tuple[str, ...]]:
    """Return the name that a claim must use, and the assumption that it means the noise of the node."""
    if "stands_for" not in parameters:
        return described, ()
    words = parameters.text("stands_for")
    return words, (f"{words!r} is about this noise: {described}",)


def _shortened(words: str) -> str:
    if len(words) <= MAX_NAME:
        return words
    return f"{words[:MAX_NAME]}... ({hashlib.sha256(words.encode()).hexdigest()})"


def _part(distribution: Parameters) -> tuple[Part, str]:
    kind = distribution.choice("law", sorted(_READERS.keys() | _ONE_PARAMETER.keys()))
    if kind in _READERS:
        return _READERS[kind](distribution)
    make, key = _ONE_PARAMETER[kind]
    value = distribution.positive(key)
    return make(value), f"{make.__name__}({key}={value})"


def _numbers(distribution: Parameters, name: str) -> list[Fraction]:
    return [distribution.number(name, value) for value in distribution.entries(name, most=MAX_OUTCOMES)]


def _probability(distribution: Parameters) -> Fraction:
    p = distribution.positive("p", zero=True)
    distribution.need(p <= 1, f"p must be in [0, 1], got {p}.")
    return p


def _polya_difference(distribution: Parameters) -> tuple[Part, str]:
    shape, rate = distribution.positive("shape"), distribution.positive("log_ratio")
    return DiscreteLaplace(1 / rate, shape), f"PolyaDifference(shape={shape}, log_ratio={rate})"


def _bernoulli(distribution: Parameters) -> tuple[Part, str]:
    p = _probability(distribution)
    return _successes(1, p), f"Bernoulli(p={p})"


def _binomial(distribution: Parameters) -> tuple[Part, str]:
    trials, p = distribution.integer("trials", low=0, high=MAX_COUNT), _probability(distribution)
    return _successes(trials, p), f"Binomial(trials={trials}, p={p})"


def _successes(trials: int, p: Fraction) -> Part:
    sure = trials == 0 or p in (0, 1)
    return Finite((trials * p,), (Fraction(1),)) if sure else Binomial(trials, p)


def _categorical(distribution: Parameters) -> tuple[Part, str]:
    weights = _numbers(distribution, "weights")
    return _finite(distribution, [Fraction(j) for j in range(len(weights))], weights)


def _finite_distribution(distribution: Parameters) -> tuple[Part, str]:
    values = _numbers(distribution, "values")
    return _finite(distribution, values, _numbers(distribution, "weights"))


def _finite(distribution: Parameters, values: list[Fraction], weights: list[Fraction]) -> tuple[Part, str]:
    good = len(values) == len(weights) > 0 and min(weights) >= 0 and sum(weights) > 0
    distribution.need(good, "weights must be one number >= 0 for each value, not all 0.")
    shown = ", ".join(f"{x}: {w}" for x, w in zip(values, weights, strict=True))
    return Finite(tuple(values), tuple(weights)), f"Finite({{{shown}}})"


def _bounded(distribution: Parameters) -> tuple[Part, str]:
    lower, upper = distribution.number("lower"), distribution.number("upper")
    distribution.need(lower < upper, f"lower must be below upper, got {lower} and {upper}.")
    return Bounded(lower, upper), f"variable in [{lower}, {upper}] minus its mean"


#: Distributions with one parameter above 0, and the parameter's name in the node.
_ONE_PARAMETER: dict[str, tuple[Any, str]] = {
    "laplace": (Laplace, "scale"),
    "gaussian": (Gaussian, "variance"),
    "exponential": (Exponential, "scale"),
    "discrete-laplace": (DiscreteLaplace, "scale"),
    "skellam": (Skellam, "variance"),
    "discrete-gaussian": (DiscreteGaussian, "sigma2"),
}

_READERS: dict[str, Callable[[Parameters], tuple[Part, str]]] = {
    "polya-difference": _polya_difference,
    "bernoulli": _bernoulli,
    "binomial": _binomial,
    "categorical": _categorical,
    "finite": _finite_distribution,
    "bounded": _bounded,
}
