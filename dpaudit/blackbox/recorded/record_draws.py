"""Record the draws of a function on a pair of neighbouring inputs, and estimate its privacy cost."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from warnings import warn

import numpy as np

from dpaudit.blackbox.recorded.cost import Cost, cost_of, why_cost_unknown
from dpaudit.blackbox.recorded.findings import findings, recorded_in_words
from dpaudit.blackbox.recorded.recording import Recording, record_runs
from dpaudit.blackbox.recorded.rewrite import rewrite_of
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours

__all__ = ["RecordedDraws", "record_draws"]

#: Largest number of pairs in a list that are recorded.
PAIRS = 12


@dataclass(frozen=True)
class RecordedDraws:
    """Recorded draws of a function on a pair of inputs. Print it to see all of them.

    Attributes
    ----------
    recording : Recording
        The two recorded runs.
    claim : PrivacyClaim or None
        The claim that the cost is compared with.
    """

    recording: Recording
    claim: PrivacyClaim | None = None

    @property
    def findings(self) -> list[str]:
        """Return the possible defects, the most serious first. A finding is not a verdict."""
        return [found.text for found in findings(self.recording, self.claim)]

    @property
    def cost(self) -> Cost | None:
        """Return the privacy cost of the pair, or None if the recording does not determine it."""
        return cost_of(self.recording)

    @property
    def rewrite(self) -> str:
        """Return the source of the function with its randomness taken from ``coins``, to edit."""
        return rewrite_of(self.recording)

    @property
    def port(self) -> str:
        """Return ``rewrite``, which had this name before."""
        warn("RecordedDraws.port was renamed: use rewrite", DeprecationWarning, stacklevel=2)
        return self.rewrite

    def __repr__(self) -> str:
        """Return the headline. Printing the object shows all draws."""
        return f"<{self.headline}>"

    @property
    def headline(self) -> str:
        """Return the number of findings, and the cost of the pair or why it is unknown."""
        cost, count = self.cost, len(self.findings)
        found = f"{count or 'no'} finding{'' if count == 1 else 's'}"
        if cost is None:
            return f"NO VERDICT, {found}, cost unknown: {why_cost_unknown(self.recording)}"
        bound = f"epsilon {cost.epsilon:.4g}" if cost.mu is None else f"mu {cost.mu:.4g}"
        return f"NO VERDICT, {found}, cost of this pair by its noise: {bound}"

    def __str__(self) -> str:
        draws = [f"    {line}" for line in recorded_in_words(self.recording)]
        found = [f"  finding: {text}" for text in self.findings]
        return "\n".join([self.headline, *found, "  recorded draws on the first input:", *draws])


def record_draws(
    mechanism: Callable[..., Any],
    neighbours: tuple[Any, Any] | Neighbours | Sequence[Neighbours] | list[tuple[Any, Any]],
    *,
    claim: PrivacyClaim | None = None,
    seed: int = 0,
) -> RecordedDraws:
    """Record the draws of an unchanged mechanism on two neighbouring inputs, with the same generator on both.

    Draws are recorded from ``rng``, from every other numpy generator that the function makes or holds, and
    from ``numpy.random``, ``random``, ``secrets``, ``os.urandom`` and ``rvs`` of scipy's distributions. The
    function runs about two to five times for each number that it draws, at most some hundred times. An
    exception of the function is passed on. The states of all generators are restored.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng) -> output``.
    neighbours : pair or sequence of pairs
        A pair ``(data, neighbour)``, or several pairs (a list, ``corners(...)``, ``Inputs(...)``). The first
        12 of several pairs are recorded, and the result is the pair with the most findings, then the highest
        cost.
    claim : PrivacyClaim, optional
        With a claim, the findings include a cost of the pair above it.
    seed : int, default 0
        Seed of ``rng``.

    Returns
    -------
    RecordedDraws
        The draws, the findings, the cost and a rewrite with ``coins``.

    Raises
    ------
    InvalidParameterError
        ``neighbours`` holds no pair, or ``claim`` is not a privacy claim.
    """
    pairs = _pairs(neighbours)
    if claim is not None and not isinstance(claim, PrivacyClaim):
        raise InvalidParameterError(
            f"claim must be a privacy claim such as PureDP(epsilon=1), got {claim!r}.",
            code="E-CLAIM-NOT-PRIVACY",
        )

    def call(data: Any) -> Any:
        return mechanism(copy.deepcopy(data), np.random.default_rng(np.random.SeedSequence(seed)))

    recorded = [RecordedDraws(item, claim) for item in record_runs(call, pairs, function=mechanism)]
    return max(recorded, key=lambda item: (len(item.findings), _cost(item.cost)))


def _pairs(neighbours: Any) -> list[tuple[Any, Any]]:
    if isinstance(neighbours, Neighbours):
        return [(neighbours.left, neighbours.right)]
    found = list(neighbours)[:PAIRS] if isinstance(neighbours, Sequence) else []
    if found and all(isinstance(item, Neighbours) for item in found):
        return [(item.left, item.right) for item in found]
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return [neighbours]
    if isinstance(neighbours, list) and found and all(isinstance(p, tuple) and len(p) == 2 for p in found):
        return found
    raise InvalidParameterError(
        "neighbours must be a pair of inputs or a sequence of pairs, such as (data, neighbour), corners(...) "
        f"or Inputs(...), got {type(neighbours).__name__}.",
        code="E-NEIGHBOURS-TYPE",
    )


def _cost(cost: Cost | None) -> float:
    return 0.0 if cost is None else float(cost.epsilon or cost.mu or 0.0)
