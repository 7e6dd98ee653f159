"""The paper's experiments (section 7, appendix J; claims CZ23-E1 to CZ23-E5), at the paper's own settings.

The paper says in words what its figures show. Each sentence becomes an ordering of mean regrets per round
with named constants, where the mean is over the 20 instances and over all runs on them. It is decided by bets
on runs whose instances are drawn from the 20, the same one for all algorithms of a comparison; each regret is
cut at a cap, and what lies beyond it is bounded rigorously (``experiment_runs``, ``experiment_cuts``).

The horizons are the paper's in every profile; ``quick`` looks at fewer cells, which each claim names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from algorithms.distributed_elimination import variant
from algorithms.distributed_experiments import (
    COMPETITORS,
    EPSILONS,
    FAILURE_PROB,
    FIGURES,
    HORIZONS,
    Competitor,
    figure_table,
)
from audits.chowdhury_zhou.experiment_figures import Table, final_figure, regret_table, time_figure
from audits.chowdhury_zhou.experiment_runs import Cell, Combination, decided
from dpaudit.claims import Ordering, SameDistribution
from dpaudit.evidence import Estimate
from dpaudit.exact import exact
from dpaudit.reports import plots
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["add_rows"]

#: The constants that the sentences leave open.
SHRINKS, CLOSE, FACTOR, VISIBLE, FAR, CORNER_CLOSE = "1/2", "1/100", "3/2", "19/20", "5", "1/100"
BASELINE, PURE, RENYI, FINE = COMPETITORS
CENTRAL, LOCAL, PURE_2, RENYI_2, CONCENTRATED_2 = FIGURES[4].competitors
CORNER_HORIZON = 10**8
SYNTHETIC = "Section 7, Figures 1 to 3"


def add_rows(suite: Suite) -> None:
    """What the figures show, sentence by sentence."""
    _matches(suite)
    _corner(suite)
    _easy(suite)
    _hard(suite)
    _one_framework(suite)
    _graded(suite)


def _ordering(text: str, *, claimed: str = "0", **constants: str) -> Ordering:
    return Ordering(
        text=text,
        quantity_name="largest combination of E Reg(T)/T",
        claimed=claimed,
        constants=tuple(constants.items()),
    )


def _add(
    suite: Suite,
    id_: str,
    *,
    title: str,
    claim: Ordering,
    about: str,
    combinations: Callable[[Run], Sequence[Combination]],
    runs: tuple[int, int],
    source: str,
    figure: int | None = None,
    expect: str = "verified",
    notes: Sequence[str] = (),
) -> None:
    """A row that holds the largest of some combinations against the claim, in ``runs`` runs (quick, full)."""

    def evaluate(run: Run) -> Outcome:
        size: int = run.choose(quick=runs[0], full=runs[1])
        estimate, measured = decided(run, combinations(run), runs=size)
        shown = [] if figure is None else _pictures(run, figure)
        return Outcome([estimate], [*measured, *notes], plots=shown)

    evaluate.__doc__ = about
    suite.add(
        Row(id=id_, title=title, kind="utility", claim=claim, evaluate=evaluate, expect=expect, source=source)
    )


@lru_cache(maxsize=8)
def _figure(run: Run, figure: int) -> Table:
    return figure_table(figure, seed=run.seed_sequence(f"figure {figure}"))


def _pictures(run: Run, figure: int) -> list[plots.Plot]:
    """The figure as in the paper, one run on each of the 20 instances: table and curves."""
    found = _figure(replace(run, row_id="CZ23-E"), figure)
    over_time = [time_figure(figure, found, epsilon) for epsilon in FIGURES[figure].epsilons]
    return [regret_table(figure, found), *over_time, final_figure(figure, found)]


def _cell(figure: int, competitor: Competitor, epsilon: str, *, shorter: int = 1) -> Cell:
    environment = FIGURES[figure].environment
    return Cell(environment, competitor, epsilon, HORIZONS[environment] // shorter)


def _at_most(
    figure: int, left: Competitor, right: Competitor, epsilon: str, factor: str = "1"
) -> Combination:
    """left - factor * right."""
    return [(1.0, _cell(figure, left, epsilon)), (-float(exact(factor)), _cell(figure, right, epsilon))]


def _difference(
    figure: int,
    left: Competitor,
    right: Competitor,
    epsilon: str,
    *,
    weight: float = 1.0,
    shorter: int = 1,
) -> list[tuple[float, Cell]]:
    """weight * (left - right), at the horizon divided by ``shorter``."""
    return [
        (weight, _cell(figure, left, epsilon, shorter=shorter)),
        (-weight, _cell(figure, right, epsilon, shorter=shorter)),
    ]


def _matches(suite: Suite) -> None:
    _add(
        suite,
        "CZ23-E1",
        title="For large T Dist-DP-SE matches DP-SE: regret per round",
        claim=_ordering(
            f"E Reg(T)/T of Dist-DP-SE ≤ that of DP-SE + {CLOSE}: easy instances, T = 10^6, ε = 0.1; full: "
            "easy and hard (T = 10^7), ε = 0.1, 0.5, 1",
            claimed=CLOSE,
            close=CLOSE,
        ),
        about="""Simulate both on the paper's instances and bet on the paired differences.

        This is the reading of the figures' axes, on which every curve starts near 0.2 or 0.04. The ratio is
        in CZ23-E1/ratio.""",
        combinations=lambda run: [
            _difference(figure, PURE, BASELINE, epsilon)
            for figure in run.choose(quick=(2,), full=(2, 3))
            for epsilon in run.choose(quick=("0.1",), full=EPSILONS)
        ],
        runs=(400, 1500),
        source=SYNTHETIC,
    )
    for id_, epsilon, expect, about in (
        (
            "CZ23-E1/ratio",
            "0.1",
            "refuted",
            """Simulate both and bet on the paired differences.

            Both regrets have stopped growing long before T: Reg(T)/T goes to 0 for both, and their ratio
            stays. The paper's sentence is true of the difference only.""",
        ),
        ("CZ23-E1/large", "1", "verified", "Simulate both and bet on the paired differences."),
    ):
        _add(
            suite,
            id_,
            title=f"For large T Dist-DP-SE matches DP-SE: regret within a factor {FACTOR}, ε = {epsilon}",
            claim=_ordering(
                f"E Reg(T) of Dist-DP-SE ≤ {FACTOR} E Reg(T) of DP-SE, easy instances, T = 10^6, "
                f"ε = {epsilon}",
                factor=FACTOR,
            ),
            about=about,
            combinations=lambda run, epsilon=epsilon: [_at_most(2, PURE, BASELINE, epsilon, FACTOR)],
            runs=(400, 2000),
            source=SYNTHETIC,
            expect=expect,
        )


