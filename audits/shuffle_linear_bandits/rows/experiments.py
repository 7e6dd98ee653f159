"""Check the paper's sentences on its figures (Section 6, Appendix G) at the paper's own settings.

Every profile has T = 20000, 100 arms, δ = 0.1, B = 20. There are 50 instances, of which the quick profile
plays 12 if a row says so. The quick profile examines mainly P_Amp. The full profile adds the two baselines
that update in every round. A pair of curves is compared by the difference of their mean regrets on common
instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from audits.shuffle_linear_bandits.experiment_orders import (
    Pair,
    between,
    compared,
    fading,
    measured_curves,
    nearer,
    regret_table,
)
from audits.shuffle_linear_bandits.experiment_settings import EPSILONS, HORIZON, RUNS
from dpaudit.core.suite import Group, Run
from dpaudit.suite import Measured, evidence, full, over

__all__ = ["rows"]

rows = Group("Sentences on the figures", kind="utility")

SHUFFLED, BASELINES = ("sdp_amp", "sdp_vec"), ("jdp", "ldp")
QUANTITY = "largest difference of mean regret per round, lower curve minus higher curve"


def _sandwich(epsilon: str, middle: Sequence[str] = SHUFFLED) -> list[Pair]:
    return between(epsilon, low=["jdp"], middle=middle, high=["ldp"]) + between(
        epsilon, low=["linucb"], middle=BASELINES
    )


@dataclass(frozen=True)
class Part:
    """A sentence, and the pairs of curves that it is about.

    ``runs`` is the number of instances if 50 decide nothing.
    """

    name: str
    pairs: tuple[Pair, ...]
    runs: int = 0

    def __str__(self) -> str:
        return self.name


def _sentence(name: str, pairs: Sequence[Pair]) -> Part:
    return Part(name, tuple(pairs))


BELOW = [
    _sentence(f"EXP1: LinUCB below P_Amp, eps = {e}", between(e, low=["linucb"], middle=["sdp_amp"]))
    for e in EPSILONS
]
NEARER = _sentence("EXP2: P_Amp nearer LinUCB as eps grows", nearer(["sdp_amp"]))
FADING = _sentence("EXP4: the gap of P_Amp is larger at 0.2 than at 10", fading(["sdp_amp"]))
BINOMIAL = [
    *(
        _sentence(f"EXP1: LinUCB below P_Vec, eps = {e}", between(e, low=["linucb"], middle=["sdp_vec"]))
        for e in EPSILONS
    ),
    _sentence("EXP2: P_Vec nearer LinUCB as eps grows", nearer(["sdp_vec"])),
    _sentence("EXP4: the gap of P_Vec is larger at 0.2 than at 10", fading(["sdp_vec"])),
]
SANDWICHED = _sentence("EXP1: LinUCB, JDP, P_Amp, LDP in this order, eps = 10", _sandwich("10", ["sdp_amp"]))
VECTOR_ABOVE = _sentence("EXP1: JDP below P_Vec, eps = 10", between("10", low=["jdp"], middle=["sdp_vec"]))
EVERY_ROUND = [
    *(_sentence(f"EXP1: LinUCB, JDP, SDP, LDP in this order, eps = {e}", _sandwich(e)) for e in EPSILONS[:2]),
    SANDWICHED,
    _sentence("EXP1: P_Vec below LDP, eps = 10", between("10", low=["sdp_vec"], middle=["ldp"])),
    replace(VECTOR_ABOVE, runs=250),
    _sentence("EXP2: JDP and LDP nearer LinUCB as eps grows", nearer(BASELINES)),
    _sentence("EXP4: the gap of JDP and LDP is larger at 0.2 than at 10", fading(BASELINES)),
]
HIGHER = [
    _sentence("EXP3: LinUCB below P_Amp", between("1", low=["linucb"], middle=["sdp_amp"])),
    _sentence("EXP3: LinUCB, JDP, P_Amp, LDP in this order", _sandwich("1", ["sdp_amp"])),
    _sentence("EXP3: LinUCB and JDP below P_Vec", between("1", low=["linucb", "jdp"], middle=["sdp_vec"])),
]


def _part(
    run: Run, profile: str, part: Part, *, dim: int, quick: int = 12, rounds: int = HORIZON
) -> Measured:
    runs = part.runs or run.choose(quick=quick, full=RUNS)
    horizon = run.choose(quick=rounds, full=HORIZON)
    levels = EPSILONS if dim == 5 and not part.runs else ()
    curves = measured_curves(
        profile, part.pairs, dim=dim, runs=runs, horizon=horizon, seed=run.seed, levels=levels
    )
    pairs, name = part.pairs, f"{part}, d = {dim}"
    chosen = {curve: curves[curve] for pair in pairs for curve in pair}
    found = compared(chosen, pairs, alpha=run.alpha)
    picture = regret_table(chosen, title=name)
    return Measured(
        low=found.low if horizon == HORIZON else None,
        high=found.high,
        covers=horizon == HORIZON,
        exact=False,
        samples=found.samples,
        method=found.method,
        scope=found.scope,
        notes=found.notes,
        plots=[picture],
    )


@evidence(
    rows,
    "CZ22-EXP",
    "Section 6, Figure 1",
    at_most=0,
    quantity=QUANTITY,
    over=over(part=(*BELOW, NEARER, FADING, full(*BINOMIAL, *EVERY_ROUND))),
    name=lambda part: part.name,
    profile="authors_code",
)
def first_figure(run: Run, part: Part, profile: str) -> Measured:
    """Figure 1, with the noise of the authors' code: LinUCB below P_Amp at each ε, and P_Amp nearer to LinUCB
    as ε grows; in the full profile also the order of central, shuffled and local, for P_Amp and P_Vec

    Compare mean regret at T = 20000, d = 5, over 50 instances (250 if these show no order), as in the
    public code behind the figure.

    Note: the paper prints neither noise nor radius of its experiments; it claims no order between P_Amp and
    P_Vec, and no size of a gap

    Note: P_Vec at ε = 10 has a V_m that is not positive definite in 3 of 8 runs at one seed, and in 1 of 8 at
    another. Such a run is outside the analysis. Each cell's scope counts its own

    Note: at B = 20 and δ = 0.1 Theorem 3.2 covers ε <= 0.387; ε = 1 and 10 are outside, so the theorem does
    not apply to these P_Amp curves, and the code's noise differs from its noise at every ε
    """
    return _part(run, profile, part, dim=5, quick=RUNS)


#: What 50 instances decide about the baselines at the theorems' noise, and what they leave open.
AMPLIFIED = _sentence(
    "EXP1: JDP, P_Amp, LDP in this order, eps = 1",
    between("1", low=["jdp"], middle=["sdp_amp"], high=["ldp"]),
)
OPEN = [part for part in EVERY_ROUND if part.name not in (SANDWICHED.name, VECTOR_ABOVE.name)]


@evidence(
    rows,
    "CZ22-EXP/theorem",
    "Section 6, Figure 1, with the noise of the theorems",
    at_most=0,
    quantity=QUANTITY,
    over=over(part=(FADING, full(*BELOW, *BINOMIAL[:3], AMPLIFIED, SANDWICHED, VECTOR_ABOVE))),
    name=lambda part: part.name,
    role="what-if",
    profile="theorem",
)
def with_theorems(run: Run, part: Part, profile: str) -> Measured:
    """Figure 1, with noise, ridge and radius of the theorems: P_Amp nearer to LinUCB at ε = 10 than at 0.2;
    in the full profile also LinUCB below LinUCB-SDP, P_Amp between JDP and LDP at ε = 1 and 10, and JDP below
    P_Vec at ε = 10

    As CZ22-EXP, with the theorems' constants instead of the code's: α = 1/T, λ = 2 Σ_N, c = 2. LDP and JDP
    have the ridge and radius of their own papers.

    Note: at B = 20 and δ = 0.1 these ε are outside the range of Theorem 3.2
    """
    return _part(run, profile, part, dim=5, quick=RUNS)


@evidence(
    rows,
    "CZ22-EXP/theorem/all",
    "Section 6, Figure 1, with the noise of the theorems",
    at_most=0,
    quantity=QUANTITY,
    over=over(part=(BINOMIAL[3], full(BINOMIAL[4], NEARER, *OPEN))),
    name=lambda part: part.name,
    role="what-if",
    expect="inconclusive",
    profile="theorem",
)
def all_with_theorems(run: Run, part: Part, profile: str) -> Measured:
    """Figure 1, with noise, ridge and radius of the theorems: P_Vec nearer to LinUCB as ε grows; in the full
    profile also the order with P_Vec and LDP in it

    As CZ22-EXP/theorem (quick profile: 12 instances).

    Note: at this noise P_Vec and LDP have about the regret of a random arm at every ε, 0.47 per round: 50
    instances show no order among them, and no fall with ε
    """
    return _part(run, profile, part, dim=5)


@evidence(
    rows,
    "CZ22-EXP3",
    "Appendix G, Figure 2",
    at_most=0,
    quantity=QUANTITY,
    over=over(part=(HIGHER[0], full(*HIGHER[1:])), dim=(10, full(15))),
    name=lambda part, dim: f"{part}, d = {dim}",
    profile="authors_code",
)
def second_figure(run: Run, part: Part, dim: int, profile: str) -> Measured:
    """Figure 2, with the noise of the authors' code: LinUCB below P_Amp at ε = 1 and d = 10; in the full
    profile also d = 15 and the order of Figure 1, but for P_Vec below LDP

    Compare mean regret at T = 20000 over 50 instances (quick profile: 12), as in the public code behind the
    figure.
    """
    return _part(run, profile, part, dim=dim)


@evidence(
    rows,
    "CZ22-EXP3/vector",
    "Appendix G, Figure 2",
    at_most=0,
    quantity=QUANTITY,
    over=over(dim=(10, full(15))),
    expect="inconclusive",
    profile="authors_code",
)
def second_figure_vector(run: Run, dim: int, profile: str) -> Measured:
    """Figure 2, with the noise of the authors' code: P_Vec below LDP at ε = 1 for d = 10 and 15

    Compare mean regret at T = 20000 over 50 instances, with 10 for the scale of b, which the code names for
    d = 5. The quick profile plays 3 instances for 1000 rounds, which decide nothing.

    Note: the difference is about the size of the uncertainty of 50 instances, and its sign changes with the
    seed; for these d the public record does not state what was plotted
    """
    part = _sentence("EXP3: P_Vec below LDP", between("1", low=["sdp_vec"], middle=["ldp"]))
    return _part(run, profile, part, dim=dim, quick=3, rounds=1000)
