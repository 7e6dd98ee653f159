"""Notes of a check on recorded draws. They never change the verdict.

The mechanism runs a few more times, on some of the pairs, with rng proxies in place of its sources of
randomness (``dpaudit.blackbox.recorded``). These runs enter no bet and use none of the significance level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.blackbox.global_generators import seed_all
from dpaudit.blackbox.mutation import original
from dpaudit.blackbox.recorded.findings import findings, recorded_in_words
from dpaudit.blackbox.recorded.recording import Recording, record_runs
from dpaudit.blackbox.search import Target
from dpaudit.blackbox.statistics.blocks import Failure
from dpaudit.blackbox.words import in_words
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.neighbours import Neighbours

__all__ = ["notes_on_draws"]

#: Number of recorded pairs besides the pair with the strongest evidence, and the seconds for all of them.
OTHERS, SECONDS = 5, 1.0
#: Kinds of findings about one pair of inputs. The other kinds are about the mechanism.
OF_A_PAIR = ("law", "price")
RECORDING_KEY = 2**31 + 2


def notes_on_draws(
    target: Target, pairs: Sequence[Neighbours], *, first: int, claim: PrivacyClaim, deadline: float | None
) -> tuple[list[str], list[str]]:
    """Return notes on the recorded draws, and a description of the draws.

    Both are empty if the mechanism cannot be recorded. ``first`` is the index of the pair that is recorded
    first.
    """
    places = np.unique(np.linspace(0, len(pairs) - 1, OTHERS).round().astype(int)).tolist()
    chosen = [first, *(place for place in places if place != first)]
    try:
        recordings = _record(target, [pairs[place] for place in chosen], deadline)
    except (Exception, KeyboardInterrupt):
        return [], []  # the verdict does not depend on a recording, so its failure must not matter
    kinds: dict[str, list[str]] = {}
    for place, recording in zip(chosen, recordings, strict=False):  # there may be no time for all pairs
        pair = f", pair {place} ({pairs[place].name})" if len(pairs) > 1 else ""
        found: dict[str, list[str]] = {}
        for item in findings(recording, claim):
            where = pair if item.kind in OF_A_PAIR else ""
            found.setdefault(item.kind, []).append(f"recorded draws{where}: {item.text}")
        for kind, texts in found.items():
            kinds.setdefault(kind, texts)
    return [text for texts in kinds.values() for text in texts], recorded_in_words(recordings[0])


def _record(target: Target, pairs: Sequence[Neighbours], deadline: float | None) -> list[Recording]:
    seed = np.random.SeedSequence(target.seed, spawn_key=(RECORDING_KEY,))
    if target.seed_globals:
        seed_all(seed)
    alone = replace(target, seed_globals=False)  # a seed set in a call would be recorded

    def call(data: Any) -> Any:
        outputs = alone.chunk(data, 1, seed, deadline=deadline)()
        return f"raised {in_words(outputs[0])}" if isinstance(outputs[0], Failure) else outputs[0]

    both = [(pair.left, pair.right) for pair in pairs]
    return record_runs(call, both, function=original(target.mechanism), seconds=SECONDS)
