"""Determine the distribution of the noise in one returned number from its draws.

The distribution of a draw is read from the family and the parameters of the call. The known sums are one
Laplace variate, normal variates, and Pólya (negative binomial) variates of one ratio of which equal shares
are added and subtracted. Shares of 1 make discrete Laplace noise (Goryczka and Xiong 2017). A Poisson variate
of a gamma variate is Pólya.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.blackbox.recorded.trace import Draw, number

__all__ = [
    "LAPLACE",
    "NORMAL",
    "SHARES",
    "Mixture",
    "Noise",
    "Term",
    "constant_of",
    "mixtures",
    "noise_of",
    "term_of",
]

LAPLACE, NORMAL, DISCRETE, SHARES = "Laplace", "normal", "discrete Laplace", "shares of discrete Laplace"
_LAPLACES = {"laplace": "scale"}
_NORMALS = {"normal": "scale", "gauss": "sigma", "normalvariate": "sigma", "norm": "scale"}
CLOSE = 1e-9

#: The index of a gamma draw, and the factor by which the draw becomes a mean.
Mixture = tuple[int, float]


@dataclass(frozen=True)
class Term:
    """Noise of one drawn number. ``spread`` is a scale, a deviation, or the ratio of a Pólya variate.

    ``shape`` is the shape of the Pólya variate.
    """

    kind: str
    spread: float
    shape: float = 1.0


@dataclass(frozen=True)
class Noise:
    """Noise of one returned number.

    Attributes
    ----------
    kind : str
        The family.
    spread : float
        The scale of Laplace noise, or the deviation of normal noise.
    share : float
        The share of discrete Laplace noise, in (0, 1].
    ratio : float or None
        The ratio of the Pólya shares.
    """

    kind: str
    spread: float
    share: float = 1.0
    ratio: float | None = None

    def __str__(self) -> str:
        word = "deviation" if self.kind == NORMAL else "scale"
        part = f" ({self.share:.3g} of it)" if self.share < 1 else ""
        return f"{self.kind} noise of {word} {self.spread:.4g}{part}"


def mixtures(draws: Sequence[Draw]) -> dict[int, Mixture]:
    """Map each Poisson draw whose mean is an earlier gamma draw to that draw and the factor between them.

    A single gamma variate must equal the mean. An array may be multiplied by one factor.
    """
    found: dict[int, Mixture] = {}
    waiting: list[int] = []
    for index, draw in enumerate(draws):
        if draw.family in ("gamma", "standard_gamma"):
            waiting.append(index)
        elif draw.family == "poisson":
            mean = np.ravel(np.asarray(draw.parameters.get("lam", draw.parameters.get("mu")), dtype=float))
            for gamma in reversed(waiting):
                factor = _factor(np.ravel(np.asarray(draws[gamma].values, dtype=float)), mean)
                if factor is not None:
                    found[index] = (gamma, factor)
                    waiting.remove(gamma)
                    break
    return found


def _factor(values: NDArray[np.float64], mean: NDArray[np.float64]) -> float | None:
    """Return the factor from ``values`` to ``mean``, or None."""
    if len(values) != len(mean) or not len(mean) or not values.max() > 0:
        return None
    factor = float(mean.max() / values.max()) if len(mean) > 1 else 1.0
    return factor if np.allclose(mean, factor * values, rtol=CLOSE, atol=0) else None


def term_of(draws: Sequence[Draw], mixed: Mapping[int, Mixture], index: int, element: int) -> Term | None:
    """Return the noise of one drawn number, or None for an unknown distribution.

    ``mixed`` is the result of ``mixtures``.
    """
    draw = draws[index]

    def of(name: str, default: float | None = None) -> float | None:
        return _entry(draw.parameters.get(name, default), draw, element)

    family = draw.family
    if family in _LAPLACES or family in _NORMALS:
        spread = of(_LAPLACES.get(family) or _NORMALS[family])
        return None if spread is None else Term(LAPLACE if family in _LAPLACES else NORMAL, spread)
    if family == "standard_normal":
        return Term(NORMAL, 1.0)
    if family == "dlaplace":
        rate = of("a")
        return Term(DISCRETE, 1 / rate) if rate else None
    if family in ("geometric", "geom", "negative_binomial", "nbinom"):
        p, shape = of("p"), 1.0 if family.startswith("geom") else of("n")
        return None if p is None or shape is None else Term(SHARES, 1 - p, shape)
    return _poisson_of_gamma(draws, mixed[index], element) if index in mixed else None


def _poisson_of_gamma(draws: Sequence[Draw], mixture: Mixture, element: int) -> Term | None:
    gamma, factor = draws[mixture[0]], mixture[1]
    shape = _entry(gamma.parameters.get("shape"), gamma, element)
    scale = _entry(gamma.parameters.get("scale", 1.0), gamma, element)
    if shape is None or scale is None:
        return None
    return Term(SHARES, factor * scale / (1 + factor * scale), shape)


def _entry(value: Any, draw: Draw, element: int) -> float | None:
    try:
        return float(np.broadcast_to(np.asarray(value, dtype=float), np.shape(draw.values)).flat[element])
    except (TypeError, ValueError):
        return None


def noise_of(terms: Sequence[Term | None], slopes: Sequence[float]) -> Noise | None:
    """Return the distribution of the sum of slope times number, or None if it is unknown."""
    kinds = {term.kind if term else "" for term in terms}
    sizes = [abs(slope) for slope in slopes]
    if len(kinds) != 1:
        return None
    known = [term for term in terms if term]
    if kinds == {NORMAL}:
        return Noise(NORMAL, math.hypot(*(a * term.spread for a, term in zip(sizes, known, strict=True))))
    if kinds <= {LAPLACE, DISCRETE} and len(known) == 1:
        return Noise(known[0].kind, sizes[0] * known[0].spread)
    if kinds == {SHARES}:
        return _of_shares(known, slopes)
    return None


def _of_shares(terms: Sequence[Term], slopes: Sequence[float]) -> Noise | None:
    ratio, size = terms[0].spread, abs(slopes[0])
    same = all(
        math.isclose(term.spread, ratio, rel_tol=CLOSE) and math.isclose(abs(slope), size, rel_tol=1e-6)
        for term, slope in zip(terms, slopes, strict=True)
    )
    sides = [
        sum(term.shape for term, slope in zip(terms, slopes, strict=True) if slope * sign > 0)
        for sign in (1, -1)
    ]
    if not same or not 0 < ratio < 1 or not math.isclose(*sides, rel_tol=CLOSE):
        return None
    share = min(1.0, round(sides[0], 9))
    kind = DISCRETE if math.isclose(sides[0], 1, rel_tol=CLOSE) else SHARES
    return Noise(kind, size / -math.log(ratio), share if kind == SHARES else 1.0, ratio)


def constant_of(draw: Draw) -> str:
    """Return why every number of a draw is constant whatever the generator, or an empty text."""
    given = {name: number(value) for name, value in draw.parameters.items()}
    family, n, p = draw.family, given.get("n"), given.get("p")
    if family == "binomial" and n is not None and int(n) == 0:
        truncated = f" because n = {n:g} is truncated to 0" if n else ""
        return f"is always 0{truncated}"
    if family in ("binomial", "binom", "bernoulli") and p in (0.0, 1.0):
        return f"is constant because p = {p:g}"
    if family in (*_LAPLACES, *_NORMALS, "gumbel", "logistic", "cauchy", "gamma", "exponential", "expon"):
        spread = given.get("scale", given.get("sigma"))
        return "is constant because its scale is 0" if spread == 0 else ""
    if family == "poisson" and given.get("lam", given.get("mu")) == 0 and draw.source != "scipy":
        return "is always 0 because its mean is 0"
    return ""