def _corner(suite: Suite) -> None:
    """Nine arms that never pay: their noisy sums sit at the lower end of the analyzer's window, and with
    p = 0.1 one in forty of them wraps to the upper end."""
    where = "one arm Bernoulli(1/2), nine that always pay 0; T = 10^8, ε = 1"
    for id_, p, expect, title in (
        ("CZ23-E1/corner", FAILURE_PROB, "refuted", "with p = 0.1, as in the experiments"),
        ("CZ23-E1/corner-repaired", f"1/{CORNER_HORIZON}", "verified", "with p = 1/T, as in the theorems"),
    ):
        cells = [
            (1.0, Cell("corner", PURE, "1", CORNER_HORIZON, p)),
            (-1.0, Cell("corner", BASELINE, "1", CORNER_HORIZON, p)),
        ]
        _add(
            suite,
            id_,
            title=f"For large T Dist-DP-SE matches DP-SE where arms pay nothing, {title}",
            claim=_ordering(
                f"E Reg(T)/T of Dist-DP-SE ≤ that of DP-SE + {CORNER_CLOSE}, both {title}: {where}",
                claimed=CORNER_CLOSE,
                close=CORNER_CLOSE,
            ),
            about="""Simulate both and bet on the paired differences.

            The margin τ leaves room for the noise with probability 1 - p/2 at either end. A sum of zeros that
            falls below -τ is read as one above n g: an arm that never pays looks perfect. With p = 0.1 this
            happens to some of nine arms in one batch out of five, and the best arm goes. The means of the
            paper's synthetic instances stay away from 0 and 1, where sums have room.""",
            combinations=lambda run, cells=cells: [cells],
            runs=(600, 4000),
            source="Section 7 (p = 0.1) and line 27 of Algorithm 1; the instance is this audit's",
            expect=expect,
        )


