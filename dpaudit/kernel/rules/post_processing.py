"""Rule ``post-processing``: what is computed from an outcome and from public data costs nothing.

Statement. If the premise holds for M, it holds for f(M, U), f any function, U randomness independent of the
data.

Proof. For an event S and fixed u, {y: f(y, u) in S} is an event of M, so every bound of the form "P(E) <=
g(P'(E)) for all E" is inherited; average over u (g concave or linear: hockey-stick divergences are jointly
convex). Renyi divergences satisfy the data processing inequality. ∎

Source: Dwork and Roth 2014, Proposition 2.1; Bun and Steinke 2016, Lemma 2.2. ``function`` says in words what
is computed, and it is not checked: that nothing else reaches the outcome is what the audit of the program
tests.
"""

from __future__ import annotations

from dpaudit.kernel.terms import Guarantee, Parameters, Setting, rule

__all__: list[str] = []


@rule("post-processing", premises=(1, 1))
def _post_processing(parameters: Parameters, premises: tuple[Guarantee, ...], setting: Setting) -> Guarantee:
    parameters.text("function")
    return premises[0]
