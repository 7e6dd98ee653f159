"""Rule ``noisy-max``: Report Noisy Max, the index of the largest noisy score, is pure DP.

Statement. Scores q_1, ..., q_K move between neighbours by d_1, ..., d_K with |d_i| <= D. Independent
continuous noise Z_i of hazard rate f/(1 - F) <= 1/b is added, and only the index of the maximum comes out.
The release is epsilon-DP with

* epsilon = D/b if only one score moves (``one_coordinate``);
* epsilon = D/b if all move in the same direction (``monotone``);
* epsilon = 2D/b in general (``general``).

Laplace, Gumbel and one-sided exponential noise of scale b have hazard rate <= 1/b.

Proof. Fix an index i and the noises of the others. Index i wins iff Z_i > t with t = max_{k != i} (q_k + z_k)
- q_i; ties have probability
0. With S = 1 - F, the hazard bound says that -log S has slope at most 1/b, so S(t) <= exp(|t - t'|/b) S(t')
   for all t, t'. Between neighbours t moves by (change of the maximum of the others) - d_i. The maximum moves
   by a number between min_{k != i} d_k and max_{k != i} d_k. One coordinate: either d_i = 0 or the others are
   unmoved, so |t - t'| <= D. Monotone: both terms lie in [0, D], or both in [-D, 0], so |t - t'| <= D.
   General: |t - t'| <= 2D. Average over the other noises, and sum over the indices in an event. ∎

Hazards. Exponential: f/S = 1/b on z >= 0. Laplace: 1/b for z >= 0; for z < 0, f/S = (e^{z/b}/2b) / (1 -
e^{z/b}/2) <= 1/b because e^{z/b} <= 1. Gumbel, with u = e^{-z/b}: f/S = (1/b) u / (e^u - 1) <= 1/b because
e^u >= 1 + u. ∎

Gaussian noise of variance v and K candidates (``candidates``): the index depends on differences of noisy
scores only, so it is a post-processing of the noisy scores projected orthogonally to (1, ..., 1), where noise
is N(0, v) and the change is d minus its mean. Its square is largest at the corners of the box of d: with m of
K coordinates at the upper end of a range R, m (K - m) / K R^2, at most floor(K^2/4)/K R^2. So mu^2 =
floor(K^2/4) R^2 / (K v) with R = 2D (general) or D (monotone), and (1 - 1/K) D^2 / v for one coordinate. For
K = 2 it is attained: the index is a threshold test on the difference. ∎

Laplace, Gumbel and exponential noise with two candidates: delta exactly, see
``dpaudit.kernel.two_candidates``. For Gumbel noise the same value bounds any number of candidates.
Proof. P_i is proportional to e^{q_i/b}, so log P_i/P'_i = d_i/b + constant lies in an interval of length r =
R/b. Among all pairs with ratio X = P/P' in [e^{t-r}, e^t] and mean 1 under P', delta = E'(X - e^epsilon)_+ is
largest for the two-point law on the ends, by the chord of this convex function. These two-point pairs have
odds ratio e^r: they are the pairs of two candidates, and the exact value is the maximum over t. ∎

Source: Dwork and Roth 2014, Claim 3.9 (monotone counts); Ding et al. 2021 (exponential). The claim with D/b
is false in general adjacency. For Gumbel noise the release is the exponential mechanism, whose log-ratios lie
in an interval of length epsilon; then it is (epsilon^2/8)-zCDP (Cesar and Rogers 2021, Lemma 3.4). Its
delta: Dong, Durfee, Rogers 2020, for bounded-range mechanisms.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule
from dpaudit.kernel.two_candidates import two_candidate_delta

__all__ = ["NOISES", "RANGES"]

NOISES = ("laplace", "gumbel", "exponential")
RANGES = ("one_coordinate", "monotone", "general")


@rule("noisy-max")
def _noisy_max(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    noise = parameters.choice("noise", (*NOISES, "gaussian"))
    moved = parameters.choice("range", RANGES)
    factor = 2 if moved == "general" else 1
    width = factor * sensitivity(parameters, "sensitivity", setting)
    if noise == "gaussian":
        count = parameters.integer("candidates", low=1, high=10**12)
        spread = Fraction(count - 1 if moved == "one_coordinate" else count**2 // 4, count)
        return Guarantee(gdp_squared=spread * width**2 / parameters.positive("variance"))
    epsilon = width / parameters.positive("scale")
    rho = epsilon**2 / 8 if noise == "gumbel" else None
    two = "candidates" in parameters and parameters.integer("candidates", low=1, high=10**12) == 2
    if not two and noise != "gumbel":
        return Guarantee(pure=epsilon, rho=rho)

    def profile(e: Fraction) -> Any:
        return two_candidate_delta(noise, ratio=epsilon, epsilon=e)

    return Guarantee(pure=epsilon, rho=rho, profile=profile)