def _easy(suite: Suite) -> None:
    _add(
        suite,
        "CZ23-E2",
        title="The gap of Dist-DP-SE to DP-SE in Reg(T)/T shrinks with T",
        claim=_ordering(
            f"the difference of E Reg(T)/T at T is at most {SHRINKS} of that at T/16: easy instances, "
            "T = 10^6, ε = 0.1; full: easy and hard (T = 10^7), ε = 0.1, 0.5, 1",
            shrinks=SHRINKS,
        ),
        about="Simulate both at both horizons and bet on the combination of the four regrets.",
        combinations=lambda run: [
            [
                *_difference(figure, PURE, BASELINE, epsilon),
                *_difference(figure, PURE, BASELINE, epsilon, weight=-float(exact(SHRINKS)), shorter=16),
            ]
            for figure in run.choose(quick=(2,), full=(2, 3))
            for epsilon in run.choose(quick=("0.1",), full=EPSILONS)
        ],
        runs=(400, 1500),
        source=SYNTHETIC,
        figure=2,
    )
    _add(
        suite,
        "CZ23-E2/epsilon",
        title="The gap of Dist-DP-SE to DP-SE is smaller for larger ε",
        claim=_ordering(
            "the difference of E Reg(T)/T at the larger ε is at most that at the smaller one: easy "
            "instances, T = 10^6, ε = 0.1 and 1; full: neighbours among 0.1, 0.5, 1"
        ),
        about="Simulate both at both ε and bet on the combination of the four regrets.",
        combinations=lambda run: _falling(2, PURE, BASELINE, run.choose(quick=("0.1", "1"), full=EPSILONS)),
        runs=(400, 2000),
        source=SYNTHETIC,
    )
    _gain(suite, "CZ23-E2/gain", figure=2, where="easy instances, T = 10^6", runs=(400, 3000), full=EPSILONS)
    _add(
        suite,
        "CZ23-E2/small",
        title="Dist-RDP-SE (s = 10) gains most over Dist-DP-SE at small ε",
        claim=_ordering(
            "the difference of E Reg(T)/T at the larger ε is at most that at the smaller one: easy "
            "instances, T = 10^6, ε = 0.1 and 1; full: neighbours among 0.1, 0.5, 1"
        ),
        about="Simulate both at both ε and bet on the combination of the four regrets.",
        combinations=lambda run: _falling(2, PURE, RENYI, run.choose(quick=("0.1", "1"), full=EPSILONS)),
        runs=(400, 2500),
        source=SYNTHETIC,
    )
    _add(
        suite,
        "CZ23-E2/scale",
        title="A higher scale factor s gives a higher gain",
        claim=_ordering(
            "E Reg(T) of Dist-RDP-SE with s = 100 ≤ that with s = 10: easy instances, T = 10^6, ε = 0.1; "
            "full: ε = 0.1, 0.5"
        ),
        about="Simulate both and bet on the paired differences.",
        combinations=lambda run: [
            _at_most(2, FINE, RENYI, epsilon) for epsilon in run.choose(quick=("0.1",), full=("0.1", "0.5"))
        ],
        runs=(700, 3000),
        source="Appendix J, Figure 2",
    )


