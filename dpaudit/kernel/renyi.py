"""Renyi divergences of lattice noise at any real order a > 1, by sums with proved tails, and the step to
vectors under an l2 bound.

R_a(p || p_D) = log(sum over x of p(x)^a p(x - D)^(1 - a)) / (a - 1). Write g(x) for the summand.

Skellam of variance v, p(x) = e^-v I_|x|(v), u_n = I_{n+1}/I_n. From I_{n-1} = I_{n+1} + (2n/v) I_n and u_n <=
u_{n-1} (log-concavity) follow u_n <= U_n and u_n >= U_{n+1}, U_n = v / (n + sqrt(n^2 + v^2)) =
exp(-asinh(n/v)): insert u_n <= u_{n-1} into 1/u_{n-1} = 2n/v + u_n, either way. Hence
* left, x = -n <= 0: g(x-1)/g(x) = u_n (u_n/u_{n+D})^(a-1) <= rho(n) = U_n (U_n/U_{n+D+1})^(a-1), which falls
  in n because asinh is concave on n >= 0; so the sum over x < -n is at most g(-n) rho(n) / (1 - rho(n)) once
  rho(n) < 1;
* right, x >= D: g(x+1)/g(x) = u_x (u_x/u_{x-D})^(a-1) <= U_x; the sum over x > n is at most g(n) U_n / (1 -
  U_n). ∎

Discrete Gaussian of variance parameter v: R_a <= a D^2 / 2v. Proof. a x^2 + (1-a)(x-D)^2 = (x - (1-a)D)^2 -
a(a-1)D^2, and the theta sum of a shifted lattice is largest at shift 0 (Poisson summation: its Fourier
coefficients are positive). ∎

By F1 of ``divergence`` the pair with shift D dominates all smaller ones in the Blackwell order, so R_a, an
increasing function of an f-divergence, is largest at the largest shift; both laws are symmetric, so both
directions agree.

Fact F5 (vectors). Let kappa = max over 1 <= D <= g, both directions, of R_a(p || p_D) / D^2. For independent
coordinates and every integer shift vector with |D_j| <= g, R_a is the sum of R_a(p || p_{D_j}) <= kappa sum
D_j^2. So an l2 bound R gives kappa R^2, whatever the worst direction is. ∎ For laws on a bounded support
(binomial) replace p by its restriction to a range [low, high] on the side of P: with G = {all coordinates in
range}, H_E(P || Q) <= P(not G) + H_E(P restricted to G || Q), and the bound of H_E by exp((a-1)(R_a - e)) /
(a-1) (1 - 1/a)^a holds for measures of mass at most 1, since (1 - exp(e - L))_+ <= exp((a-1)(L - e)) / (a-1)
(1 - 1/a)^a pointwise (maximise over L). ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from dpaudit.errors import InvalidParameterError
from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.lattice import LogConcave, Skellam

__all__ = ["kappa", "restricted_renyi", "skellam_renyi"]

MAX_TERMS = 2_000_000


def skellam_renyi(variance: Fraction, *, shift: int, order: Fraction) -> Any:
    """R_a(p || p_shift) of Skellam noise, a = ``order`` > 1, ``shift`` >= 0; about 60 correct bits."""
    if order <= 1:
        raise InvalidParameterError(
            f"order must be greater than 1, got {order}; use a pure claim for the limit."
        )
    if shift == 0:
        return arb(0)
    return enclose(lambda: _skellam_sum(variance, shift, order).log() / ball(order - 1))


def _skellam_sum(variance: Fraction, shift: int, order: Fraction) -> Any:
    v, a = ball(variance), ball(order)
    reach = int((order - 1) * shift) + shift + 16
    while True:
        if reach + shift > MAX_TERMS:
            raise InvalidParameterError(
                f"a Renyi sum must have at most {MAX_TERMS} terms; use a smaller order or shift."
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


def _ratio(v: Any, n: int) -> Any:
    """U_n, at least I_{n+1}(v)/I_n(v)."""
    return v / (n + (arb(n) ** 2 + v * v).sqrt())


def restricted_renyi(logs: Sequence[Any], *, shift: int, order: Fraction) -> Any:
    """log(sum of p(x)^a p(x - shift)^(1-a)) / (a - 1) over the x for which both logs are listed
    (``logs[i]`` = log p(i)), at the working precision.
    """
    a = ball(order)
    total = arb(0)
    for here, there in zip(logs[shift:], logs, strict=False):
        total += (a * here + (1 - a) * there).exp()
    return total.log() / ball(order - 1)


def kappa(law: LogConcave, *, low: int, high: int, reach: int, order: Fraction) -> Any:
    """max over 1 <= D <= ``reach`` and both directions of R_a(p on [low, high] || p_D) / D^2 (F5), as a ball.

    The law must have mass at every point from ``low - reach`` to ``high + reach``.
    """
    logs = [p.log() for p in law.masses(low - reach, high + reach)]
    best = arb(0)
    for shift in range(1, reach + 1):
        # p(x) against p(x - D) for x in [low, high]; and against p(x + D), read from the other end
        forth = restricted_renyi(logs[reach - shift : len(logs) - reach], shift=shift, order=order)
        back = restricted_renyi(logs[reach : len(logs) - reach + shift][::-1], shift=shift, order=order)
        best = best.max(forth / shift**2).max(back / shift**2)
    if not best.is_finite():
        raise InvalidParameterError(
            "every point within reach of the range must have positive mass; use a narrower range."
        )
    return best
