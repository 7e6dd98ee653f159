"""``record_draws``: hear a function on a pair of neighbouring inputs, and read what it drew."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.blackbox.recorded.cost import Cost, cost_of, why_unpriced
from dpaudit.blackbox.recorded.findings import findings, recorded_in_words
from dpaudit.blackbox.recorded.recording import Recording, record_runs
from dpaudit.blackbox.recorded.rewrite import port_of
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours

__all__ = ["RecordedDraws", "record_draws"]

#: Pairs that are heard of a list of them.
PAIRS = 12


@dataclass(frozen=True)
class RecordedDraws:
    """What was heard, with the claim that it is held against, if any. Printing it gives all of it."""

    recording: Recording
    claim: PrivacyClaim | None = None

    @property
    def findings(self) -> list[str]:
        """What to look at, the gravest first. None of it is a verdict."""
        return [found.text for found in findings(self.recording, self.claim)]

    @property
    def cost(self) -> Cost | None:
        """What the pair costs by its noise, where the recording shows it."""
        return cost_of(self.recording)

    @property
    def port(self) -> str:
        """The function with its randomness taken from ``coins``: a proposal, as text."""
        return port_of(self.recording)

    @property
    def headline(self) -> str:
        """What the pair costs by its noise, or why that is not known, and how much there is to look at."""
        cost, count = self.cost, len(self.findings)
        found = f"{count} thing{'' if count == 1 else 's'} to look at" if count else "nothing to look at"
        if cost is None:
            return f"NO VERDICT, {found}; no cost: {why_unpriced(self.recording)}"
        bound = f"epsilon {cost.epsilon:.4g}" if cost.mu is None else f"mu {cost.mu:.4g}"
        return f"NO VERDICT, {found}; by its noise the pair costs {bound}"

    def __str__(self) -> str:
        draws = [f"    {line}" for line in recorded_in_words(self.recording)]
        found = [f"  look: {text}" for text in self.findings]
        return "\n".join([self.headline, *found, "  heard on the first input:", *draws])


def record_draws(
    mechanism: Callable[..., Any],
    neighbours: tuple[Any, Any] | Neighbours | Sequence[Neighbours] | list[tuple[Any, Any]],
    *,
    claim: PrivacyClaim | None = None,
    seed: int = 0,
) -> RecordedDraws:
    """Hear ``mechanism(data, rng)``, unchanged, on two neighbouring inputs, with the same generator on both.

    ``neighbours``: a pair, or several (a list, ``corners(...)``, ``Inputs(...)``), of which the first
    ``PAIRS`` are heard and the one with the most findings, then the highest cost, is given.

    Draws are heard from the ``rng`` that is given and from any other numpy generator that the function makes
    or holds, ``numpy.random``, ``random``, ``secrets``, ``os.urandom``, and ``rvs`` of scipy's distributions.
    The function runs about two to five times for each number that it draws, at most some hundred times. What
    the call raises is raised. With a ``claim``, the findings hold the cost of the pair against it. All
    generators are left as they were.
    """
    pairs = _pairs(neighbours)
    if claim is not None and not isinstance(claim, PrivacyClaim):
        raise InvalidParameterError(
            f"the claim must be one of privacy, such as PureDP(epsilon=1), got {claim!r}; pass one or none."
        )

    def call(data: Any) -> Any:
        return mechanism(copy.deepcopy(data), np.random.default_rng(np.random.SeedSequence(seed)))

    heard = [RecordedDraws(item, claim) for item in record_runs(call, pairs, function=mechanism)]
    return max(heard, key=lambda item: (len(item.findings), _cost(item.cost)))


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
        f"record_draws needs a pair of inputs or a list of pairs, got {type(neighbours).__name__}; pass "
        "(data, neighbour), corners(...) or Inputs(...)."
    )


def _cost(cost: Cost | None) -> float:
    return 0.0 if cost is None else float(cost.epsilon or cost.mu or 0.0)
