"""Amplification by shuffling of a randomiser that is only (e0, d0)-locally private, in balls.

Statement. Let R be (e0, d0)-DP: the hockey-stick divergence of order E0 = e^e0 between R(x) and R(x') is at
most d0 < 1, for all inputs x, x'. If each of n users sends the output of R and the outputs are shuffled,
then at every epsilon >= 0

    delta(epsilon) <= d0 + (1 - d0) h(epsilon) + (n - 1) (1 + e^epsilon) e^-e0 d0,

h being the clone bound of ``shuffle`` with C ~ Bin(n - 1, (1 - d0) e^-e0) in place of Bin(n - 1, e^-e0). It
is at most d0(epsilon), the local randomiser's own delta at epsilon, by post-processing.

Proof. Fix the inputs x, x' of the changed user and densities p, p' of their outputs; r_i are those of the
others.

*A pair with a pure bound.* There are sub-densities g <= p, g' <= p' of mass 1 - d0 with g <= E0 g' and g' <=
E0 g. Take p ^ E0 p' and p' ^ E0 p, of masses 1 - a and 1 - b, a, b <= d0: each is at most E0 times the other
(where p > E0 p' the first is E0 p' and the second p', elsewhere likewise). If a > b, lower the second to
mass 1 - a without going below 1/E0 of the first: there is (1 - b) - (1 - a)/E0 >= a - b to take away, as a
<= 1. Then scale both to 1 - d0. Write p = g + d0 B, p' = g' + d0 B', G = g/(1 - d0), G' = g'/(1 - d0).

*The changed user.* For an event S, and distributions P, P' of what is seen, P(S) - e^epsilon P'(S) <= d0 + (1
- d0) (P_G(S) - e^epsilon P'_G(S)), where P_G, P'_G have G, G' in the place of p, p'.

*The others.* Let k = (1 - d0)/E0 and c = k (G + G')/2 = (g + g')/(2 E0) <= (p + p')/(2 E0). The mass of (c -
r_i)_+ is at most half that of (p/E0 - r_i)_+ plus half that of (p'/E0 - r_i)_+, at most d0/E0. Raise r_i to
the maximum of r_i and c, and take the same mass away where it is above c: r_i' >= c, at total variation
distance at most d0/E0. Replacing r_i by r_i' on both sides, one user after the other, moves P_G(S) -
e^epsilon P'_G(S) by at most (1 + e^epsilon) d0/E0 each.

*Clones.* G and G' are e0-indistinguishable: G = q U + (1 - q) U', G' = (1 - q) U + q U' with distributions U,
U', q = E0/(1 + E0). And r_i' = k (U + U')/2 + (1 - k) rest_i. Reveal who is drawn from a rest, and the
outputs; the remainder is C + 1 draws from U and U', C ~ Bin(n - 1, k), of which C are fair and the changed
user's is U with probability q or 1 - q. That is the pair of ``shuffle``. ∎

Feldman, McMillan, Talwar 2021, Theorem 3.8 states (1 + e^epsilon)(1 + e^-e0/2) n d0 for the part of d0, with
the closed form of their Theorem 3.1 for h at e^-e0. The constant here is smaller, because the clones are
required of g and g' and not of p and p' after these were changed. The cost is the factor 1 - d0 in the number
of clones.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpaudit.kernel.ball import ball, enclose
from dpaudit.kernel.t2.shuffle import clones_delta

__all__ = ["approximate_clones_delta"]


def approximate_clones_delta(*, users: int, local: Fraction, spare: Fraction, epsilon: Fraction) -> arb:
    """Return a ball whose upper end bounds delta at ``epsilon`` >= 0 of n = ``users`` shuffled outputs.

    The randomiser is (``local``, ``spare``)-DP, with ``spare`` in [0, 1).
    """
    clones = clones_delta(users=users, local=local, epsilon=epsilon, kept=1 - spare)
    swapped = enclose(lambda: (users - 1) * (1 + ball(epsilon).exp()) * ball(-local).exp() * ball(spare))
    return ball(spare) + ball(1 - spare) * clones + swapped
