"""The mutants of the distributed protocols by name, with the mistake and the evidence that must catch each.

``caught`` is the evidence that an audit must find at least:

* ``loss``: a transcript of the server whose loss exceeds ε;
* ``leak``: an output depends on the data without fresh noise;
* ``divergence``: the Rényi divergence of the first batch's aggregates exceeds the theorem's;
* ``distribution``: privacy holds and the decoded sum is wrong.

A standard mistake, a level count off by one, cannot occur here because there are no trees. The length of a
batch takes its place (``overlapping-batches``, ``one-user-more``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from audits.distributed_mab.mutant_protocols import EPSILON, MECHANISMS, Mechanism
from dpaudit.reference.mechanisms.broken_protocols import (
    LastBatchToo,
    Make,
    Overlap,
    ReusedNoise,
    announced,
    around,
    centred,
    computed,
    deviation_for_variance,
    for_sensitivity,
    half_the_budget_twice,
    in_halves,
    inverted,
    messages_to_the_server,
    no_room_for_noise,
    noise,
    noise_only_if_needed,
    one_share,
    one_sided,
    plain,
    raw_decision,
    saturating,
    scale_of_half_the_batch,
    shares_for,
    twice,
    uncorrected,
    with_aggregator,
)

__all__ = ["ARITHMETIC", "HARMLESS", "PRIVACY", "Catch", "Harmless", "Mutant"]

Catch = Literal["loss", "leak", "divergence", "distribution"]
ONE_LESS, SHARED = "sensitivity-g-1", "shared-noise"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A broken protocol. ``about`` describes the mistake. It is visible within ``horizon`` rounds if the
    reward of round ``record`` changes. ``late`` marks a mistake that is visible only once an arm can be
    eliminated.
    """

    mechanism: Mechanism
    about: str
    make: Make
    caught: Catch
    horizon: int = 5
    record: int = 1
    late: bool = False


@dataclass(frozen=True, kw_only=True)
class Harmless:
    """A change of Dist-DP-SE that keeps every transcript's loss at ε or below."""

    about: str
    make: Make
    releases: int = 1


def _everywhere(mechanism: Mechanism) -> dict[str, Mutant]:
    """Return the mutants that every mechanism has. Concentrated notions have no largest loss, so a divergence
    catches these mutants."""
    numeric: Catch = "loss" if mechanism in ("polya", "central", "local") else "divergence"
    noisy = (_WRONG_SCALE[numeric], *_WRONG_SENSITIVITY, ("wrong-n", *_WRONG_N[mechanism]), *_WRONG_BATCHES)
    rows = [(*row, numeric) for row in noisy] + [(*row, _LEAK) for row in _SHOWN]
    special: dict[str, dict[str, int]] = {
        # g is 2 for 2 and 4 users, so g - 1 is half of g: a batch of 8 tells the two apart
        ONE_LESS: {"horizon": 29, "record": 12} if numeric == "loss" else {},
        # the second arm's first user: all outputs before the leak have the same distribution on both inputs
        SHARED: {"record": 2} if mechanism == "gaussian" else {},
    }
    return {
        f"{mechanism}/{name}": Mutant(
            mechanism=mechanism, about=about, make=make, caught=caught, **special.get(name, {})
        )
        for name, about, make, caught in rows
    }


def _half(g: int) -> Fraction:
    return Fraction(g, 2)


def _one_less(g: int) -> Fraction:
    return Fraction(max(g - 1, 1))