def _falling(figure: int, left: Competitor, right: Competitor, epsilons: Sequence[str]) -> list[Combination]:
    """left - right at the larger epsilon, minus the same at the smaller one."""
    return [
        [
            *_difference(figure, left, right, large),
            *_difference(figure, left, right, small, weight=-1.0),
        ]
        for small, large in pairwise(epsilons)
    ]


def _gain(
    suite: Suite,
    id_: str,
    *,
    figure: int,
    where: str,
    runs: tuple[int, int],
    full: Sequence[str],
    shown: bool = False,
) -> None:
    first = full[0]
    _add(
        suite,
        id_,
        title=f"Dist-RDP-SE (s = 10) gains visibly over Dist-DP-SE: {where}",
        claim=_ordering(
            f"E Reg(T) of Dist-RDP-SE (s = 10) ≤ {VISIBLE} E Reg(T) of Dist-DP-SE: {where}, ε = {first}; "
            f"full: ε = {', '.join(full)}",
            visible=VISIBLE,
        ),
        about="Simulate both and bet on the paired differences.",
        combinations=lambda run: [
            _at_most(figure, RENYI, PURE, epsilon, VISIBLE)
            for epsilon in run.choose(quick=(first,), full=full)
        ],
        runs=runs,
        source="Section 7, Figures 1 to 3 and 5",
        figure=figure if shown else None,
    )


def _hard(suite: Suite) -> None:
    _gain(
        suite,
        "CZ23-E3",
        figure=3,
        where="hard instances, T = 10^7",
        runs=(600, 1500),
        full=("0.1",),
        shown=True,
    )


def _one_framework(suite: Suite) -> None:
    """Figure 4. "CDP-SE" is the central pure variant, "Dist-CDP-SE" the one with discrete Gaussians."""
    where = "easy instances, T = 10^6, batches of 2^b, ε = 0.1; full: ε = 0.1, 0.5, 1"
    source = "Section 7, Figure 4"

    def pairs(left: Competitor, right: Competitor, factor: str) -> Callable[[Run], list[Combination]]:
        return lambda run: [
            _at_most(4, left, right, epsilon, factor) for epsilon in run.choose(quick=("0.1",), full=EPSILONS)
        ]

    _central(suite, source)
    _add(
        suite,
        "CZ23-E4/local",
        title="Dist-DP-SE is much better than LDP-SE",
        claim=_ordering(f"{FAR} E Reg(T) of Dist-DP-SE ≤ E Reg(T) of LDP-SE: {where}", far=FAR),
        about="Simulate both and bet on the paired differences.",
        combinations=pairs(PURE_2, LOCAL, "1/5"),
        runs=(300, 1500),
        source=source,
        figure=4,
    )
    _add(
        suite,
        "CZ23-E4/renyi",
        title="Dist-RDP-SE (s = 10) is better than the pure Dist-DP-SE",
        claim=_ordering(
            f"E Reg(T) of Dist-RDP-SE (s = 10) ≤ {VISIBLE} E Reg(T) of Dist-DP-SE: {where}", visible=VISIBLE
        ),
        about="Simulate both and bet on the paired differences.",
        combinations=pairs(RENYI_2, PURE_2, VISIBLE),
        runs=(400, 2000),
        source=source,
    )
    _add(
        suite,
        "CZ23-E4/concentrated",
        title="Dist-CDP-SE (s = 10) is better than Dist-RDP-SE (s = 10)",
        claim=_ordering(f"E Reg(T) of Dist-CDP-SE (s = 10) ≤ that of Dist-RDP-SE (s = 10): {where}"),
        about="Simulate both and bet on the paired differences.",
        combinations=pairs(CONCENTRATED_2, RENYI_2, "1"),
        runs=(400, 3000),
        source=source,
        notes=["Theorem 4 covers ε < 1 only; ε = 1 is the figure's"],
    )


