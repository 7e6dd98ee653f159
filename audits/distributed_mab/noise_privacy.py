"""Privacy of one batch's aggregate under pure DP: Theorems 1, 5 and 6 with their parameter sheets, and
drop-outs.

The server sees (Σ x̂ + noise) mod m. Rounding and the other users only average, the modulus only
post-processes; what decides is the law of the noise against a shift of at most g. Rényi and concentrated
DP: ``renyi_privacy``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import PureDP
from dpaudit.evidence import Evidence, Witness
from dpaudit.kernel.ball import arb, ball, lower_short, precision
from dpaudit.laws import DiscreteLaplace, WrappedMod
from dpaudit.proofs.build import (
    Proof,
    compose_parallel,
    discrete_laplace_mechanism,
    polya_noise,
    post_processing,
)
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.views import PUBLIC, SERVER, View
from dpaudit.witnesses.transcript import WitnessSite, transcript_body
from mechanisms.parameter_sheet import Sheet, local_laplace_sheet, polya_sheet

__all__ = ["DOMAIN", "add_rows", "dropout_witness", "largest_log_ratio"]

DOMAIN = "a user's reward in [0, 1], used once"
BATCHES = tuple(2**b for b in range(1, 20))
HORIZON = 2**20


def add_rows(suite: Suite) -> None:
    """The rows on pure DP of the aggregate."""
    _distributed(suite)
    _central_and_local(suite)
    _modulus(suite)
    _dropouts(suite)


def _sheet(users: int, epsilon: Fraction) -> Sheet:
    return polya_sheet(users=users, epsilon=epsilon, tail_prob=Fraction(1, HORIZON))


def add_privacy_row(
    suite: Suite,
    id_: str,
    *,
    title: str,
    claim: Any,
    evidence: Any,
    about: str,
    source: str,
    expect: str = "verified",
    notes: Sequence[str] = (),
) -> None:
    """A privacy row whose evidence, a function of the run, is certificates, witnesses or estimates."""

    def evaluate(run: Run) -> Outcome:
        found: list[Evidence] = evidence(run)
        return Outcome(found, notes)

    evaluate.__doc__ = about
    suite.add(
        Row(
            id=id_,
            title=title,
            kind="privacy",
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            view=str(claim.view),
            source=source,
        )
    )


def _laplace_batches(epsilon: Fraction, function: str) -> Proof:
    """Every batch size of a horizon of 2^20, with the sheet's g: disjoint users, so the largest cost
    counts."""
    parts = []
    for users in BATCHES:
        g = _sheet(users, epsilon).precision
        parts.append(discrete_laplace_mechanism(sensitivity=g, scale=g / epsilon))
    return post_processing(compose_parallel(parts), function=function)


def _distributed(suite: Suite) -> None:
    for id_, epsilon in (
        ("CZ23-T1P/aggregate", Fraction(1)),
        ("CZ23-T1P/aggregate/small", Fraction(1, 1000)),
        ("CZ23-T1P/aggregate/large", Fraction(40)),
    ):
        claim = PureDP(epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN)
        proof = _laplace_batches(epsilon, "reduction modulo m, analyzer, elimination")
        add_privacy_row(
            suite,
            id_,
            title=f"Dist-DP-SE: the aggregates of all batches are (ε, 0)-DP, ε = {epsilon}, full turnout",
            claim=claim,
            evidence=lambda run, claim=claim, proof=proof: [proof.certify(claim)],
            about=(
                "The n Pólya shares add up to Lap_Z(g/ε) (CZ23-F1), whose shift by at most g costs "
                "exactly ε: one "
                "certificate over the batch sizes 2, 4, ..., 2^19, each with its own g = ⌈ε sqrt "
                "n⌉, at fixed "
                "disjoint positions. The adaptive protocol has rows of its own."
            ),
            source="Theorem 1",
        )


def _central_and_local(suite: Suite) -> None:
    epsilon = Fraction(1, 2)
    central = PureDP(epsilon=epsilon, view=View.of(PUBLIC), domain=DOMAIN)
    add_privacy_row(
        suite,
        "CZ23-T5P",
        title="CDP-SE (central): what follows from the server's noisy sums is (ε, 0)-DP",
        claim=central,
        evidence=lambda run: [
            _laplace_batches(epsilon, "adding noise mod m, reduction, analyzer, elimination").certify(central)
        ],
        about=(
            "One draw of Lap_Z(g/ε) per aggregate, reduced modulo m with it: the certificate of "
            "Theorem 1 in the "
            "view of the public, for the trusted server sees the exact sums."
        ),
        source="Theorem 5, Algorithms 2 and 3",
        notes=["Algorithm 3 reduces the noise before it adds it: (ŷ + (η mod m)) mod m = (Σ x̂ + η) mod m"],
    )
    local = PureDP(epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN)
    add_privacy_row(
        suite,
        "CZ23-T6P",
        title="LDP-SE (local): each user's message is (ε, 0)-DP by itself",
        claim=local,
        evidence=lambda run: [_laplace_batches(epsilon, "reduction of one message modulo m").certify(local)],
        about=(
            "Each user alone adds Lap_Z(g/ε) to an encoding in {0, ..., g}: the noise and the shift "
            "of Theorem 1, "
            "at one user."
        ),
        source="Theorem 6, Algorithm 4",
    )


# The modulus


def largest_log_ratio(law: WrappedMod, neighbour: WrappedMod) -> Any:
    """max over residues y and both directions of log P(y)/P'(y), as a ball."""
    worst = arb(0)
    for y in range(law.modulus):
        worst = worst.max(abs(law.logp_ball(y) - neighbour.logp_ball(y)))
    return worst


