"""Rényi and concentrated DP of the whole adaptive protocols (Theorems 2 and 4).

For every prefix of outcomes only the aggregate that the changed user enters has another law, so the
divergence of the whole view is at most the largest one of a single aggregate: the certificates compose the
batches in parallel, by what was shown. From below it is at least that of any one aggregate that is made in
every history, modulo m as the server sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from algorithms.mab.batched_elimination import Elimination
from algorithms.mab.distributed_elimination import Variant, program, variant
from audits.distributed_mab.concentrated_privacy import NEAR_ONE, concentrated_bound
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.protocol_runs import PUBLIC_CHOICES, batch_lengths, in_parallel, reward_pairs
from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.claims import Ordering, RenyiDP, ZeroConcentratedDP
from dpaudit.evidence import Estimate, Evidence
from dpaudit.kernel.ball import precision
from dpaudit.proofs.build import Proof, discrete_gaussian_sum, integer_noise
from dpaudit.replays.followed import Steering, Survey, survey
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.views import SERVER, View
from dpaudit.witnesses.divergence import divergence_witness
from mechanisms.gaussian_sum_divergence import xi
from mechanisms.parameter_sheet import Sheet

__all__ = [
    "HISTORIES",
    "add_rows",
    "certain_lengths",
    "gaussian_batches",
    "obstacles",
    "skellam_batches",
    "surveyed",
]

SERVER_VIEW = View.of(SERVER)


def _up(wanted: Callable[[int], bool]) -> Steering:
    """The largest sum that the analyzer can return where ``wanted(k)``, the smallest one elsewhere."""
    return lambda k, sheet: sheet.users * sheet.precision + sheet.noise_margin + (0 if wanted(k) else 1)


#: Two arms: one of them goes out as soon as it can, or none ever does.
HISTORIES: dict[str, Steering] = {
    "arm 2 goes out": _up(lambda k: k % 2 == 0),
    "arm 1 goes out": _up(lambda k: k % 2 == 1),
    "all sums alike": lambda k, sheet: sheet.users * sheet.precision // 2,
    "all sums far down": _up(lambda k: False),
}


@lru_cache(maxsize=8)
def surveyed(name: str, epsilon: Fraction, horizon: int, s: int) -> Survey:
    """What one reward moves in Algorithm 1 with two arms: the first user's, those of the users who complete
    the first and the last batch of arm 2, and that of one whose batch the horizon cuts."""
    chosen, lengths = _setting(name, epsilon, horizon, s)
    ends = [2 * sum(lengths[:b]) for b in range(1, len(lengths) + 1)]
    last = max(end for end in ends if end < horizon)
    return survey(
        program(chosen, grid=1),
        map(chosen.sheet, lengths),
        reward_pairs(
            horizon=horizon,
            rounds=(0, ends[0] - 1, last - 1, horizon - 1),
            backgrounds={"all rewards 0": (0.0, 0.0)},
        ),
        HISTORIES,
        unentered=PUBLIC_CHOICES,
    )


def _setting(name: str, epsilon: Fraction, horizon: int, s: int) -> tuple[Variant, list[int]]:
    chosen = variant(name, epsilon=epsilon, failure_prob=Fraction(1, horizon), scale_factor=s)
    return chosen, batch_lengths(horizon)


def certain_lengths(chosen: Variant, horizon: int) -> list[int]:
    """The sizes of the batches that arm 1 plays to the end in every history, with two arms.

    In a batch an arm can go out only if it does at the ends of the analyzer's range, the farthest apart that
    two means can be.
    """
    state = Elimination((2,), failure_prob=chosen.failure_prob, tail=chosen.tail)
    found: list[int] = []
    while state.n_active > 1 and 2 * sum(found) + state.length < horizon:
        found.append(state.length)
        sheet = chosen.sheet(state.length)
        beyond = sheet.noise_margin / sheet.precision / sheet.users
        state.update(np.array([1 + beyond, -beyond]))
    return found


def _words(users: int) -> str:
    return f"the aggregate of arm 1 in the batch of {users}, all rewards 0 or one user's 1; modulo m"


def add_rows(suite: Suite) -> None:
    """The rows on Theorems 2 and 4."""
    _renyi(suite)
    _concentrated(suite)


def _renyi(suite: Suite) -> None:
    epsilon, s, horizon = Fraction(1), 1, 512
    chosen, lengths = _setting("dist_rdp_se", epsilon, horizon, s)
    for order in (2, 32):
        claim = RenyiDP(
            order=order, epsilon=theorem_2_final(order, epsilon, Fraction(s)), view=SERVER_VIEW, domain=DOMAIN
        )

        def evidence(run: Run, claim: RenyiDP = claim) -> list[Evidence]:
            certain = certain_lengths(chosen, horizon)
            below = [
                divergence_witness(
                    claim,
                    "skellam",
                    shift=sheet.precision,
                    variance=sheet.users * _share_variance(sheet),
                    modulus=sheet.modulus,
                    description=_words(sheet.users),
                )
                for sheet in (chosen.sheet(certain[0]), chosen.sheet(certain[-1]))
            ]
            return [in_parallel(skellam_batches(chosen, lengths)).certify(claim), *below]

        _add(
            suite,
            f"CZ23-T2P/protocol/order-{order}",
            title=f"Dist-RDP-SE, s = {s}, ε = {epsilon}: all sums, adaptive, are (α, ε(α))-RDP, α = {order}",
            claim=claim,
            evidence=evidence,
            looked=lambda: surveyed("dist_rdp_se", epsilon, horizon, s),
            source="Theorem 2, Definition 3",
        )
    _add_accounting(
        suite,
        "CZ23-T2P/protocol/accounting",
        title="Dist-RDP-SE: one reward enters one aggregate, with the theorem's noise, and moves it by g",
        looked=lambda: surveyed("dist_rdp_se", epsilon, horizon, s),
        scope=f"two arms, ε = {epsilon}, s = {s}, T = {horizon}, four users, four histories",
        source="proof of Theorem 2",
    )


def _concentrated(suite: Suite) -> None:
    epsilon, s, horizon = Fraction(1, 2), 1, 258
    chosen, lengths = _setting("dist_cdp_se", epsilon, horizon, s)
    with precision(256):
        rho = concentrated_bound(epsilon**2, xi(Fraction(s * s), horizon // 2 - 1))
    claim = ZeroConcentratedDP(rho=rho, view=SERVER_VIEW, domain=DOMAIN)

    def evidence(run: Run) -> list[Evidence]:
        first = chosen.sheet(certain_lengths(chosen, horizon)[0])
        below = divergence_witness(
            claim,
            "discrete-gaussian-sum",
            shift=first.precision,
            order=NEAR_ONE,
            modulus=first.modulus,
            description=_words(first.users),
            variance=_share_variance(first),
            count=first.users,
        )
        return [in_parallel(gaussian_batches(chosen, lengths)).certify(claim), below]

    _add(
        suite,
        "CZ23-T4P/protocol",
        title=f"Dist-CDP-SE, s = {s}, ε = {epsilon}, T = {horizon}: all sums, adaptive, are (1/2)ε̄²-CDP",
        claim=claim,
        evidence=evidence,
        looked=lambda: surveyed("dist_cdp_se", epsilon, horizon, s),
        source="Theorem 4, Definition 3",
    )
    _add_accounting(
        suite,
        "CZ23-T4P/protocol/accounting",
        title="Dist-CDP-SE: one reward enters one aggregate, with the theorem's noise, and moves it by g",
        looked=lambda: surveyed("dist_cdp_se", epsilon, horizon, s),
        scope=f"two arms, ε = {epsilon}, s = {s}, T = {horizon}, four users, four histories",
        source="proof of Theorem 4",
    )


def _share_variance(sheet: Sheet) -> Fraction:
    """The parameter of one user's share, read off the sheet that the program runs with."""
    (value,) = sheet.share.parameters().values()
    return Fraction(value)


