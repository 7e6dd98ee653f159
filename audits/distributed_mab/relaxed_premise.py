"""Definition 9: which functions S are relaxations of secure aggregation, checked on the running programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from dpaudit.coins import Coins, enumerate_view
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import Bernoulli, PointMass
from dpaudit.suite import Run, Suite
from dpaudit.views import SERVER, View
from mechanisms.modular_sum import Aggregator
from mechanisms.parameter_sheet import Sheet, polya_sheet
from mechanisms.relaxed_aggregation import CarrySum, GarbledSum, LeakyCoin, LeakySum

__all__ = ["add_rows", "distances"]


def distances(
    secure: Aggregator, simulator: Callable[[Coins, int], Any], sheet: Sheet, *, tail: float = 0.0
) -> tuple[Any, Any]:
    """The largest |log-ratio| between what S shows on y and what SIM shows on Σ(y), over all y in Z_m^n, and
    the largest P(POST(S(y)) != Σ(y)), POST being the residue. Balls, from the running programs.

    Something that only one of the two shows is an infinite log-ratio. Of laws with infinite support mass
    ``tail`` > 0 is left out on both sides, and what only one of the enumerations reaches is passed over.
    """
    worst, wrong = arb(0), arb(0)
    simulated = [_shown(partial(_simulated, simulator, s), tail) for s in range(sheet.modulus)]
    for y in itertools.product(range(sheet.modulus), repeat=sheet.users):
        total = sum(y) % sheet.modulus
        law = _shown(partial(_secured, secure, y, sheet), tail)
        if tail == 0 and law.keys() != simulated[total].keys():
            worst = arb.pos_inf()
        for seen in law.keys() & simulated[total].keys():
            worst = worst.max(abs((law[seen] / simulated[total][seen]).log()))
        wrong = wrong.max(sum((p for seen, p in law.items() if seen[0] != total), arb(0)))
    return worst, wrong


def _simulated(simulator: Callable[[Coins, int], Any], total: int, coins: Coins) -> None:
    simulator(coins, total)


def _secured(secure: Aggregator, y: Sequence[int], sheet: Sheet, coins: Coins) -> None:
    secure(coins, [PointMass(k) for k in y], sheet)


def _shown(run: Callable[[Coins], Any], tail: float) -> dict[tuple[int, ...], Any]:
    """The exact law of what ``run`` shows the server, its result left out."""
    found = enumerate_view(lambda coins, data: run(coins), None, view=View.of(SERVER), tail=tail)
    return {
        tuple(int(x) for x in found.transcripts[key][:-1]): chance
        for key, chance in found.probabilities.items()
    }


def _small_sheet(users: int) -> Sheet:
    """g = 1 and a modulus of 4, 5 or 8 for 1, 2 or 3 users: small enough for all message vectors."""
    return polya_sheet(users=users, epsilon=Fraction(7 if users < 3 else 5, 10), tail_prob=1)


@lru_cache(maxsize=64)
def _distances_of(kind: str, users: int, budget: Fraction) -> tuple[Any, Any]:
    """``distances`` for S by name, with ε̂ (for the garbled sum: q) = ``budget``."""
    sheet = _small_sheet(users)
    if kind == "leaky":
        leaky = LeakySum(secagg_epsilon=budget)

        def toss(coins: Coins, total: int) -> None:
            coins.reveal(total, site="aggregate", to=SERVER)
            coins.observe(Bernoulli(p=leaky.coin.simulated), site="coin", to=SERVER)

        return distances(leaky, toss, sheet)
    secure = CarrySum(secagg_epsilon=budget) if kind == "carry" else GarbledSum(secagg_error=budget)

    def rerun(coins: Coins, total: int) -> Any:
        return secure(coins, [*[PointMass(0)] * (users - 1), PointMass(total)], sheet)

    return distances(secure, rerun, sheet, tail=0.1 if kind == "carry" else 0.0)


def add_rows(suite: Suite) -> None:
    """The row CZ23-T3P/premise."""

    def enumerated(kind: str, users: Sequence[int], budgets: Sequence[str]) -> Callable[[Run], list[Point]]:
        return lambda run: [
            {"users": n, "budget": Fraction(b)}
            for n in (*users, *run.choose(quick=(), full=(3,) if kind == "leaky" else ()))
            for b in budgets
        ]

    def steps_of(
        kind: str, users: Sequence[int], budgets: Sequence[str], q: bool = False
    ) -> list[Inequality]:
        return [
            Inequality(
                name=f"{kind}: security",
                text=f"{kind}: |LLR(S(y), SIM(Σ(y)))| <= {'0' if q else 'ε̂'}, all y in Z_m^n enumerated",
                left=lambda users, budget: _distances_of(kind, users, budget)[0],
                right=lambda users, budget: ball(0 if q else budget),
                points=enumerated(kind, users, budgets),
            ),
            Inequality(
                name=f"{kind}: correctness",
                text=f"{kind}: SD(POST(S(y)), Σ(y)) <= {'q' if q else '0'}",
                left=lambda users, budget: _distances_of(kind, users, budget)[1],
                right=lambda users, budget: ball(budget if q else 0),
                points=enumerated(kind, users, budgets),
            ),
        ]

    biases = Inequality(
        name="leaky: the four ratios",
        text=(
            "|log(p/c)| <= ε̂ for p = p₁, p₀ and |log((1-p)/(1-c))| <= ε̂: all y and all n, as y "
            "enters by p alone"
        ),
        left=lambda budget, i: abs(ball(LeakyCoin.worst(budget).ratios[i]).log()),
        right=lambda budget, i: ball(budget),
        points=lambda run: [
            {"budget": Fraction(e), "i": i}
            for e in ("1/100", "1/40", "1/4", "1", "2", "10")
            for i in range(4)
        ],
    )
    add_steps(
        suite,
        "CZ23-T3P/premise",
        title=(
            "Definition 9 admits the functions S used here: LeakySum, CarrySum (q = 0), GarbledSum (ε̂ = 0)"
        ),
        steps=[
            biases,
            *steps_of("leaky", (1, 2), ("1/4",)),
            *steps_of("carry", (2,), ("1/4",)),
            *steps_of("garbled", (1, 2), ("1/8",), q=True),
        ],
        about=(
            "Both conditions of Definition 9 in balls: the four likelihood ratios of the leaky "
            "coin for any number "
            "of users, and, for all message vectors of a small Z_m, the exact laws of what the "
            "running program shows "
            "against its simulator."
        ),
        source="Definition 9",
        scope="coins: ε̂ from 1/100 to 10, every n; programs: n = 1, 2 (full profile: 3), all y in Z_m^n",
        measure="left - right",
        notes=["carries are enumerated up to mass 1/10; beyond them the log-ratio no longer changes"],
    )
