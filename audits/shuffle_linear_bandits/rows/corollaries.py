"""Check the corollaries: batch sizes substituted into the rates, with exact exponents, and the effect of
their ranges of ε.

Symbols: T, d, e for 1/ε (or 1/ε₀), M rounds per user, L for the logarithm that a claim names (of T/δ, d²/δ,
1/δ₀), L2 for log(2/δ). All are at least 1 if ε <= 1. If ε may reach 15, a power of ε is at most 15^(1/2), a
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.contextual.exponents import Monomial, excess, monomial
from dpaudit.suite import Sides, full, inequality, integers, on, over, reals

__all__ = ["COROLLARIES", "Corollary", "rows"]

rows = Group("Regret: corollaries and orderings", kind="regret")


@dataclass(frozen=True, kw_only=True)
class Corollary:
    """A claim that ``terms``, with B replaced by ``batch``, are at most ``printed`` in every symbol.

    ``also`` holds further printed values (name, the formula that it comes from, as printed).
    """

    id: str
    source: str
    title: str
    terms: Sequence[str]
    printed: str
    batch: str = ""
    without: Sequence[str] = ()
    also: Sequence[tuple[str, str, str]] = ()
    note: str = "upper bounds are compared"
    replaced: dict[str, str] = field(default_factory=dict)

    def put(self, text: str) -> Monomial:
        """Return a term with all symbols replaced."""
        values = {"B": self.batch, **self.replaced} if self.batch else self.replaced
        return monomial(text).at(**{symbol: monomial(value) for symbol, value in values.items()})

    def compared(self) -> dict[str, Sides]:
        """Return all exponents after the substitution, with the printed ones."""
        terms = [self.put(term) for term in self.terms]
        found = excess(terms, monomial(self.printed), without=self.without)
        chain: dict[str, Sides] = {f"the exponent of {s}": pair for s, pair in found.items()}
        for name, formula, printed in self.also:
            for s, (power, wanted) in excess([self.put(formula)], monomial(printed)).items():
                chain[f"{name}: the exponent of {s}, distance"] = abs(power - wanted), Fraction(0)
        return chain


AMPLIFIED = ("d B", "L^1/4 L2^1/4 e^1/2 B^-1/4 d^3/4 T^3/4")
BINOMIAL = ("d B", "L^1/2 e^1/2 B^-1/4 d^3/4 T^3/4")
#: (dB + d sqrt(T) + sqrt(σT) d^(3/4)) of Lemma 3.9.
TEMPLATE = ("d B", "d T^1/2", "sigma^1/2 T^1/2 d^3/4")

COROLLARIES: tuple[Corollary, ...] = (
    Corollary(
        id="CZ22-C3.3",
        source="Corollary 3.3",
        title="P_Amp at B = T^(3/5): Õ(T^(3/5) ε^(-1/2) log^(1/2)(T/δ))",
        terms=("d B", "L^1/2 e^1/2 B^-1/4 d^3/4 T^3/4"),
        batch="T^3/5",
        printed="T^3/5 e^1/2 L^1/2",
        without=("d",),
        note="factors of d are left out, as printed; the range is Theorem 3.2's, ε <= √(log(2/δ)/B): "
        "CZ22-C3.3/range says what that leaves",
    ),
    Corollary(
        id="CZ22-R3.6",
        source="Remark 3.6",
        title="P_Vec at B = T^(3/5): Õ(T^(3/5) ε^(-1/2) log^(1/2)(d²/δ)), for ε up to 15",
        terms=BINOMIAL,
        batch="T^3/5",
        printed="T^3/5 e^1/2 L^1/2",
        without=("d",),
        note="factors of d are left out, as printed; the range ε <= 15 does not depend on B",
    ),
    Corollary(
        id="CZ22-B.2",
        source="Corollary B.2",
        title="P_Amp at its B: Õ(d^(4/5) T^(3/5) ε^(-2/5) ...), and the local ε₀ and δ₀ as printed",
        terms=AMPLIFIED,
        batch="d^-1/5 e^2/5 T^3/5 L^1/5 L2^1/5",
        printed="d^4/5 T^3/5 e^2/5 L^1/5 L2^1/5",
        also=(
            ("ε₀", "e^-1 B^1/2 L2^-1/2", "e^-4/5 T^3/10 d^-1/10 L^1/10 L2^-2/5"),
            ("δ₀ = δ/B", "B^-1", "d^1/5 T^-3/5 e^-2/5 L^-1/5 L2^-1/5"),
        ),
    ),
    Corollary(
        id="CZ22-C.2",
        source="Corollary C.2",
        title="P_Vec at its B: Õ(d^(4/5) T^(3/5) ε^(-2/5) log^(2/5)(d²/δ)), and the local ε₀ as printed",
        terms=BINOMIAL,
        batch="d^-1/5 e^2/5 T^3/5 L^2/5",
        printed="d^4/5 T^3/5 e^2/5 L^2/5",
        also=(("ε₀ = ε √B", "e^-1 B^1/2", "e^-4/5 T^3/10 d^-1/10 L^1/5"),),
    ),
    Corollary(
        id="CZ22-B.3/rate",
        source="Corollary B.3",
        title="Tuned for LDP, P_Amp: Õ(d^(3/4) T^(3/4) ε₀^(-1/2) log^(1/4)(1/δ₀)), and the shuffled ε and δ",
        terms=("d B", "sigma^1/2 T^1/2 d^3/4"),
        batch="d^-1/4 T^3/4 e^1/2 L^1/4",
        replaced={"sigma": "T^1/2 L^1/2 e"},
        printed="d^3/4 T^3/4 e^1/2 L^1/4",
        also=(
            ("ε = ε₀ (log(2/δ)/B)^(1/2)", "e^-1 L^1/2 B^-1/2", "e^-5/4 T^-3/8 d^1/8 L^3/8"),
            ("δ = δ₀ B", "B", "d^-1/4 T^3/4 e^1/2 L^1/4"),
        ),
        note="log(2/δ), log(2.5/δ₀) and log(1/δ₀) are one logarithm here, up to constants: δ₀ and δ₀ B are "
        "away from 1",
    ),
    Corollary(
        id="CZ22-C.3/rate",
        source="Corollary C.3",
        title="Tuned for LDP, P_Vec: Õ(d^(3/4) T^(3/4) ε₀^(-1/2) log^(1/2)(d²/δ₀)), and the shuffled ε",
        terms=("d B", "sigma^1/2 T^1/2 d^3/4"),
        batch="d^-1/4 T^3/4 e^1/2 L^1/2",
        replaced={"sigma": "T^1/2 L e"},
        printed="d^3/4 T^3/4 e^1/2 L^1/2",
        also=(("ε = ε₀/√B", "e^-1 B^-1/2", "e^-5/4 T^-3/8 d^1/8 L^-1/4"),),
    ),
    Corollary(
        id="CZ22-T4.2/rate",
        source="Theorem 4.2",
        title="Returning users, in M = T/B: dT/M, and √(MT/ε) d^(3/4) log^(3/4)(T/δ)",
        terms=("T e^1/2 B^-1/2 d^3/4 L^3/4",),
        batch="T M^-1",
        printed="M^1/2 T^1/2 e^1/2 d^3/4 L^3/4",
        also=(("dB", "d B", "d T M^-1"),),
        note="Theorem 4.2 from the rates of E.3 and E.5; log(2/δ) is at most log(T/δ)",
    ),
    Corollary(
        id="CZ22-E.4",
        source="Corollary E.4",
        title="Returning users, P_Amp at its B: Õ(d^(5/6) T^(2/3) ε^(-1/3) log^(1/2)(T/δ))",
        terms=("d B", "T e^1/2 B^-1/2 d^3/4 L^3/4"),
        batch="d^-1/6 e^1/3 T^2/3 L^1/2",
        printed="d^5/6 T^2/3 e^1/3 L^1/2",
        note="log(2/δ) is at most log(T/δ); the printed O is read as Õ, Theorem E.3 has log T log(T/α); "
        "CZ22-E.4/range says what its range of ε leaves",
    ),
    Corollary(
        id="CZ22-E.6",
        source="Corollary E.6",
        title="Returning users, P_Vec at its B: Õ(d^(5/6) T^(2/3) ε^(-1/3) log^(1/2)(d² T/δ))",
        terms=("d B", "T e^1/2 B^-1/2 d^3/4 L^3/4"),
        batch="d^-1/6 e^1/3 T^2/3 L^1/2",
        printed="d^5/6 T^2/3 e^1/3 L^1/2",
    ),
    Corollary(
        id="CZ22-F.2",
        source="Remark F.2, Section 6",
        title="Batched-Local: B = T^(3/4) keeps the rate of B = 1, in T, ε₀ and δ₀",
        terms=("d B", "T^3/4 d^3/4 L^1/4 e^1/2"),
        batch="T^3/4",
        printed="T^3/4 d^3/4 L^1/4 e^1/2",
        without=("d",),
        note="dB = d T^(3/4) is above the other term by d^(1/4) ε₀^(1/2) log^(-1/4)(1/δ₀)",
    ),
    Corollary(
        id="CZ22-F.4",
        source="Remark F.4, Section 6",
        title="Batched-Central: B = T^(1/2) keeps the rate of B = 1, in T, ε and δ",
        terms=("d B", "T^1/2 d^3/4 L^1/4 e^1/2"),
        batch="T^1/2",
        printed="T^1/2 d^3/4 L^1/4 e^1/2",
        without=("d",),
        note="dB = d T^(1/2) is above the other term by d^(1/4) ε^(1/2) log^(-1/4)(1/δ)",
    ),
    Corollary(
        id="CZ22-R3.10/local",
        source="Remark 3.10; Zheng et al. as quoted",
        title="The template at B = 1 with the local model's σ² = T/ε²: Õ(T^(3/4) ε^(-1/2))",
        terms=TEMPLATE,
        replaced={"B": "", "sigma": "T^1/2 e"},
        printed="T^3/4 e^1/2",
        without=("d",),
        note="the quoted result has log^(1/4)(1/δ) as well, which σ² = T log(1/δ)/ε² gives",
    ),
    Corollary(
        id="CZ22-R3.10/central",
        source="Remark 3.10; Shariff and Sheffet as quoted",
        title="The template at B = 1 with the central model's σ² = log T/ε²: Õ(T^(1/2) ε^(-1/2))",
        terms=TEMPLATE,
        replaced={"B": "", "sigma": "e"},
        printed="T^1/2 e^1/2",
        without=("d",),
        note="log(4/δ) in their σ gives log^(1/2)(1/δ) through the template, a Gaussian tree log^(1/4)",
    ),
    Corollary(
        id="CZ22-R4.4",
        source="Remark 4.4",
        title="M = M₀ = T^(1/3): Õ(T^(2/3)) for shuffled returning users, and at user level with a server",
        terms=("d T M^-1", "M^1/2 T^1/2 e^1/2 d^3/4", "d T^1/2"),
        replaced={"M": "T^1/3"},
        printed="T^2/3 e^1/2",
        without=("d",),
        note="the central bound d √T + √(M₀ T/ε) d^(3/4) has the same noise term; upper bounds are compared",
    ),
)

for _case in COROLLARIES:

    @inequality(
        rows,
        _case.id,
        _case.source,
        measure="left - right",
        case=_case.title,
        corollary=_case,
        remark=_case.note,
    )
    def exponents(corollary: Corollary, remark: str) -> dict[str, Sides]:
        """{case}

        Substitute the batch size into every term of the theorem's rate and compare exponents exactly: none
        is above the printed one. Other printed values have the exponents that their formula gives.

        Note: constants and factors log T, log(T/α) are free, as in Õ

        Note: {remark}
        """
        return corollary.compared()


@inequality(rows, "CZ22-ORD", "Corollary 3.3, Section 6", measure="left - right")
def between() -> dict[str, Sides]:
    """The exponents of T have the order central 1/2 < shuffled 3/5 < local 3/4, unique users

    Substitute the best batch sizes into the rates of F.3, C.1 and F.1, and compare exponents of T at fixed
    ε, d, δ.

    Note: upper bounds are compared, and no separation is claimed; 3/5 is for P_Vec, whose range of ε does
    not depend on B

    Note: for P_Amp at fixed ε see CZ22-C3.3/range
    """
    local, central = (("d B", f"T^{power} d^3/4 e^1/2") for power in ("3/4", "1/2"))
    found = {"central": (central, ""), "shuffled": (BINOMIAL, "T^3/5"), "local": (local, "")}
    power = {
        name: max(monomial(term).at(B=monomial(batch)).exponent("T") for term in terms)
        for name, (terms, batch) in found.items()
    }
    return {
        "central - shuffled": (power["central"], power["shuffled"]),
        "shuffled - local": (power["shuffled"], power["local"]),
    }


@inequality(
    rows,
    "CZ22-ABS",
    "abstract: 'improves' on the local model, Corollary 3.3, Remark 3.6",
    measure="left - right",
)
def improves() -> dict[str, Sides]:
    """At equal ε, shuffled LinUCB has a smaller power of T than local LinUCB: B^(-1/4) T^(3/4) and dB against
    T^(3/4), both over √ε, at B = T^(3/5) and unique users

    Divide the rates of Theorems B.1 and C.1 by the rate of Proposition F.1. The second term has the ratio
    B^(-1/4) at every ε, up to logarithms, and dB has T^(3/5 - 3/4) ε^(1/2). Exponents of T are compared
    with 0.

    Note: ε must be in the range of the theorem. For P_Amp that is ε <= √(log(2/δ)/B), which falls as B grows,
    and its rate is then never below d^(3/4) T^(3/4): CZ22-C3.3/range. For P_Vec ε up to 15 is allowed

    Note: the other statements of the abstract have rows: CZ22-C3.3, CZ22-R3.6, CZ22-E.4, CZ22-E.6, CZ22-R4.4
    """
    local, batch = monomial("T^3/4 d^3/4 e^1/2"), monomial("T^3/5")
    noise, stale = (monomial(term).at(B=batch) / local for term in ("e^1/2 B^-1/4 d^3/4 T^3/4", "d B"))
    return {
        "noise: exponent of T in shuffled / local": (noise.exponent("T"), Fraction(0)),
        "noise: exponent of 1/ε in shuffled / local": (noise.exponent("e"), Fraction(0)),
        "batches, dB: exponent of T in shuffled / local": (stale.exponent("T"), Fraction(0)),
    }


_TINY = "1/1000000000000000000000000"
_RANGE = {
    "log2_T": (4, 10, 20, full(40, 80)),
    "delta": f"1/2 1/10 1/1000000 {_TINY}",
    "share": "1 1/10 1/1000",
}


@inequality(
    rows,
    "CZ22-C3.3/range",
    "Corollary 3.3 with the range of Theorem 3.2",
    role="sharper",
    over=over(log2_B=(1, 2, 4, 8, full(16, 80)), delta=_RANGE["delta"], share=_RANGE["share"]),
    prove=on(log2_B=integers(1, None), delta=reals(0, "7/10", "(]"), share=reals(0, 1, "(]")),
)
def amplified_range(log2_B: int, delta: Fraction, share: Fraction) -> Sides:
    """At no ε that Theorem 3.2 covers is P_Amp's printed rate below d^(3/4) T^(3/4), for any B >= 2 and
    δ <= 7/10

    Insert ε = share √(log(2/δ)/B) into log^(1/2)(B/δ) d^(3/4) T^(3/4)/(ε^(1/2) B^(1/4)), without d^(3/4)
    T^(3/4). Compare ε² B with log²(B/δ). B = 2^log2_B.

    Note: so T^(3/5) is not the rate at any fixed ε: the range shrinks like T^(-3/10) at B = T^(3/5)

    Note: at equal ε, however small, the shuffled rate is below the local one by B^(1/4)

    Proof: the factor is log^(1/2)(B/δ)/log^(1/4)(2/δ) at the largest ε, at least 1 where log(2/δ) >= 1
    """
    return ball(share) ** 2 * ln(2 / delta), ln(2**log2_B / delta) ** 2


@inequality(
    rows,
    "CZ22-E.4/range",
    "Corollary E.4 with the range of Theorem E.3",
    role="sharper",
    over=over(**_RANGE),
    prove=on(log2_T=integers(1, None), delta=reals(0, 1, "(]"), share=reals(0, 1, "(]")),
)
def returning_range(log2_T: int, delta: Fraction, share: Fraction) -> Sides:
    """At no ε that Theorem E.3 covers is P_Amp's printed rate for returning users below d^(3/4) T^(3/4)/2,
    for T >= 2

    Insert ε = share (2 log(2/δ)/B) √(2T) into T/(εB)^(1/2) d^(3/4) log^(1/4)(T/δ) log^(1/2)(2/δ), without
    d^(3/4). Compare (εB)²/16 with T log(T/δ) log²(2/δ), both without the factor T log²(2/δ). B cancels. T is
    2^log2_T.

    Note: so T^(2/3) is not the rate at any fixed ε: at the B of Corollary E.4 the range shrinks like
    T^(-1/4)

    Proof: at the largest ε it is T^(3/4) log^(1/4)(T/δ)/8^(1/4)
    """
    return ball(share) ** 2 * 8 / 16, ln(2**log2_T / delta)


rows.not_checkable(
    "CZ22-S1fix",
    reason="a headline: CZ22-T3.2r and CZ22-T3.5r cover its content for fixed batches, with their ranges",
)
rows.not_checkable(
    "CZ22-R3.8",
    reason="'by sacrificing on regret performance' both protocols can be tuned to (ε, δ)-LDP: its content "
    "is that of Corollaries B.3 and C.3, which have rows.",
)
