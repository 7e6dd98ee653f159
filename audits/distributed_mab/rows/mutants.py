"""Broken protocols, each of which must be caught, and correct protocols, which must not be. There is one
table per mechanism.

A mutant makes the claim that its author would make. Privacy mutants are refuted by a transcript, a leak or a
divergence, wrong sums by the exact distribution of what the analyzer returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab.mutant_claims import claim_of, divergence_witness_of, sum_distance, target_of
from audits.distributed_mab.mutant_protocols import EPSILON, FAILURE_PROB, MECHANISMS, REFERENCES, Mechanism
from audits.distributed_mab.mutant_register import ARITHMETIC, HARMLESS, PRIVACY, Mutant
from dpaudit.coins import fingerprint, record
from dpaudit.core.claims import Ordering, PrivacyClaim, SameDistribution
from dpaudit.core.evidence import Estimate
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.kernel.ball import lower, precision, upper
from dpaudit.reference.algorithms.mab.elimination_corners import late_pair
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.reference.mechanisms.broken_protocols import Make, correct
from dpaudit.replay.breaches import Found, Target, over_seeds, search
from dpaudit.suite import Control, controls

__all__ = ["rows"]

rows = Group("Mutants of the distributed protocols")

#: The algorithm, its theorem's claim as a phrase, and the theorem.
CLAIMS: dict[Mechanism, tuple[str, str, str]] = {
    "polya": ("Dist-DP-SE", "(ε, 0)-DP", "Theorem 1"),
    "central": ("CDP-SE", "(ε, 0)-DP for an observer of the noisy sums", "Theorem 5"),
    "local": ("LDP-SE", "(ε, 0)-DP in every message", "Theorem 6"),
    "skellam": ("Dist-RDP-SE", "(2, ε(2))-RDP", "Theorem 2"),
    "gaussian": ("Dist-CDP-SE", "(1/2)ε̄²-CDP", "Theorem 4"),
}
HOW = {
    "loss": (
        "Replay neighbours along sampled histories, and along histories that give every affected aggregate "
        "the outcome at which its two distributions differ most: a server transcript has a loss above ε."
    ),
    "leak": "Replay neighbours: an output to the server without fresh noise differs, an infinite loss.",
    "divergence": (
        "Compare the noise of the first batch's aggregates, as the program adds it, with itself shifted by "
        "the change of one record: its exact Rényi divergence of order 2 modulo m exceeds the claim."
    ),
}
#: The decoded sum's distribution is compared up to the rounding of its 160-bit balls.
SAME = Fraction(1, 2**64)
#: Records that change in the full profile: the first and the last of a batch of either arm.
RECORDS, BACKGROUNDS = (0, 1, 2, 3, 5, 13), (0.0, 1.0)


def privacy_table(mechanism: Mechanism, algorithm: str, words: str) -> dict[str, Control]:
    """Every broken {algorithm} that claims to be {words} is caught, and the correct one is not

    Replay neighbours along sampled histories, and along histories that give every affected aggregate the
    outcome at which its two distributions differ most, or compare the divergence of the first batch's noise
    with the claim. The correct protocol goes through the same search, and through additional sampled
    histories.
    """
    mutants = {
        name.removeprefix(f"{mechanism}/"): _privacy(mutant)
        for name, mutant in PRIVACY.items()
        if mutant.mechanism == mechanism
    }
    right = {"correct": _nothing(correct, mechanism, seeds=(10, 200))}
    if mechanism == "polya":
        for name, change in HARMLESS.items():
            spared = _nothing(
                change.make, mechanism, seeds=(2, 200), releases=change.releases, about=change.about
            )
            right[f"harmless: {name}"] = spared
    return {**mutants, **right}


def _privacy(mutant: Mutant) -> Control:
    claim, target = claim_of(mutant.mechanism), target_of(mutant.make, mutant.mechanism)

    def evaluate(run: Run) -> Outcome:
        pairs = _pairs(run, mutant)
        found = search(target, pairs, rng=run.rng("replays"))
        witness, notes = found.witness(claim), found.in_words()
        if witness is None:
            witness = divergence_witness_of(target, pairs, claim)
            notes = [] if witness is None else [f"caught by a divergence: {witness.description}"]
        return Outcome([] if witness is None else [witness], notes, samples=found.replays)

    def digest(seed: int) -> str:
        run = Run(profile="quick", alpha=0.05, seed=seed, row_id=mutant.about)
        data = _pairs(run, mutant)[0].left
        return fingerprint(record(target.program, data, rng=np.random.default_rng(seed)))

    about = f"{mutant.about}; {HOW[mutant.caught]}"
    return Control(claim=claim, evaluate=evaluate, about=about, digest=digest)


def early_pairs(
    *, horizon: int, rounds: Sequence[int], backgrounds: Sequence[float] = (0.0,)
) -> list[Neighbours]:
    """Return pairs with two arms and batches of 2 + 2, 4 + 4, ... users. All rewards are equal except those
    of one round, which are 0 or 1."""
    levels = {f"rewards {level:g}": (level, level) for level in backgrounds}
    words = "round {round} from 0 to 1"
    return reward_pairs(horizon=horizon, rounds=rounds, backgrounds=levels, words=words)


def _pairs(run: Run, mutant: Mutant) -> list[Neighbours]:
    if mutant.late:
        return [late_pair(REFERENCES[mutant.mechanism])]
    few = early_pairs(horizon=mutant.horizon, rounds=(mutant.record,))
    return (
        few
        if run.profile == "quick"
        else few + early_pairs(horizon=30, rounds=RECORDS, backgrounds=BACKGROUNDS)
    )


# Correct protocols


def _nothing(
    make: Make, mechanism: Mechanism, *, seeds: tuple[int, int], releases: int = 1, about: str = ""
) -> Control:
    """Run the search that catches the mutants, and ``seeds`` sampled histories. Both must find nothing."""
    claim, target = claim_of(mechanism), target_of(make, mechanism, releases=releases)
    scope = (
        f"quick: 2 arms, batches of up to 4 users, one of two records changed, {seeds[0]} seeds; "
        f"full: batches of up to 8, one of six records, {seeds[1]} seeds; rewards 0 and 1"
    )

    def evaluate(run: Run) -> Outcome:
        words, replays = _findings(target, claim, run, seeds=run.choose(quick=seeds[0], full=seeds[1]))
        estimate = Estimate.exactly(
            len(words),
            quantity="number of findings",
            samples=replays,
            method="leaks and exact losses of replays; exact divergences of the first batch's noise",
            scope=scope,
        )
        return Outcome([estimate], words or [f"{replays} replays, nothing caught"], samples=replays)

    text = f"the search that catches the mutants finds nothing; {scope}"
    nothing = Ordering(text=text, quantity_name="number of findings", claimed=0)
    return Control(claim=nothing, evaluate=evaluate, expect="verified", about=about)


def _findings(target: Target, claim: PrivacyClaim, run: Run, *, seeds: int) -> tuple[list[str], int]:
    """Describe everything that the search, the seeds and the divergences find wrong, and return the number of
    replays."""
    quick = run.profile == "quick"
    pairs = (
        early_pairs(horizon=13, rounds=(1, 2))
        if quick
        else early_pairs(horizon=30, rounds=RECORDS, backgrounds=BACKGROUNDS)
    )
    streams = run.seed_sequence("seeds").spawn(seeds)
    parts: list[Found] = [
        search(target, pairs, rng=run.rng("replays")),
        over_seeds(target, pairs, seeds=streams),
    ]
    words = [line for part in parts for line in part.in_words()]
    witness = divergence_witness_of(target, pairs, claim)
    if witness is not None and (witness.bound is None or witness.bound > (claim.bound or 0)):
        words.append(f"divergence: {witness.description}")
    return words, sum(part.replays for part in parts)


# Sums

REWARDS = (0.0, 0.25, 1.0)
SCOPE = f"batches of 2 users, all rewards 0, 1/4 or 1; ε = {EPSILON}, p = {FAILURE_PROB}"


def _sum(make: Make, expect: str, about: str) -> Control:
    claim = SameDistribution(
        text=f"the decoded sum has the distribution of Theorem 1's protocol; {SCOPE}",
        quantity_name="total variation distance",
        claimed=SAME,
    )

    def evaluate(run: Run) -> Outcome:
        with precision(160):
            gaps: dict[float, Any] = {x: sum_distance(make, users=2, reward=x) for x in REWARDS}
            ends = [(lower(gap), upper(gap)) for gap, _ in gaps.values()]
            errors = [f"{x:g}: {float(gaps[x][1]):.4g}" for x in (0.0, 1.0)]
        estimate = Estimate(
            quantity="total variation distance",
            lower=max(0.0, *(low for low, _ in ends)),
            upper=max(high for _, high in ends),
            confidence=1.0,
            samples=len(ends),
            method="exact enumeration in balls",
            scope=SCOPE,
            covers_claim=True,
        )
        far = f"an error above τ/g has probability (by reward) {', '.join(errors)}; p = {FAILURE_PROB}"
        return Outcome([estimate], [far], samples=len(ends))

    return Control(claim=claim, evaluate=evaluate, expect=expect, about=about)


# The tables

for _mechanism in MECHANISMS:
    _algorithm, _words, _theorem = CLAIMS[_mechanism]
    controls(
        rows,
        f"CZ23-M/{_mechanism}",
        f"{_theorem}, broken on purpose",
        mechanism=_mechanism,
        algorithm=_algorithm,
        words=_words,
    )(privacy_table)


@controls(rows, "CZ23-M/sum", "Algorithm 1, lines 18 to 30, broken on purpose")
def sums() -> dict[str, Control]:
    """Every decoded sum with a mistake is distinguished from Theorem 1's, and the correct sum is not

    Enumerate one batch, rounding coins and noise, and compare the distribution of the decoded sum with the
    theorem's in closed form: discrete Laplace noise folded into [-τ, n g + τ], over g.
    """
    wrong = {name: _sum(mutant.make, "refuted", mutant.about) for name, mutant in ARITHMETIC.items()}
    return {**wrong, "correct": _sum(correct, "verified", "")}
