"""What a mechanism under check was heard to draw: notes beside the verdict, which they never change.

The mechanism is run a few times more, on some of the pairs, with listeners in place of the sources of
randomness (``dpaudit.blackbox.recorded``). No bet sees these runs, and no error level is spent on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.mutation import original
from dpaudit.blackbox.recorded.findings import findings, recorded_in_words
from dpaudit.blackbox.recorded.recording import Recording, record_runs
from dpaudit.blackbox.runs import Chunk
from dpaudit.blackbox.search import Target
from dpaudit.blackbox.statistics.blocks import Failure
from dpaudit.blackbox.words import in_words
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.neighbours import Neighbours

__all__ = ["hear"]

#: Pairs that are heard besides the one that spoke most against the claim, and seconds for all of them.
OTHERS, SECONDS = 5, 1.0
#: Findings about what moved between the two inputs; others are about the mechanism.
OF_A_PAIR = ("law", "price")
HEARD_KEY = 2**31 + 2


def hear(
    target: Target, pairs: Sequence[Neighbours], *, first: int, claim: PrivacyClaim, deadline: float | None
) -> tuple[list[str], list[str]]:
    """Notes on what was heard, and the draws in words; both empty where the mechanism cannot be heard.
    ``first``: the pair that is heard before others."""
    places = np.unique(np.linspace(0, len(pairs) - 1, OTHERS).round().astype(int)).tolist()
    chosen = [first, *(place for place in places if place != first)]
    try:
        recordings = _record(target, [pairs[place] for place in chosen], deadline)
    except (Exception, KeyboardInterrupt):
        return [], []  # whatever stops a recording, the verdict stands without it
    kinds: dict[str, list[str]] = {}
    for place, recording in zip(chosen, recordings, strict=False):  # those that there was time for
        pair = f" on pair {place} ({pairs[place].name})" if len(pairs) > 1 else ""
        found: dict[str, list[str]] = {}
        for item in findings(recording, claim):
            where = pair if item.kind in OF_A_PAIR else ""
            found.setdefault(item.kind, []).append(f"heard{where}: {item.text}")
        for kind, texts in found.items():
            kinds.setdefault(kind, texts)
    return [text for texts in kinds.values() for text in texts], recorded_in_words(recordings[0])


def _record(target: Target, pairs: Sequence[Neighbours], deadline: float | None) -> list[Recording]:
    seed = np.random.SeedSequence(target.seed, spawn_key=(HEARD_KEY,))

    def call(data: Any) -> Any:
        outputs = Chunk(target.mechanism, data, 1, seed, target.batch, target.timeout, deadline)()
        return f"raised {in_words(outputs[0])}" if isinstance(outputs[0], Failure) else outputs[0]

    heard = [(pair.left, pair.right) for pair in pairs]
    return record_runs(call, heard, function=original(target.mechanism), seconds=SECONDS)
