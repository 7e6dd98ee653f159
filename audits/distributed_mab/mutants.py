"""Broken protocols: each must be caught, and the row says how; beside them what is correct and must not be.

A row CZ23-M/<mechanism>/<mistake> makes the claim that the mutant's author would make. Privacy mutants are
refuted by a transcript, a leak or a divergence, wrong sums by the exact law of what the analyzer returns.
Rows CZ23-M/correct and CZ23-M/harmless run the same search on protocols without the mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab.concentrated_privacy import concentrated_bound
from audits.distributed_mab.gaussian_sums import xi
from audits.distributed_mab.mutant_protocols import (
    EPSILON,
    FAILURE_PROB,
    MECHANISMS,
    REFERENCES,
    SCALE_FACTOR,
    Make,
    Mechanism,
    correct,
    program_of,
)
from audits.distributed_mab.mutant_register import ARITHMETIC, HARMLESS, PRIVACY, Mutant
from audits.distributed_mab.mutant_search import (
    Found,
    Target,
    declared_sum,
    distance,
    early_pairs,
    enumerated_sum,
    late_pair,
    moved_noise,
    over_seeds,
    search,
)
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.claims import Ordering, PrivacyClaim, PureDP, RenyiDP, SameDistribution, ZeroConcentratedDP
from dpaudit.coins import fingerprint, record
from dpaudit.evidence import Estimate, Witness
from dpaudit.kernel.ball import arb, lower, precision, upper
from dpaudit.replays.histories import Neighbours
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.views import SERVER, View

__all__ = ["add_rows", "claim_of", "divergence_witness_of", "sum_distance", "target_of"]

#: The algorithm, what its theorem claims in words, and the theorem.
_CLAIMS: dict[Mechanism, tuple[str, str, str]] = {
    "polya": ("Dist-DP-SE", "(ε, 0)-DP", "Theorem 1"),
    "central": ("CDP-SE", "(ε, 0)-DP for whoever sees the noisy sums", "Theorem 5"),
    "local": ("LDP-SE", "(ε, 0)-DP in every message", "Theorem 6"),
    "skellam": ("Dist-RDP-SE", "(2, ε(2))-RDP", "Theorem 2"),
    "gaussian": ("Dist-CDP-SE", "(1/2)ε̄²-CDP", "Theorem 4"),
}
_HOW = {
    "loss": (
        "Replay neighbours along sampled histories, and along those in which every aggregate that moved has "
        "the outcome where its two laws differ most: a transcript of the server costs more than ε."
    ),
    "leak": "Replay neighbours: what the server is shown without fresh noise differs, an infinite loss.",
    "divergence": (
        "The noise of the first batch's aggregates, as the program adds it, against itself shifted by what "
        "one record moves: its exact Rényi divergence of order 2 modulo m exceeds the claim."
    ),
}
#: The decoded sum's law is compared up to the rounding of its 160-bit balls.
SAME = Fraction(1, 2**64)


def add_rows(suite: Suite) -> None:
    """One row for each mutant of the distributed protocols, and the controls."""
    for name, mutant in PRIVACY.items():
        _privacy_row(suite, name, mutant)
    for name, mutant in ARITHMETIC.items():
        _sum_row(suite, f"CZ23-M/{name}", f"Mutant, {mutant.about}", mutant.make, "refuted")
    for mechanism in MECHANISMS:
        _correct_row(suite, mechanism)
    _harmless_row(suite)
    _sum_row(suite, "CZ23-M/correct/sum", "Not a mutant", correct, "verified")


def claim_of(mechanism: Mechanism) -> PrivacyClaim:
    """The theorem's claim at ε = 9/10, in the server's view; s = 10, and T = 64 in ξ."""
    view = View.of(SERVER)
    if mechanism == "skellam":
        budget = theorem_2_final(2, EPSILON, Fraction(SCALE_FACTOR))
        return RenyiDP(order=2, epsilon=budget, view=view, domain=DOMAIN)
    if mechanism == "gaussian":
        with precision(256):
            correction = xi(Fraction(SCALE_FACTOR**2), int(1 / FAILURE_PROB) // 2 - 1)
            rho = concentrated_bound(EPSILON**2, correction)
        return ZeroConcentratedDP(rho=rho, view=view, domain=DOMAIN)
    return PureDP(epsilon=EPSILON, view=view, domain=DOMAIN)


def target_of(make: Make, mechanism: Mechanism, *, releases: int = 1) -> Target:
    """The protocol in Algorithm 1, with the accounting that its proof declares."""
    return Target(
        program=program_of(make, mechanism),
        pure=isinstance(claim_of(mechanism), PureDP),
        site="message" if mechanism == "local" else "aggregate",
        releases=releases,
    )


# Privacy


#: Records that change in the full profile: the first and the last of a batch of either arm.
_RECORDS, _BACKGROUNDS = (0, 1, 2, 3, 5, 13), (0.0, 1.0)


def _mutant_pairs(run: Run, mutant: Mutant) -> list[Neighbours]:
    if mutant.late:
        return [late_pair(REFERENCES[mutant.mechanism])]
    found = early_pairs(horizon=mutant.horizon, rounds=(mutant.record,))
    more: list[Neighbours] = run.choose(
        quick=[], full=early_pairs(horizon=30, rounds=_RECORDS, backgrounds=_BACKGROUNDS)
    )
    return found + more


def _privacy_row(suite: Suite, name: str, mutant: Mutant) -> None:
    claim, (algorithm, words, theorem) = claim_of(mutant.mechanism), _CLAIMS[mutant.mechanism]
    target = target_of(mutant.make, mutant.mechanism)

    def evaluate(run: Run) -> Outcome:
        pairs = _mutant_pairs(run, mutant)
        found = search(target, pairs, rng=run.rng("replays"))
        witness = found.witness(claim)
        notes = found.in_words()
        if witness is None:
            witness, notes = _by_divergence(target, pairs, claim)
        return Outcome([] if witness is None else [witness], notes, samples=found.replays)

    def digest(seed: int) -> str:
        run = Run(profile="quick", alpha=0.05, seed=seed, row_id=name)
        data = _mutant_pairs(run, mutant)[0].left
        return fingerprint(record(target.program, data, rng=np.random.default_rng(seed)))

    evaluate.__doc__ = f"The mutant: {mutant.about}. {_HOW[mutant.caught]}"
    suite.add(
        Row(
            id=f"CZ23-M/{name}",
            title=f"Mutant, {mutant.about}: {algorithm} is {words}",
            kind="privacy",
            claim=claim,
            evaluate=evaluate,
            expect="refuted",
            view=str(claim.view),
            source=f"{theorem}, broken on purpose",
            fingerprint=digest,
        )
    )


def divergence_witness_of(target: Target, pairs: list[Neighbours], claim: PrivacyClaim) -> Witness | None:
    """The largest divergence that the pairs give; ``None`` for a pure claim, or where nothing moves."""
    if not isinstance(claim, RenyiDP | ZeroConcentratedDP):
        return None
    moved = [moved_noise(target.program, pair, seed=0) for pair in pairs]
    worst = max((item for item in moved if item), key=lambda item: item.signal, default=None)
    return None if worst is None else worst.witness(claim)


def _by_divergence(
    target: Target, pairs: list[Neighbours], claim: PrivacyClaim
) -> tuple[Witness | None, list[str]]:
    witness = divergence_witness_of(target, pairs, claim)
    if witness is None or witness.bound is None or claim.bound is None:
        return witness, []
    values = f"{float(witness.bound):.6g} > {float(claim.bound):.6g}"
    return witness, [f"caught by a divergence: {claim.quantity} {values} ({witness.description})"]


# Controls


def _control_pairs(run: Run) -> list[Neighbours]:
    if run.profile == "quick":
        return early_pairs(horizon=13, rounds=(1, 2))
    return early_pairs(horizon=30, rounds=_RECORDS, backgrounds=_BACKGROUNDS)


def _correct_row(suite: Suite, mechanism: Mechanism) -> None:
    claim, (algorithm, _, theorem) = claim_of(mechanism), _CLAIMS[mechanism]

    def findings(run: Run) -> tuple[list[str], int]:
        target, pairs = target_of(correct, mechanism), _control_pairs(run)
        return _findings(target, pairs, claim, run, seeds=run.choose(quick=10, full=200))

    _nothing_found(
        suite,
        f"CZ23-M/correct/{mechanism}",
        f"Not a mutant: the search that catches the mutants finds nothing in {algorithm}",
        findings,
        theorem,
    )


def _harmless_row(suite: Suite) -> None:
    def findings(run: Run) -> tuple[list[str], int]:
        found, replays = [], 0
        for name, change in HARMLESS.items():
            target = target_of(change.make, "polya", releases=change.releases)
            seeds = run.choose(quick=2, full=200)
            words, count = _findings(target, _control_pairs(run), claim_of("polya"), run, seeds=seeds)
            found += [f"{name}: {item}" for item in words]
            replays += count
        return found, replays

    _nothing_found(
        suite,
        "CZ23-M/harmless",
        f"Not broken: the same search finds nothing in {len(HARMLESS)} changes that cost no privacy "
        f"({', '.join(HARMLESS)})",
        findings,
        "Theorem 1",
    )


def _findings(
    target: Target, pairs: list[Neighbours], claim: PrivacyClaim, run: Run, *, seeds: int
) -> tuple[list[str], int]:
    """Everything that search, seeds and divergences find wrong, in words, and the number of replays."""
    streams = run.seed_sequence("seeds").spawn(seeds)
    parts: list[Found] = [
        search(target, pairs, rng=run.rng("replays")),
        over_seeds(target, pairs, seeds=streams),
    ]
    words = [line for part in parts for line in part.in_words()]
    witness = divergence_witness_of(target, pairs, claim)
    claimed = claim.bound or Fraction(0)
    if witness is not None and (witness.bound is None or witness.bound > claimed):
        words.append(f"divergence: {witness.description}")
    return words, sum(part.replays for part in parts)


def _nothing_found(
    suite: Suite, id_: str, title: str, findings: Callable[[Run], tuple[list[str], int]], source: str
) -> None:
    scope = (
        "quick: 2 arms, batches of up to 4 users, one of two records changed, 10 seeds (2 for each harmless "
        "change); full: batches of up to 8 users, one of six records changed on two backgrounds, 200 seeds"
    )

    def evaluate(run: Run) -> Outcome:
        """Run the mutants' search, and sampled histories of many seeds, on what is not broken. No leak; for a
        pure claim no release too many and no loss above ε; for a Rényi or concentrated one no divergence of
        order 2 of the first batch's aggregates above the claim."""
        words, replays = findings(run)
        estimate = Estimate.exactly(
            len(words),
            quantity="number of findings",
            samples=replays,
            method="leaks and exact losses of replays; exact divergences of the first batch's noise",
            scope=scope,
        )
        return Outcome([estimate], words or [f"{replays} replays, nothing found"], samples=replays)

    claim = Ordering(text=f"{title}; {scope}", quantity_name="number of findings", claimed=0)
    suite.add(Row(id=id_, title=title, kind="structure", claim=claim, evaluate=evaluate, source=source))