def skellam_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Skellam noise on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        integer_noise("skellam", sensitivity=sheet.precision, variance=sheet.users * _share_variance(sheet))
        for sheet in sheets
    ]


def gaussian_batches(chosen: Variant, lengths: Sequence[int]) -> list[Proof]:
    """Sums of discrete Gaussians on sums of sensitivity g, for each batch size."""
    sheets = [chosen.sheet(users) for users in lengths]
    return [
        discrete_gaussian_sum(sensitivity=sheet.precision, variance=_share_variance(sheet), count=sheet.users)
        for sheet in sheets
    ]


Looked = Callable[[], Survey]


def obstacles(found: Survey, *, declared: int = 1) -> list[str]:
    """What stands between the certificate and this program: faults, and sums that one record moves by another
    amount than ``declared`` times g at most."""
    reasons = list(found.faults)
    if found.moved != declared:
        reasons.append(
            f"one record must move the sums by up to {declared} g in all, it moved {found.moved} g"
        )
    return reasons


def _add(
    suite: Suite,
    id_: str,
    *,
    title: str,
    claim: RenyiDP | ZeroConcentratedDP,
    evidence: Callable[[Run], list[Evidence]],
    looked: Looked,
    source: str,
) -> None:
    def evaluate(run: Run) -> Outcome:
        """Certify the batches' noise, each with its own g, in parallel; follow the program on neighbouring
        inputs along forced histories and compare the users' laws in every aggregate. From below: the exact
        divergence of one aggregate that every history makes, moved by g."""
        found = looked()
        notes = [
            f"{found.runs} pairs of runs; one reward moved the sums of encodings by at most {found.moved} g",
            "that the outcomes shown before say which batch a user enters is an assumption",
        ]
        return Outcome(evidence(run), notes, obstacles(found), samples=found.runs)

    suite.add(
        Row(
            id=id_,
            title=title,
            kind="privacy",
            claim=claim,
            evaluate=evaluate,
            view=str(claim.view),
            source=source,
        )
    )


def _add_accounting(suite: Suite, id_: str, *, title: str, looked: Looked, scope: str, source: str) -> None:
    quantity = "Σ over aggregates of |shift of Σ x̂| / g"

    def evaluate(run: Run) -> Outcome:
        """Follow the program on both inputs along every history and compare, aggregate by aggregate, the sum
        of the encodings and every user's noise."""
        found = looked()
        # a run that is not the theorem's breaks the accounting whatever it moves
        moved = float(found.moved) if not found.faults else float(found.moved + 1 + len(found.faults))
        estimate = Estimate.exactly(
            moved,
            quantity=quantity,
            samples=found.runs,
            method="users' laws in every aggregate, on both inputs, along followed histories",
            scope=scope,
        )
        return Outcome([estimate], found.faults, samples=found.runs)

    claim = Ordering(
        text=(
            "one reward enters one aggregate, whose encodings' sum it moves by at most g; every user adds "
            "the theorem's share, and nothing else depends on the reward"
        ),
        quantity_name=quantity,
        claimed=1,
    )
    suite.add(Row(id=id_, title=title, kind="structure", claim=claim, evaluate=evaluate, source=source))
