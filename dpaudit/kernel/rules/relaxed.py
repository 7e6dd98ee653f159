"""Rule ``relaxed``: what can be simulated from a private statistic, up to a factor, is private.

Statement. Let M be a mechanism with outcome s for which the premise holds: e-DP. Let S draw a hidden state Y
whose statistic s(Y) has the law of M's outcome, and show o given Y. Let a simulator exist, one law SIM(s) for
each s and none of the data, such that for all states y and events E

    exp(-h) P(SIM(s(y)) in E) <= P(S shows E given Y = y) <= exp(h) P(SIM(s(y)) in E),    h = ``security``.

Then o is (e + 2h)-DP, whichever S and SIM these are.

Proof. For neighbours x, x' average over Y, then use M: P_x(o in E) <= exp(h) P(SIM(M(x)) in E) <= exp(h + e)
P(SIM(M(x')) in E) <= exp(2h + e) P_x'(o in E); in the middle SIM is post-processing. ∎

Both factors exp(h) are needed: S may tell one neighbour from SIM by exp(h) and the other by exp(-h).

Source: Cheu and Yan 2021; Chowdhury and Zhou 2023, Definition 9 and the proof of Theorem 3, where M is a
modular sum. The rule speaks of all such S. ``release`` says in words which ones are meant; that these have a
simulator is not checked, as little as the function of ``post-processing``: it is to be shown where S is used.
"""

from __future__ import annotations

from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("relaxed", premises=(1, 1))
def _relaxed(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    parameters.text("release")
    if premises[0].pure is None:
        raise parameters.fail("the simulated statistic must have a pure bound, got none; use pure noise.")
    return Guarantee(pure=premises[0].pure + 2 * parameters.positive("security"))
