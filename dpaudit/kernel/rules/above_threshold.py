"""Rule ``above-threshold``: the sparse vector technique is pure DP.

Statement. Queries q_1, q_2, ... of sensitivity at most D, chosen adaptively, are compared with a noisy
threshold: answer "above" if q_t + nu_t >= T + rho, "below" otherwise; rho is drawn once with scale b, nu_t
afresh with scale c, both Laplace or one-sided exponential; stop after k answers "above". The answers are
epsilon-DP with

    epsilon = D/b + 2 k D/c in general,    D/b + k D/c if all queries move in the same direction
    (``monotone``),    D/c if only one query moves and its noise is Laplace (``one_query``).

Proof. Write z for T + rho, with density f, and S for the survival function of nu. The probability of the
answers is the integral over z of f(z) times the product of 1 - S(z - q_t) over the answers "below" and S(z -
q_t) over those "above". Compare with q' by the substitution z -> z + s. f(z + s) >= exp(-s/b) f(z) for s >= 0
(both noises), S falls, and -log S has slope at most 1/c (hazard rates, see ``noisy-max``).
* General: s = D. z + D - q'_t >= z - q_t, so "below" does not lose; z + D - q'_t <= z - q_t + 2D, so each
  "above" loses at most exp(2D/c).
* Monotone, q'_t in [q_t, q_t + D]: s = D. "Below" does not lose; z + D - q'_t <= z - q_t + D: each "above"
  loses at most exp(D/c).
* Monotone, q'_t in [q_t - D, q_t]: s = 0. "Below" does not lose, each "above" loses at most exp(D/c). Given
  the earlier answers the next query is the same function of the data's side, so adaptivity changes nothing. ∎

* One query (``one_query``), Laplace query noise: the answers are a post-processing of the noisy threshold and
  the noisy queries, of which one moves by at most D: epsilon = D/c, whatever k is. With one-sided noise, and
  wherever it is smaller, the monotone bound holds: one query moves in one direction.

The broken variants of the literature, by the same steps. Without a cut-off (Alg. 6) n queries cost k = n;
with query noise that is not scaled by k (Alg. 4) the bound above is the truth, (1 + 6k)/4 of what is claimed;
a noisy value released with the comparison's own noise (Alg. 3) is a post-processing of n noisy queries, nD/c;
without query noise (Alg. 5) no epsilon holds. The repaired ones: threshold noise redrawn after each "above"
(Alg. 2) is k runs with one answer each, in sequence; values released with fresh noise are k more releases.

Source: Lyu, Su, Li 2017, Theorems 2 and 3 (and their list of six variants that are not private). With the
threshold noise redrawn or the noisy value released the statement is another one.
"""

from __future__ import annotations

from dpaudit.kernel.rules.sensitivity import sensitivity
from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("above-threshold")
def _above_threshold(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    noise = parameters.choice("noise", ["laplace", "exponential"])
    moving = parameters.choice("range", ["general", "monotone", "one_query"])
    moved = sensitivity(parameters, "sensitivity", setting)
    answers = parameters.integer("answers", low=1, high=10**12)
    query = moved / parameters.positive("query_scale")
    pure = (
        moved / parameters.positive("threshold_scale") + (2 if moving == "general" else 1) * answers * query
    )
    return Guarantee(pure=min(pure, query) if moving == "one_query" and noise == "laplace" else pure)