def _central(suite: Suite, source: str) -> None:
    @suite.row(
        "CZ23-E4/central",
        title="CDP-SE and Dist-DP-SE have the same regret",
        kind="utility",
        claim=SameDistribution(
            text="CDP-SE and Dist-DP-SE have the same parameters, noise in a sum and radius in every batch "
            "of 2^b <= 10^6 users, ε = 0.1, 0.5, 1, p = 0.1: the decisions have the same law",
            quantity_name="batches in which the two differ",
            claimed=0,
        ),
        source=source,
    )
    def central(run: Run) -> Outcome:
        """Compare g, τ, m, the law of the total noise and (σ, h) of both variants, batch by batch.

        Pólya differences add up to one discrete Laplace variable (Fact 1), so that the figure's two curves
        agree but for chance.
        """
        sizes = [2**b for b in range(1, 20)]
        different = sum(
            not _same_batch(epsilon, users, CENTRAL.name, PURE_2.name)
            for epsilon in EPSILONS
            for users in sizes
        )
        estimate = Estimate(
            quantity="batches in which the two differ",
            lower=different,
            upper=different,
            confidence=1.0,
            samples=len(EPSILONS) * len(sizes),
            method="exact comparison of parameter sheets",
            scope="all batch sizes within T = 10^6, the three ε",
            covers_claim=True,
        )
        return Outcome([estimate])


def _same_batch(epsilon: str, users: int, one: str, other: str) -> bool:
    """Whether two variants decode the same law in a batch, and judge it by the same radius."""
    first, second = (variant(name, epsilon=epsilon, failure_prob=FAILURE_PROB) for name in (one, other))
    sheets = first.sheet(users), second.sheet(users)
    numbers = [(sheet.precision, sheet.noise_margin, sheet.modulus, sheet.total_noise()) for sheet in sheets]
    return numbers[0] == numbers[1] and first.tail(users) == second.tail(users)


def _graded(suite: Suite) -> None:
    """Figure 5 on the packaged instance: clusters of diamonds, graded by cut (the paper's data cannot be
    passed on)."""
    where = "48 clusters of diamonds, T = 10^7"
    _add(
        suite,
        "CZ23-E5",
        title="Graded data: for large T Dist-DP-SE matches DP-SE",
        claim=_ordering(
            f"E Reg(T) of either of Dist-DP-SE and DP-SE ≤ {FACTOR} E Reg(T) of the other: {where}, ε = 10; "
            "full: ε = 5, 10",
            factor=FACTOR,
        ),
        about="""Simulate both and bet on the paired differences, both ways.

        At ε = 1 an upper bound on Dist-DP-SE's regret is out of reach: in the batch of 64 users a sum of the
        best arm (mean 0.95) leaves the analyzer's window with a probability of the order of 0.001, and the
        best arm goes.""",
        combinations=lambda run: [
            _at_most(5, left, right, epsilon, FACTOR)
            for epsilon in run.choose(quick=("10",), full=("5", "10"))
            for left, right in ((PURE, BASELINE), (BASELINE, PURE))
        ],
        runs=(800, 3000),
        source="Section 7, Figures 1 and 5",
        figure=5,
    )
    _gain(suite, "CZ23-E5/gain", figure=5, where=where, runs=(1500, 4000), full=("1",))
    _add(
        suite,
        "CZ23-E5/scale",
        title="Graded data: a higher scale factor s gives a higher gain",
        claim=_ordering(f"E Reg(T) of Dist-RDP-SE with s = 100 ≤ that with s = 10: {where}, ε = 1"),
        about="Simulate both and bet on the paired differences.",
        combinations=lambda run: [_at_most(5, FINE, RENYI, "1")],
        runs=(3000, 6000),
        source="Section 7, Figure 5",
    )