def _modulus(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        users = [1, 2, *run.choose(quick=[], full=[4, 16])]
        return [
            {"n": n, "epsilon": Fraction(e), "p": Fraction(p)}
            for n, e, p in itertools.product(users, ("1/10", "1", "4"), ("1/2", "1/100"))
        ]

    def aggregate(n: int, epsilon: Fraction, p: Fraction) -> Any:
        sheet = polya_sheet(users=n, epsilon=epsilon, tail_prob=p)
        return _worst_shift(sheet, sheet.total_noise(), epsilon)

    def message(n: int, epsilon: Fraction, p: Fraction) -> Any:
        sheet = local_laplace_sheet(users=n, epsilon=epsilon, tail_prob=p)
        return _worst_shift(sheet, DiscreteLaplace(scale=sheet.precision / epsilon), epsilon)

    add_steps(
        suite,
        "CZ23-T1P/mod",
        title="Modulo m the log-ratio stays below ε: what the server sees, residue by residue",
        steps=[
            Inequality(
                name="aggregate",
                text="max over residues and over shifts 1..g of |log P(ŷ)/P'(ŷ)| / ε <= 1, Theorem 1's sheet",
                left=aggregate,
                right=lambda n, epsilon, p: arb(1),
                points=points,
            ),
            Inequality(
                name="message",
                text="the same for one message y_i, Theorem 6's sheet",
                left=message,
                right=lambda n, epsilon, p: arb(1),
                points=points,
            ),
        ],
        about=(
            "Enumerate all residues of the wrapped law and all shifts up to g; the wrapped ratio is "
            "a weighted "
            "mean of unwrapped ones, so it stays strictly below ε."
        ),
        source="Theorems 1 and 6",
        scope="n = 1, 2 (full profile: 4, 16), ε = 1/10, 1, 4, p = 1/2, 1/100",
    )


def _worst_shift(sheet: Sheet, noise: Any, epsilon: Fraction) -> Any:
    """The largest log-ratio over all residues and all shifts 1, ..., g, over ε."""
    law = WrappedMod(noise, modulus=sheet.modulus)
    logs = [law.logp_ball(y) for y in range(law.modulus)]
    worst = arb(0)
    for shift in range(1, sheet.precision + 1):
        for y in range(law.modulus):
            worst = worst.max(abs(logs[y] - logs[y - shift]))  # a negative index wraps, as the residue does
    return worst / ball(epsilon)


# Drop-outs


def dropout_witness(claim: PureDP, *, users: int, present: int) -> Witness:
    """The aggregate of all present users' zeros against one reward of 1, at the outcome ŷ = 0, wraps
    included."""
    sheet = _sheet(users, Fraction(claim.epsilon))
    here, there = (sheet.aggregate_law(total, present=present) for total in (0, sheet.precision))
    site = WitnessSite(site="aggregate", to=frozenset([SERVER]), law=here, law_neighbour=there, value=0)
    with precision(256):
        bound = lower_short(site.loss_ball())
    rewards = np.zeros((2, present), dtype=int)  # of the users who are there
    rewards[1, 0] = 1
    return Witness(
        quantity="epsilon",
        bound=bound,
        form="transcript",
        body=transcript_body([site], view=claim.view, inputs=(rewards[0], rewards[1])),
        origin="forced",
        description=f"{present} of {users} users present, all rewards 0, or one of them 1; the server sees 0",
    )


def _dropouts(suite: Suite) -> None:
    epsilon = Fraction(1)
    for users, present in ((10, 9), (16, 15), (16, 8), (1024, 922)):
        claim = PureDP(
            epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN, turnout=f"{present} of {users} users"
        )
        add_privacy_row(
            suite,
            f"CZ23-T1P/dropout/{present}-of-{users}",
            title=f"Dist-DP-SE with {present} of {users} users present: the aggregate is (ε, 0)-DP",
            claim=claim,
            evidence=lambda run, claim=claim, users=users, present=present: [
                dropout_witness(claim, users=users, present=present),
                _present_proof(users, present, epsilon).certify(claim),
            ],
            about=(
                "Noise of fewer than n Pólya shares is no discrete Laplace noise: an exact witness "
                "at the outcome "
                "0, and the certificate of what does hold (the log-ratio is largest there)."
            ),
            source="Theorem 1, when messages are lost (the paper is silent on drop-outs)",
            expect="refuted",
        )
    claim = PureDP(epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN, turnout="9 of 10 users, or more")
    sheet = _sheet(10, epsilon)
    add_privacy_row(
        suite,
        "CZ23-T1P/dropout/repaired",
        title="Dist-DP-SE with shares Pólya(1/(rn)), at least rn of n users present: (ε, 0)-DP",
        claim=claim,
        evidence=lambda run: [
            polya_noise(sensitivity=sheet.precision, scale=sheet.precision / epsilon, share=1).certify(claim)
        ],
        about=(
            "Shares of shape 1/(rn) add up to Lap_Z(g/ε) once rn users are present; what more users add is "
            "independent of it."
        ),
        source="Theorem 1, repaired for a turnout of r n",
    )


def _present_proof(users: int, present: int, epsilon: Fraction) -> Proof:
    g = _sheet(users, epsilon).precision
    return polya_noise(sensitivity=g, scale=g / epsilon, share=Fraction(present, users))
