"""T1: exact Renyi divergences of Skellam noise, by sums with proved tails.

R_a(p || p_D) = log(sum over x of p(x)^a p(x - D)^(1 - a)) / (a - 1). Write g(x) for the summand.

Skellam of variance v, p(x) = e^-v I_|x|(v), u_n = I_{n+1}/I_n. From I_{n-1} = I_{n+1} + (2n/v) I_n and u_n <=
u_{n-1} (log-concavity) follow u_n <= U_n and u_n >= U_{n+1}, U_n = v / (n + sqrt(n^2 + v^2)) =
exp(-asinh(n/v)): insert u_n <= u_{n-1} into 1/u_{n-1} = 2n/v + u_n, either way. Hence
* left, x = -n <= 0: g(x-1)/g(x) = u_n (u_n/u_{n+D})^(a-1) <= rho(n) = U_n (U_n/U_{n+D+1})^(a-1), which falls
  in n because asinh is concave on n >= 0; so the sum over x < -n is at most g(-n) rho(n) / (1 - rho(n)) once
  rho(n) < 1;
* right, x >= D: g(x+1)/g(x) = u_x (u_x/u_{x-D})^(a-1) <= U_x; the sum over x > n is at most g(n) U_n / (1 -
  U_n). ∎

By F1 of ``divergence`` the shift D is the worst up to D, in either direction, for the distribution is
symmetric.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.errors import InvalidParameterError
from dpaudit.kernel.t1.recurrences import Skellam

__all__ = ["skellam_renyi"]

MAX_TERMS = 2_000_000


def skellam_renyi(variance: Fraction, *, shift: int, order: Fraction) -> arb:
    """Return R_a(p || p_shift) of Skellam noise, a = ``order`` > 1, ``shift`` >= 0, with about 60 correct
    bits.
    """
    if order <= 1:
        raise InvalidParameterError(f"order must be greater than 1, got {order}.", code="E-ORDER-RANGE")
    if shift == 0:
        return arb(0)
    return enclose(lambda: _skellam_sum(variance, shift, order).log() / ball(order - 1))


def _skellam_sum(variance: Fraction, shift: int, order: Fraction) -> arb:
    v, a = ball(variance), ball(order)
    reach = int((order - 1) * shift) + shift + 16
    while True:
        if reach + shift > MAX_TERMS:
            raise InvalidParameterError(
                f"a Renyi sum must have at most {MAX_TERMS} terms.", code="E-TERMS-TOO-MANY"
            )
        rho = _ratio(v, reach) * (_ratio(v, reach) / _ratio(v, reach + shift + 1)) ** (a - 1)
        if rho < 1:
            logs = [p.log() for p in Skellam(variance).masses(0, reach + shift)]
            terms = [
                (a * logs[abs(x)] + (1 - a) * logs[abs(x - shift)]).exp() for x in range(-reach, reach + 1)
            ]
            right = _ratio(v, reach)
            tails = terms[0] * rho / (1 - rho) + terms[-1] * right / (1 - right)
            total = sum(terms, arb(0))
            if tails <= total * arb(2) ** (-ctx.prec // 2):
                return total + arb(0).union(tails)
        reach += reach // 2


def _ratio(v: arb, n: int) -> arb:
    """Return U_n, which is at least I_{n+1}(v)/I_n(v)."""
    return v / (n + (arb(n) ** 2 + v * v).sqrt())
