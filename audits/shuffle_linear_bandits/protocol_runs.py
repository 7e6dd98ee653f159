"""Share setup between the rows on whole protocols.

The setup consists of small instances of Algorithm 1, pairs of users that change, and histories in which
actions differ. There are two features, two actions, batches of B users, and one additional user whose batch
is never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.build import Proof
from dpaudit.certify.sites import Site
from dpaudit.coins import Choice
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.data import Table
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.multiset import canonical_rows
from dpaudit.reference.algorithms.contextual.protocol_instances import DIM, USERS, turned_pairs
from dpaudit.reference.algorithms.contextual.shuffle_linucb_protocol import BatchedLinUCB, Counter
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Domain

__all__ = [
    "SQUARES",
    "algorithm",
    "message_histories",
    "protocol_audit",
    "returning",
]

#: Upper bound on the squared l2 change of (y x, x xᵀ on and above the diagonal), at cosine -1/2 and rewards
#: 1.
SQUARES = Fraction(9, 2)


def algorithm(
    counter: Counter, *, batch: int, schedule: Callable[[int], Sequence[int]] = range
) -> BatchedLinUCB:
    """Return Algorithm 1 at ridge 10 and radius 2. Noise seldom makes its matrix indefinite, and actions
    differ."""
    return BatchedLinUCB(
        counter=counter, dim=DIM, batch_size=batch, ridge=10.0, radius=lambda t: 2.0, schedule=schedule
    )


def returning(batches: int) -> Callable[[int], Sequence[int]]:
    """Return users who all play once in each of ``batches`` batches.

    The first user plays once more in a batch that is not sent.
    """
    return lambda users: [*(who for _ in range(batches) for who in range(users)), 0]


def message_histories() -> dict[str, Choice]:
    """Return histories of shuffled messages.

    One history has the values before the noise. In the others either action is better in the next batch.
    Histories at other sites are forced to quantiles, which lists do not have.
    """

    def shifted(by: Sequence[float]) -> Choice:
        def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
            if distribution.messages is None:
                return None
            part = {"statistics/vectors": by[:DIM], "statistics/matrices": by[DIM:]}.get(site, by)
            rows = [np.asarray(one.noise_and_offset[1]) + part for one in distribution.messages.elements()]
            apart = np.arange(len(rows))[:, None] / 1000  # equal rows have no density
            return canonical_rows(np.stack(rows) + apart, 1)

        return choose

    return {
        "no noise": shifted([0.0] * 5),
        "action 1 looks better": shifted([9.0, -9.0, 0.0, 0.0, 0.0]),
        "action 2 looks better": shifted([-9.0, 9.0, 0.0, 0.0, 0.0]),
        "the matrix is indefinite": shifted([0.0, 0.0, -90.0, 0.0, 0.0]),
    }


def protocol_audit(
    counter: Counter,
    claim: PrivacyClaim,
    mechanism: Proof,
    *,
    batch: int,
    pairs: Callable[[int], list[Neighbours]] = turned_pairs,
    domain: Domain = USERS,
    users: int | None = None,
    schedule: Callable[[int], Sequence[int]] = range,
    touches: int = 1,
    proof: Proof | None = None,
    shuffled: bool = False,
    data: Table | None = None,
) -> PrivacyAudit:
    """Audit Algorithm 1 with ``counter`` under ``claim``.

    A user affects its statistics ``touches`` times, and each release has ``mechanism``. Without ``users``
    there are two batches and one additional user. With ``data`` the claim is about them, and the program is
    proved for them.
    """
    if data is not None:
        claim = replace(claim, domain=data.words)
    count = 2 * batch + 1 if users is None else users

    def neighbours(run: Run) -> Sequence[Neighbours]:
        every = pairs(count - 1)
        return run.choose(quick=every[:1], full=every)

    return PrivacyAudit(
        claim=claim,
        domain=domain,
        program=algorithm(counter, batch=batch, schedule=schedule),
        neighbours=neighbours,
        sites=[Site("statistics/*", touches=touches, mechanism=mechanism)],
        because="a user is in one batch" if touches == 1 else f"a user is in {touches} batches, once in each",
        proof=proof,
        histories=message_histories() if shuffled else {},
        samples=1,
    )
