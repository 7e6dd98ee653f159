"""Model private gradient descent of Algorithm 7 as a sequence of shuffled sums.

The module computes its number of steps, the budget and the noise of each call, the composition of all
calls, and one batch of Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audits.glm_bandits.shuffled_sums import Input, sheet_of, sums
from dpaudit.certify.build import Proof, compose_sequential
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.core.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, integer, precision, upper_short
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet

__all__ = ["Descent", "batch_proof", "descent"]


@dataclass(frozen=True, kw_only=True)
class Descent:
    """``steps`` calls of the vector sum, each at (``call_epsilon``, ``call_delta``) with ``sheet``.

    ``call_epsilon`` is rounded up, so that ``sheet`` has no more noise than printed.
    """

    steps: int
    call_epsilon: Fraction
    call_delta: Fraction
    sheet: VectorSheet

    def proof(self, *, epsilon: Fraction, delta: Fraction) -> Proof:
        """Certify the composition of all calls, each adaptively chosen, with all users in every call."""
        return sums(self.sheet, "vector", times=self.steps).proof(epsilon=epsilon, delta=delta)


def printed_steps(*, n: int, d: int, epsilon: ExactLike, delta: ExactLike) -> arb:
    """Return ε² n²/(d log³(nd/δ)), before it is rounded."""
    e, loss = exact(epsilon), exact(delta)
    return ball(e**2 * n**2 / d) / ln(n * d / loss) ** 3


def descent(*, n: int, d: int, epsilon: ExactLike, delta: ExactLike) -> Descent:
    """Return Algorithm 7 with its printed T, rounded down. Raise ``InvalidParameterError`` if T < 1."""
    e, loss = exact(epsilon), exact(delta)
    with precision(256):
        steps = integer(printed_steps(n=n, d=d, epsilon=e, delta=loss).floor())
    if steps < 1:
        raise InvalidParameterError(
            f"ε² n²/(d log³(nd/δ)) must be 1 or more, but is less at n = {n}; take more users."
        )
    call = upper_short(ball(e) / (2 * (2 * steps * ln(1 / loss)).sqrt()))
    call_delta = loss / (steps + 1)
    sheet = sheet_of(n=n, d=d, epsilon=call, delta=call_delta)
    return Descent(steps=steps, call_epsilon=call, call_delta=call_delta, sheet=sheet)


def batch_proof(
    *,
    n: int,
    d: int,
    epsilon: Fraction,
    delta: Fraction,
    matrix: Input = "rank-one",
    beyond: ExactLike = 1,
) -> Proof:
    """Certify one batch of Algorithm 1.

    The batch is its matrix sum, of weights up to ``beyond`` Δ, and its descent, each drawn for (ε/2, δ/2).
    """
    half = epsilon / 2, delta / 2
    one = sums(sheet_of(n=n, d=d, epsilon=half[0], delta=half[1]), matrix, beyond=beyond)
    run = descent(n=n, d=d, epsilon=half[0], delta=half[1])
    parts = [one.proof(epsilon=epsilon, delta=delta), run.proof(epsilon=epsilon, delta=delta)]
    return compose_sequential(parts)