_LEAK: Catch = "leak"
_WRONG_SENSITIVITY: tuple[tuple[str, str, Make], ...] = (
    ("halved-sensitivity", "noise for a sensitivity of g/2", for_sensitivity(_half)),
    (ONE_LESS, "noise for a sensitivity of g - 1", for_sensitivity(_one_less)),
)
_WRONG_BATCHES: tuple[tuple[str, str, Make], ...] = (
    (
        "budget-twice",
        "each batch released twice, each time with the noise for the full budget",
        around(lambda: twice),
    ),
    (
        "overlapping-batches",
        "batch length off by one: a batch begins with the last user of the batch before",
        around(Overlap),
    ),
)
_SHOWN: tuple[tuple[str, str, Make], ...] = (
    (SHARED, "one noise value for all arms of a batch", around(lambda: ReusedNoise(by_batch=True))),
    ("raw-branch", "a batch without any reward is announced and not sent", around(lambda: announced)),
)
_WRONG_SCALE: dict[Catch, tuple[str, str, Make]] = {
    "loss": ("inverted-scale", "noise of scale ε/g, not g/ε", noise(inverted(EPSILON))),
    "divergence": (
        "wrong-scale",
        "noise of variance g/ε, not (g/ε)²",
        noise(deviation_for_variance(EPSILON)),
    ),
}
_TWICE_AS_MANY = ("shares for the next batch's n", shares_for(lambda users: 2 * users))
_WRONG_N: dict[Mechanism, tuple[str, Make]] = {
    "polya": _TWICE_AS_MANY,
    "skellam": _TWICE_AS_MANY,
    "gaussian": _TWICE_AS_MANY,
    # The server's noise depends on n through g alone, a local user's should not depend on n at all.
    "central": ("noise for the last batch's g", scale_of_half_the_batch),
    "local": (
        "each message with a share of 1/n, as if the server saw only their sum",
        noise(one_share(EPSILON)),
    ),
}


def _polya(about: str, make: Make, caught: Catch = "loss", **when: Any) -> Mutant:
    return Mutant(mechanism="polya", about=about, make=make, caught=caught, **when)


#: Mutants that cost privacy, by the name in their row's id.
PRIVACY: dict[str, Mutant] = {
    **{name: mutant for mechanism in MECHANISMS for name, mutant in _everywhere(mechanism).items()},
    "polya/one-user-more": _polya(
        "batch length off by one: shares for n + 1 users", shares_for(lambda users: users + 1)
    ),
    "polya/one-sided": _polya(
        "one Pólya variable for each user, not a difference of two",
        with_aggregator(lambda: one_sided(EPSILON)),
    ),
    "polya/one-noise-for-all": _polya(
        "one noise value for all arms and batches", around(lambda: ReusedNoise(by_batch=False)), "leak"
    ),
    "polya/messages-shown": _polya(
        "no secure aggregation: the server gets every message",
        with_aggregator(lambda: messages_to_the_server),
    ),
    "polya/sums-not-reset": _polya(
        "an arm's aggregate holds the batch before as well", with_aggregator(LastBatchToo), horizon=13
    ),
    "polya/noise-if-needed": _polya(
        "a batch without any reward gets no noise", with_aggregator(lambda: noise_only_if_needed)
    ),
    "polya/raw-elimination": _polya(
        "arms are eliminated by their raw sums", around(lambda: raw_decision), "leak", late=True
    ),
}

#: Mutants that keep privacy and break the decoded sum.
ARITHMETIC: dict[str, Mutant] = {
    "no-correction": _polya(
        "the analyzer without the underflow correction", computed(uncorrected), "distribution"
    ),
    "centred-residues": _polya(
        "everything above m/2 is treated as negative", computed(centred), "distribution"
    ),
    "no-margin": _polya(
        "the modulus n g + 1, without the margin 2τ", computed(no_room_for_noise), "distribution"
    ),
    "rounding-down": _polya(
        "rewards rounded down, without the coin", computed(plain, floor=True), "distribution"
    ),
    "saturating": _polya(
        "messages clipped to [0, g], not reduced modulo m", computed(saturating), "distribution"
    ),
    "last-batch-n": _polya(
        "shares for the last batch's n", shares_for(lambda users: users // 2), "distribution"
    ),
}

#: Correct variants. An audit that catches one of them is wrong.
HARMLESS: dict[str, Harmless] = {
    "in-halves": Harmless(
        about="shares drawn in two halves, users in reverse",
        make=with_aggregator(lambda: in_halves(EPSILON)),
    ),
    "half-budget-twice": Harmless(
        about="each batch released twice, with the noise for half the budget each",
        make=around(lambda: half_the_budget_twice),
        releases=2,
    ),
    "too-much-noise": Harmless(
        about="shares for the last batch's n", make=shares_for(lambda users: users // 2)
    ),
    "no-correction": Harmless(about="a wrong analyzer", make=computed(uncorrected)),
    "rounding-down": Harmless(about="rewards rounded down", make=computed(plain, floor=True)),
}
