"""Follow noise whose scale is private, such as ``median + 6 * s / epsilon * rng.standard_cauchy()``.

``Scaled`` holds the noise, the step ``by`` of its scale, and the released value. Sums with private numbers
and constant factors keep it. Every other use releases it. The kernel must derive that the scale is a smooth
bound on the change of the value (``kernel.values.private_scale``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.private_scale import is_scale
from dpaudit.prover.values.joins import unwrap_joined
from dpaudit.prover.values.operations import LATER, PLAIN, binary, content, published, unary
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import Draw, Joined, Private, Public, Scaled

__all__ = ["scaled_draw"]

LAWS = ("laplace", "cauchy")


def scaled_draw(run: Run, by: Any, draw: Draw, factor: Fraction = Fraction(1)) -> Scaled:
    """Return a draw of noise times a private number, which must be a possible scale."""
    private = unwrap_joined(by)
    if draw.distribution not in LAWS or draw.shape != () or not is_scale(private.info):
        run.refuse(
            "the scale of the noise is private. It must be a smooth upper bound of the local sensitivity of"
            " an order statistic: a maximum of differences of entries of np.sort(x) times constants, for a"
            " known number of records in a bounded range. The noise must be Laplace or Cauchy"
        )
    return Scaled(0, private, factor, draw)


def _product(run: Run, value: Any, factor: Fraction, draw: Draw, entry: int | None) -> Scaled | None:
    """Return a private number times noise as one value, or None if the number cannot be a scale."""
    private = unwrap_joined(value)
    fits = entry is None and draw.shape == () and draw.distribution in LAWS
    if not fits or not isinstance(private, Private) or not is_scale(private.info):
        return None
    return scaled_draw(run, private, draw, factor)


def _binary(run: Run, op: str, a: Any, b: Any) -> Any:
    x, y = content(a), content(b)
    scaled, other = (x, y) if isinstance(x, Scaled) else (y, x)
    if scaled.released is None and op in ("add", "sub") and isinstance(other, Private | Joined):
        private = unwrap_joined(other)
        if private.shape == ():
            return _moved(run, op, scaled, private, noise_first=scaled is x)
    alone = scaled.released is None and not isinstance(scaled.base, Private)
    constant = isinstance(other, PLAIN) and math.isfinite(other) and exact(other) != 0
    if alone and constant and (op == "mul" or (op == "div" and scaled is x)):
        by = exact(other) if op == "mul" else 1 / exact(other)
        return replace(scaled, factor=scaled.factor * by)
    return binary(
        run, op, *(published(run, one) if isinstance(content(one), Scaled) else one for one in (a, b))
    )


def _moved(run: Run, op: str, scaled: Scaled, other: Private, *, noise_first: bool) -> Scaled:
    """Return the sum with a private number, or the difference in either order."""
    sign = 1 if op == "add" or noise_first else -1
    if isinstance(scaled.base, Private):
        base = binary(run, op, *((scaled.base, other) if noise_first else (other, scaled.base)))
    else:
        base = unary(run, "neg", other) if op == "sub" and noise_first else other
    return replace(scaled, base=base, factor=sign * scaled.factor)


def _released(run: Run, scaled: Scaled) -> Public:
    """Return the outcome of the noise, or of a value with the noise."""
    if scaled.released is None:
        base, draw = run.lift(scaled.base if isinstance(scaled.base, Private) else 0.0), scaled.draw
        run.take(draw, None)
        release = {
            "law": draw.distribution,
            "node": base.node,
            "draw": draw.number,
            "entry": None,
            "factor": str(scaled.factor),
            "by": scaled.by.node,
        }
        if draw.distribution == "laplace":
            release["split"] = "0"  # chosen after all paths are known
        factor = float(scaled.factor)
        samples = [
            apply(
                lambda v, s, z: v + factor * s * z,
                *(run.sample(one, side) for one in (base, scaled.by, draw)),
            )
            for side in run.worlds.sides
        ]
        python = base.info.python and draw.python and scaled.by.info.python
        scaled.released = run.released(release, base.info, shape=(), kind="f", samples=samples, python=python)
    found: Public = scaled.released
    return found


LATER["scaled product"], LATER["scaled binary"], LATER["scaled released"] = _product, _binary, _released
