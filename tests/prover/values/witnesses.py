"""Look for the counterexample of a function as ``audit`` does, without a proof before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dpaudit.auditing import _mechanism
from dpaudit.blackbox.in_modes import unrounded_share
from dpaudit.core.evidence import Witness
from dpaudit.prover.values.counterexample import counterexample

__all__ = ["SEARCHED", "witness_of"]

#: How long a right program is attacked: all of them briefly, and in the weekly run as long as a wrong one.
SEARCHED = (1, pytest.param(3, marks=pytest.mark.slow))


def witness_of(
    function: Callable[..., Any],
    claim: Any,
    data: Any,
    *,
    search: Callable[..., Witness | None] = counterexample,
    seconds: float = 3,
) -> Witness | None:
    """Return the witness that ``search`` finds in ``seconds`` from the extreme pairs of the declaration."""
    pairs = [(pair.left, pair.right) for pair in data.pairs(claim.adjacency).corners()]
    unrounded = partial(unrounded_share, _mechanism(function), seed=0)
    return search(function, claim, data=data, pairs=pairs, unrounded=unrounded, seconds=seconds)
