"""A shuffler of labelled messages: a real permutation of real messages.

Users send any number of messages (label, content). The shuffler sees all of them, permutes them uniformly and
passes them on without their senders. This is the trust model of Chowdhury and Zhou (ICML 2022), section 2, of
Tenenbaum et al. (ICML 2023), Algorithm 1, and of protocols that send bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Message", "by_label", "histograms", "shuffle"]


class Message(NamedTuple):
    """One message: its ``label`` names the sum that its ``content`` belongs to."""

    label: Hashable
    content: Any


def shuffle(sent: Sequence[Iterable[Message]], rng: np.random.Generator) -> list[Message]:
    """Return all messages of all users (``sent[i]`` holds the messages of user i) in uniformly random
    order.
    """
    pool = [message for messages in sent for message in messages]
    return [pool[k] for k in rng.permutation(len(pool))]


def by_label(messages: Iterable[Message]) -> dict[Hashable, list[Any]]:
    """Return the contents under each label, in the order of arrival."""
    found: dict[Hashable, list[Any]] = {}
    for label, content in messages:
        found.setdefault(label, []).append(content)
    return found


def histograms(messages: Iterable[Message]) -> dict[Hashable, dict[Any, int]]:
    """Count each content under each label: everything that a uniform permutation leaves of hashable
    messages.
    """
    return {
        label: {x: contents.count(x) for x in set(contents)} for label, contents in by_label(messages).items()
    }
