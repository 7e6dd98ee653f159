"""Derive the printed rates from the printed parameters, with exact exponents.

Symbols, all at least 1: T, d, e = 1/ε, s = κ*, q = κ/κ* (so κ = q s), p = (a logarithm). R and S are
constants if a claim leaves poly(R, S) open. If the sum of the printed terms does not bound a term, the row
gives a ray: the symbols as powers of one z along which the ratio grows. No regret is above RT, so a bound
on regret is compared only where it is not vacuous: the term must also outgrow T.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Role, Run
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.contextual.dominated_rates import Growth, growth
from dpaudit.reference.algorithms.contextual.exponents import Monomial, monomial
from dpaudit.suite import Measured, Sides, evidence, full, inequality, over

__all__ = ["DERIVATIONS", "Derivation", "rows"]

rows = Group("Rates: exponents from the printed parameters", kind="regret")


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """A comparison of ``terms``, with the symbols of ``put`` replaced, with the sum of the ``printed``
    terms.

    ``caps`` bound the same quantity as the terms do.
    """

    id: str
    source: str
    title: str
    terms: Sequence[str]
    printed: Sequence[str]
    caps: Sequence[str] = ()
    put: Sequence[tuple[str, str]] = ()
    role: Role = "step"
    expect: str = "verified"
    repairs: Sequence[str] = ()
    note: str = ""

    def derived(self) -> list[Monomial]:
        """Return the terms with all symbols replaced."""
        return [self._replaced(term) for term in self.terms]

    def compared(self) -> list[Monomial]:
        """Return the printed terms with all symbols replaced."""
        return [self._replaced(term) for term in self.printed]

    def growths(self) -> list[tuple[Monomial, Growth]]:
        """Return every derived term with its growth."""
        printed, caps = self.compared(), [monomial(cap) for cap in self.caps]
        return [(term, growth(term, printed, caps=caps)) for term in self.derived()]

    def _replaced(self, text: str) -> Monomial:
        values = {symbol: monomial(value) for symbol, value in self.put}
        factors = (monomial(part).at(**values) for part in text.split())
        return reduce(operator.mul, factors, monomial(""))


#: κ, σ and ν of (10): the square root of the variance proxy, and the optimisation error. Logarithms are left
#: out.
KAPPA = ("K", "q s")
SIGMA = ("sigma", "e s^-1")
NU = ("nu", "d^1/2 e")
ALL = (KAPPA, SIGMA, NU)

#: E.1 as printed, term by term. M, e^{3S} and powers of R and S are left out.
E1 = (
    "K^1/3 d^4/3 T^1/3 d^2/3", "K^1/3 d^4/3 T^1/3 sigma^2/3", "K^1/3 d^4/3 T^1/3 nu^1/3",
    "d s^-1/2 T^1/2 d^1/2", "d s^-1/2 T^1/2 sigma^1/2", "d s^-1/2 T^1/2 nu^1/4",
)  # fmt: skip
#: (43) with γ of (9) and φ = √κ γ²: the same except for ν, which enters γ² fully and γ by its root.
TRUE_E1 = (
    "K^1/3 d^4/3 T^1/3 d^2/3", "K^1/3 d^4/3 T^1/3 sigma^2/3", "K^1/3 d^4/3 T^1/3 nu^2/3",
    "d s^-1/2 T^1/2 d^1/2", "d s^-1/2 T^1/2 sigma^1/2", "d s^-1/2 T^1/2 nu^1/2",
)  # fmt: skip
#: E.1 has e^S squared in its first terms, and 5.1 and D.3 have it cubed. For logistic rewards κ* <= κ <= 4
#: e^S: e^S = q s x with x >= 1 makes the third power as favourable to the printed bound as possible.
NORM = ("E", "q s x")
E1_NORM = (*(f"{term} E^2" for term in E1[:3]), *E1[3:])
#: (19) if √d is above the logarithm, so that both are powers of d. ν_1 and ν_2 of I.6 and I.8.
RIDGE = ("lam", "d e s^-1")
#: Printed rates: 5.1 and D.3 with e^{3S} as E^3, and without.
T51_NORM = ("d^3/2 T^1/2 s^-1/2", "d^9/8 T^1/2 s^-1 e^1/2", "d^2 T^1/3 q^1/3 s^-1/3 e^2/3 E^3")
D3 = (
    "d^3/2 T^1/2 s^-1/2", "d^9/8 T^1/2 s^-1 e^1/2", "d^2 T^1/3 q^1/3 s^1/3",
    "d^3/2 T^1/3 q^1/3 s^-1/3 e^2/3",
)  # fmt: skip
D3_NORM = (*D3[:2], *(f"{term} E^3" for term in D3[2:]))
T62 = ("d T^1/2 s^-1/2", "d^3/4 T^1/2 s^-1 e^1/2")
#: No regret is above R T.
ROUNDS = ("T",)
#: The first display of T.2 in units of DL, with η = 2D/(L √t), and n from the printed t = ε² n²/(d p³).
DESCENT = ("t^-1/2", "t^1/2 d p^2 e^2 n^-2", "z p d^1/2 e n^-1 t^-1")
DESCENT_PUT = (("n", "t^1/2 d^1/2 p^3/2 e"),)
#: J.1 with β of (20) and γ of (21): √d β √(T/κ*), and d κ γ².
J1 = ("d^1/2 beta T^1/2 s^-1/2", "d K gamma^2")
J1_PUT = (KAPPA, ("beta", "d^1/2 e^1/2 s^-1/2"), ("gamma", "d e s^-2"))

DERIVATIONS: tuple[Derivation, ...] = (
    Derivation(
        id="SAR-F/43",
        source="Appendix F, (42), (43)",
        title="(43): R B_1 and φ d² α/√B_1 at the chosen B_1",
        terms=("R B", "f d^2 a B^-1/2"),
        put=(("B", "f^2/3 d^4/3 a^2/3 R^-2/3"),),
        printed=("f^2/3 d^4/3 a^2/3 R^-2/3",),
        expect="refuted",
        note="both are R times the printed (φ d² α)^(2/3) R^(1/3); (42) omits d² in its second term. At "
        "R = 1 there is no loss, and 5.1 leaves poly(R, S) free",
    ),
    Derivation(
        id="SAR-E.1/44",
        source="Appendix F, (44)",
        title="(44) from (43) with γ of (9): the powers of ν",
        terms=TRUE_E1,
        printed=E1,
        expect="refuted",
        note="(9) has √(4RSν) outside the root, so γ² contains ν and γ contains √ν; (44) has √ν and "
        "ν^(1/4). In 5.1, d^(9/8) becomes d^(5/4), and the power of κ* there becomes -1/2",
    ),
    Derivation(
        id="SAR-T5.1/from-E.1",
        source="Theorem 5.1",
        title="5.1 from E.1 with σ and ν of (10)",
        terms=E1_NORM,
        put=(*ALL, NORM),
        caps=ROUNDS,
        printed=T51_NORM,
        expect="refuted",
        note="d^(9/8) √T/(√κ* ε^(1/4)) is above both √T terms where κ* and 1/ε are large, T above a power of "
        "them and S = log κ*, a logarithm. d² κ^(1/3) T^(1/3) of E.1 is not divided by (ε κ*)^(2/3) either, "
        "but for logistic rewards e^(3S) for E.1's e^(2S) makes up for that",
    ),
    Derivation(
        id="SAR-T5.1/leading",
        source="Theorem 5.1",
        title="The √T terms of E.1 at fixed κ*: d^(3/2) √T + d^(9/8) √(T/ε)",
        terms=E1[3:],
        put=(("s", ""), ("sigma", "e"), NU),
        printed=("d^3/2 T^1/2", "d^9/8 T^1/2 e^1/2"),
        note="σ is taken at κ* = 1",
    ),
    Derivation(
        id="SAR-D.3/from-E.1",
        source="Theorem D.3",
        title="D.3 from E.1 with σ and ν of (10)",
        terms=E1_NORM,
        put=(*ALL, NORM),
        caps=ROUNDS,
        printed=D3_NORM,
        expect="refuted",
        note="ν leaves d^(9/8) √T/(√κ* ε^(1/4)), which has a lower power of κ* than printed; in the T^(1/3) "
        "terms e^(3S) for E.1's e^(2S) makes up for it where κ <= e^S, as for logistic rewards",
    ),
    Derivation(
        id="SAR-T5.1/repaired",
        source="repair of Theorem 5.1",
        role="repaired",
        repairs=("SAR-T5.1/from-E.1", "SAR-D.3/from-E.1"),
        title="(43) with (8)-(10): every term, d^(5/4) √T/√(κ* ε) among them",
        terms=TRUE_E1,
        put=ALL,
        printed=(*D3, "d^5/4 T^1/2 s^-1/2 e^1/2", "d^5/3 T^1/3 q^1/3 s^1/3 e^2/3"),
        note="the privacy cost is d^(1/8) √κ* above the printed d^(9/8)/(κ* √ε)",
    ),
    Derivation(
        id="SAR-T6.2/from-J.1",
        source="Theorem 6.2",
        title="6.2 from J.1 with β of (20): its √T part",
        terms=J1[:1],
        put=J1_PUT,
        caps=ROUNDS,
        printed=T62,
        expect="refuted",
        note="√d β √(T/κ*) is d √T/(κ* √ε): (20) has d^(1/2) where d^(3/4) takes d^(1/4), as √λ of (19) has "
        "while √d is below log(16T/ζ); Algorithm 2 plays with (20)",
    ),
    Derivation(
        id="SAR-T6.2/repaired",
        source="repair of Theorem 6.2",
        role="repaired",
        repairs=("SAR-T6.2/from-J.1", "SAR-I.8/exploration"),
        title="J.1 with (20) and (21): d √T/(κ* √ε) + d³ κ/(ε² κ*⁴)",
        terms=J1,
        put=J1_PUT,
        printed=("d T^1/2 s^-1 e^1/2", "d^3 q s^-3 e^2"),
        note="d^(1/4) more in the private √T term; (20) and (21) do not suffice at every κ, κ* (SAR-PAR)",
    ),
    Derivation(
        id="SAR-I.8/exploration",
        source="Theorem I.8",
        title="I.8's last term from 8 d R³ κ γ² log T",
        terms=J1[1:],
        put=J1_PUT,
        caps=ROUNDS,
        printed=("q s s^-2 e^2",),
        expect="refuted",
        note="(21) has one factor d in γ, so the term is d³; poly(R, S) contains no d",
    ),
    Derivation(
        id="SAR-PAR",
        source="Theorem I.8, (52), (53)",
        role="printed",
        expect="refuted",
        title="γ(λ_max) of (60) is at most γ of (21) for an appropriate constant c",
        terms=("lam^1/2", "d lam^-1/2", "g^1/2 d^1/2 e^1/2 K^1/4"),
        put=(RIDGE, KAPPA, ("g", "d e s^-2")),
        printed=("d e s^-2",),
        note="4 R² S √λ_max has κ*^(-1/2), (21) κ*^-2; √ν_1 has κ^(1/4), which (52) drops. Slopes of at most "
        "1/κ* take S of the order log κ* for R = 1, a logarithm",
    ),
    Derivation(
        id="SAR-PAR/I.8",
        source="Theorem I.8",
        expect="refuted",
        title="The same with the κ* of I.8's proof in (21), not its square",
        terms=("lam^1/2", "d lam^-1/2", "g^1/2 d^1/2 e^1/2 K^1/4"),
        put=(RIDGE, KAPPA, ("g", "d e s^-1")),
        printed=("d e s^-1",),
        note="κ^(1/4) of √ν_1 is missing here as well, and κ*^(1/2)",
    ),
    Derivation(
        id="SAR-PAR/beta",
        source="Theorem I.8, (54)-(57)",
        role="printed",
        expect="refuted",
        title="β(λ_max, λ_min) of (71) is at most β of (20) for a constant C",
        terms=("lam^1/2", "d lam^-1/2", "nu^1/2"),
        put=(RIDGE, NU),
        printed=("d^1/2 e^1/2 s^-1/2",),
        note="√ν_2 has no κ*, (20) κ*^(-1/2): (57) divides (56) by √κ*",
    ),
    Derivation(
        id="SAR-PAR/repaired",
        source="repair of (20) and (21)",
        role="repaired",
        repairs=("SAR-PAR", "SAR-PAR/beta"),
        title="γ = d ε^-1 √κ + √(dκ*) and β = √(d/ε) + √(dκ*) would do, √d above the logarithm",
        terms=("lam^1/2", "d lam^-1/2", "g^1/2 d^1/2 e^1/2 K^1/4", "h^1/2 d^1/2 e^1/2 K^1/4", "nu^1/2"),
        put=(RIDGE, KAPPA, NU, ("g", "d e q^1/2 s^1/2"), ("h", "d^1/2 s^1/2")),
        printed=("d e q^1/2 s^1/2", "d^1/2 s^1/2"),
        note="g and h are the two terms of γ, which ν_1 holds; its cost in J.1: d³ κ²/ε² for d³ κ/(ε² κ*⁴)",
    ),
    Derivation(
        id="SAR-ABS",
        source="Abstract",
        title="Õ(d^(3/2) √T/√ε) bounds 5.1's √T terms, κ* fixed, ε ≤ 1",
        terms=("d^3/2 T^1/2", "d^9/8 T^1/2 e^1/2"),
        printed=("d^3/2 T^1/2 e^1/2",),
        role="printed",
        note="for ε in (1, 5), where 5.1 applies too, the O() covers the factor √5; SAR-ABS/joint has the "
        "other",
    ),
    Derivation(
        id="SAR-ABS/joint",
        source="Abstract",
        title="Õ(d √T/√ε) bounds 6.2's √T terms, κ* fixed, ε ≤ 1",
        terms=("d T^1/2", "d^3/4 T^1/2 e^1/2"),
        printed=("d T^1/2 e^1/2",),
        role="printed",
        note="from J.1 with (20) the rate is the same: d √(T/ε). 6.2 allows every ε, and its term without ε, "
        "d √T, is above d √(T/ε) by √ε from ε = 1 on",
    ),
    Derivation(
        id="SAR-ABS/no-extra-d",
        source="Section 9",
        title="Joint: no d beyond d √T in the √T terms of 6.2 and of J.1 with (20), κ* and ε fixed",
        terms=("d T^1/2", "d^3/4 T^1/2", *J1[:1]),
        put=(("beta", "d^1/2"), ("s", "")),
        printed=("d T^1/2",),
        role="printed",
        note="d √T is the rate without privacy that section 9 compares with; near-optimality in T is not "
        "looked at. J.1's second term has d³ log T: SAR-ABS/extra-d",
    ),
    Derivation(
        id="SAR-ABS/extra-d",
        source="Section 9, all terms of J.1",
        title="No d beyond d √T in J.1 with (20) and (21), for every T, κ, κ* and ε fixed",
        terms=("d T^1/2", "d^3"),
        caps=ROUNDS,
        printed=("d T^1/2",),
        role="what-if",
        expect="refuted",
        note="d κ γ² is d³, above d √T for T between d² and d⁴; section 9 speaks of T large",
    ),
    Derivation(
        id="SAR-R5.2",
        source="Remark 5.2",
        title="No κ in the √T terms of (43)",
        terms=TRUE_E1[3:],
        put=ALL,
        role="printed",
        printed=("d^3/2 T^1/2 s^-1/2", "d T^1/2 s^-1 e^1/2", "d^5/4 T^1/2 s^-1/2 e^1/2"),
        note="the printed bounds are free of q = κ/κ*; B_1 and the T^(1/3) terms are not",
    ),
    Derivation(
        id="SAR-T.2/first",
        source="Lemma T.2, its first display",
        role="printed",
        expect="refuted",
        title="The noise times the distance, (1/T) Σ <n_t, θ_t - θ*>, against T.2's first display",
        terms=("z^1/2 p e n^-1",),
        put=DESCENT_PUT,
        printed=DESCENT,
        note="in units of DL, as below. The proof leaves the term out (SAR-T.2s); its tail at level ζ is D σ "
        "√(log(1/ζ)/T), σ = √T L p/(ε n), and a linear loss of slope √z p L/(ε n) shows it. It matters only "
        "where log(1/ζ) is above d log(nd/δ): not at D.2's 1/T⁴",
    ),
    Derivation(
        id="SAR-T.2/second",
        source="Lemma T.2, (128)",
        role="printed",
        expect="refuted",
        title="The first display comes to (128) at the printed T and η: O((DL/(εn)) √(log²(dn/δ) log(T/ζ)))",
        terms=DESCENT,
        put=DESCENT_PUT,
        printed=("e n^-1 p z^1/2",),
        note="in units of DL; t is T, p is log(nd/δ), z is log(T/ζ). DL/√T is (DL/(εn)) √(d log³(nd/δ)): the "
        "printed bound drops √d. (10), (48) and I.6 have it",
    ),
    Derivation(
        id="SAR-NU",
        source="(10), Assumption D.2",
        title="ν of (10): n DL/√T at D = 2S, L = R + RS",
        terms=("n t^-1/2", "n t^1/2 d p^2 e^2 n^-2"),
        put=DESCENT_PUT,
        printed=("d^1/2 e p^3/2",),
        role="printed",
        note="summed loss, first display of T.2, its term in log(T/ζ)/T apart; O() free; L as if λ_max S/n "
        "were no part of it (SAR-LIP/D.2)",
    ),
    Derivation(
        id="SAR-NU/I.6",
        source="Lemma I.6",
        expect="refuted",
        title="ν_1 of I.6: n DL/√T at ε_o = ε/(6 √(2 c log(4/δ))), c = count1_cutoff",
        terms=("n t^-1/2",),
        put=(("n", "t^1/2 d^1/2 p^3/2 e c^1/2"),),
        printed=("c^1/2 e d^1/2 p",),
        note="T.2's own T has log³(nd/δ), (10) as well; I.6 prints log², half a power of the logarithm less",
    ),
)


def _compared(case: Derivation) -> Measured:
    """Return every derived term with its growth, as a table."""
    printed, found = case.compared(), case.growths()
    power = max(each.power for _, each in found)
    picture = table(
        title=f"{case.title}: each derived term against the sum of the printed terms",
        columns=["derived term", "outgrows the printed bound by", "along"],
        rows=[
            [str(term), f"z^({each.power})", ", ".join(f"{s} = z^({u})" for s, u in each.ray) or "bounded"]
            for term, each in found
        ],
    )
    names = " + ".join(str(term) for term in printed)
    notes = ["constants and logarithms that the title does not name are free", case.note]
    return Measured(
        low=power, high=power, samples=len(found), notes=[note for note in notes if note], plots=[picture],
        method="linear programming over exponents, checked in fractions", scope=f"against {names}",
    )  # fmt: skip


for _case in DERIVATIONS:

    @evidence(
        rows, _case.id, _case.source, at_most=0, quantity="power of growth beyond the printed", kind="regret",
        role=_case.role, expect=_case.expect, case=_case.title, derivation=_case,
        repairs=_case.repairs,
    )  # fmt: skip
    def derivation(run: Run, derivation: Derivation) -> Measured:
        """{case}

        Substitute the parameters into every term. The sum of the printed terms bounds a term exactly if its
        exponents lie below a convex combination of theirs. Otherwise a ray of parameters shows the growth.
        Every symbol is at least 1: T, d, e = 1/ε, s = κ*, q = κ/κ*. So ε ≤ 1 and κ* ≥ 1.
        """
        return _compared(derivation)


# Doubling


@inequality(
    rows, "SAR-R1.1", "Remark 1.1", over=over(power="1/3 1/2 2/3", log2_T=(1, 2, 5, 10, full(20, 40)))
)
def doubling(power: Fraction, log2_T: int) -> Sides:
    """Restarts at 1, 2, 4, ... multiply a regret bound T^a by a constant factor, 2^a/(2^a - 1)

    Compare the sum of (2^k)^a over the epochs begun before round T, at the worst T, the first round of the
    last epoch, with 2^a/(2^a - 1) T^a.

    Note: logarithms are smaller in earlier epochs and only help; the remark does not cover privacy; every
    user is in one epoch
    """
    step = (arb(2).log() * power.numerator / power.denominator).exp()
    total = sum((step**k for k in range(log2_T + 1)), arb(0))
    return total, step / (step - 1) * step**log2_T


rows.not_checkable(
    "SAR-E.1", reason="an O() on regret: SAR-E.1/44 and SAR-F/43 have its derivation, term by term"
)
rows.not_checkable(
    "SAR-T5.1",
    reason="an O() on regret; the derivation is in SAR-T5.1/from-E.1, SAR-T5.1/leading and SAR-T5.1/repaired",
)
rows.not_checkable("SAR-D.3", reason="an O() on regret: the derivation is in SAR-D.3/from-E.1")
rows.not_checkable(
    "SAR-T6.2", reason="an O() on regret: the derivation is in SAR-T6.2/from-J.1 and SAR-T6.2/repaired"
)
rows.not_checkable(
    "SAR-I.8", reason="an O() on regret: the derivation is in SAR-I.8/exploration and SAR-T6.2"
)