# Sums


def sum_distance(make: Make, *, users: int, reward: float) -> tuple[Any, Any]:
    """Balls: the total variation distance between the decoded sum of a batch and Theorem 1's law, and the
    probability of an error above τ/g in the noisy sum (for a reward on the grid of 1/g)."""
    sheet = REFERENCES["polya"].sheet(users)
    g, rewards = sheet.precision, [reward] * users
    law, left_out = enumerated_sum(make(REFERENCES["polya"].sheet, None)(users), rewards, g)
    far = [p for v, p in law.items() if abs(v - users * reward * g) > sheet.noise_margin]
    return distance(law, declared_sum(sheet, rewards, EPSILON), left_out), sum(far, arb(0))


def _sum_row(suite: Suite, id_: str, title: str, make: Make, expect: str) -> None:
    users, rewards = 2, (0.0, 0.25, 1.0)
    scope = f"batches of {users} users, all rewards 0, 1/4 or 1; ε = {EPSILON}, p = {FAILURE_PROB}"

    def evaluate(run: Run) -> Outcome:
        """Enumerate one batch, rounding coins and noise, and compare the law of the decoded sum with the
        theorem's in closed form: discrete Laplace noise folded into [-τ, n g + τ], over g."""
        with precision(160):
            found = {x: sum_distance(make, users=users, reward=x) for x in rewards}
            ends = [(lower(gap), upper(gap)) for gap, _ in found.values()]
            errors = [f"{x:g}: {float(found[x][1]):.4g}" for x in (0.0, 1.0)]
        worst = max(0.0, *(low for low, _ in ends))
        estimate = Estimate(
            quantity="total variation distance",
            lower=worst,
            upper=max(high for _, high in ends),
            confidence=1.0,
            samples=len(ends),
            method="exact enumeration in balls",
            scope=scope,
            covers_claim=True,
        )
        far = f"an error above τ/g has probability (by reward) {', '.join(errors)}; p = {FAILURE_PROB}"
        caught = ["caught by the law of the decoded sum"] if worst > SAME else []
        return Outcome([estimate], [*caught, far], samples=len(ends))

    claim = SameDistribution(
        text=f"the decoded sum has the law of Theorem 1's protocol; {scope}",
        quantity_name="total variation distance",
        claimed=SAME,
    )
    suite.add(
        Row(
            id=id_,
            title=f"{title}: the decoded sum has the law of Theorem 1's protocol",
            kind="structure",
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            source="Algorithm 1, lines 18 to 30",
        )
    )
