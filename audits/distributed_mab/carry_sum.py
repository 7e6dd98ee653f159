"""What ``CarrySum``, the benign relaxation, costs exactly: a batch's residue and noisy carry together.

The server sees Σ y_i + m Lap_Z(n/ε̂), as residue r and carry w. With a(z) the law of the integer Σ y_i,
messages in 0, ..., m - 1, P(r, w) is proportional to Σ_k a(r + k m) e^{-|w - k| ε̂/n} over k = 0, ..., n - 1.
Beyond these k the ratio of two such sums no longer depends on w, so n values of w and m residues are all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb_poly

from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import WrappedMod
from mechanisms.parameter_sheet import Sheet

__all__ = ["carry_loss"]


def carry_loss(sheet: Sheet, secagg_epsilon: Fraction, *, others: int) -> tuple[Any, int, int]:
    """The largest |log-ratio| of the server's view, as a ball, for one encoding 0 against g, all other
    encodings being ``others``; and the residue and carry where it is. About n³ m terms."""
    n, m = sheet.users, sheet.modulus
    wrapped = WrappedMod(sheet.share, modulus=m)
    noise = [wrapped.residue_ball(r) for r in range(m)]

    def message(encoded: int) -> Any:
        return arb_poly([noise[(r - encoded) % m] for r in range(m)])

    rest = message(others) ** (n - 1)
    sums = [_coefficients(rest * message(encoded), n * m) for encoded in (0, sheet.precision)]
    falls = [ball(-secagg_epsilon * k / n).exp() for k in range(n)]
    worst, where = arb(0), (0, 0)
    for r in range(m):
        for w in range(n):
            left, right = (
                sum((total[r + k * m] * falls[abs(w - k)] for k in range(n)), arb(0)) for total in sums
            )
            loss = abs((left / right).log())
            if loss.mid() > worst.mid():
                where = (r, w)
            worst = worst.max(loss)
    return worst, *where


def _coefficients(polynomial: Any, length: int) -> list[Any]:
    found: list[Any] = polynomial.coeffs()
    return found + [arb(0)] * (length - len(found))
