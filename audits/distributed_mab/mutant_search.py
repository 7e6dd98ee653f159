"""The search that has to catch the mutants, and must not catch what is correct.

* Pure notions: replays of neighbours along sampled histories, and along those in which every aggregate that
  moved comes out where its two laws differ most. What they show: leaks, broken accounting, exact losses.
* Rényi and concentrated notions: the noise of the first batch's aggregates as the program adds it, and its
  divergence from itself shifted. Where one record enters several of them, their sum modulo m is looked at,
  a function of what the server sees.
* Sums: the exact law of one batch's decoded sum by enumeration, against Theorem 1's in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.mab.batched_elimination import batch_length, confidence_radius
from algorithms.mab.distributed_elimination import Variant
from audits.distributed_mab.mutant_protocols import EPSILON
from dpaudit.claims import PrivacyClaim, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.coins import Program, Replay, Sampler, enumerate_view, record, replay
from dpaudit.coins.base import To
from dpaudit.coins.replayer import Leak
from dpaudit.evidence import Witness
from dpaudit.exact import exact
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import DiscreteGaussian, Law, Shifted, Skellam, SumMod
from dpaudit.proofs.sites import Site
from dpaudit.replays.accounting import observe_accounting
from dpaudit.replays.histories import Neighbours, both_directions, worst_history
from dpaudit.replays.witnessing import leak_witness, loss_witness
from dpaudit.views import PUBLIC, SERVER, View
from dpaudit.witnesses.divergence import divergence_witness
from mechanisms.fixed_point import split_reward
from mechanisms.parameter_sheet import Sheet

__all__ = [
    "Found",
    "MovedNoise",
    "Target",
    "declared_sum",
    "distance",
    "early_pairs",
    "enumerated_sum",
    "late_pair",
    "moved_noise",
    "over_seeds",
    "search",
]

THE_SERVER = View.of(SERVER)
#: A loss is found from here on (docs/design.md, rule 6).
MARGIN = 1 + 1e-9


def early_pairs(
    *, horizon: int, rounds: Sequence[int], backgrounds: Sequence[float] = (0.0,)
) -> list[Neighbours]:
    """Two arms, batches of 2 + 2, 4 + 4, ... users; all rewards equal but those of one round, 0 or 1."""
    found = []
    for level in backgrounds:
        for round_ in rounds:
            left = np.full((horizon, 2), level)
            right = left.copy()
            left[round_], right[round_] = 0.0, 1.0
            found.append(Neighbours(f"rewards {level:g}, round {round_} from 0 to 1", left, right))
    return found


def late_pair(chosen: Variant) -> Neighbours:
    """Rewards at which raw sums eliminate arm 0 after the first batch that can eliminate at all, or keep it
    if one user's reward is 1 and not 0."""
    batch = next(b for b in range(1, 40) if _gap(chosen, b) < 1)
    length, start = batch_length(batch), 2 * sum(batch_length(b) for b in range(1, batch))
    # the smallest gap between the sums that is at least l(b) gap; one less keeps the arm
    wanted = int(np.ceil(length * _gap(chosen, batch)))
    data = np.zeros((start + 2 * length + 2, 2))
    data[:, 1] = 1.0
    data[start : start + length - wanted, 0] = 1.0
    other = data.copy()
    other[start + length - 1, 0] = 1.0
    return Neighbours(f"batch {batch}, one reward of arm 0 from 0 to 1", data, other)


def _gap(chosen: Variant, batch: int) -> float:
    """The difference of two means above which the lower arm goes out."""
    length = batch_length(batch)
    tail = chosen.tail(length)
    return 2 * float(confidence_radius(batch, 2, length, failure_prob=float(chosen.failure_prob), tail=tail))


# Replays


@dataclass(frozen=True, kw_only=True)
class Target:
    """A program and what its proof claims: one record moves ``releases`` sites of the name ``site``, for ε in
    total. Without ``pure`` no transcript has a largest loss, and only leaks count.
    """

    program: Program
    pure: bool = True
    site: str = "aggregate"
    releases: int = 1
    view: View = THE_SERVER


@dataclass
class Found:
    """What all replays showed: the first breach of the accounting in words, and the worst transcript."""

    accounting: str = ""
    loss: float = 0.0
    worst: tuple[Replay, str] | None = None
    leak: tuple[Replay, Leak, str] | None = None
    replays: int = 0

    @property
    def ways(self) -> set[str]:
        """Which of leak, accounting and loss were found."""
        loss = self.loss > float(EPSILON) * MARGIN
        checks = {"leak": self.leak is not None, "accounting": bool(self.accounting), "loss": loss}
        return {name for name, seen in checks.items() if seen}

    def witness(self, claim: PrivacyClaim) -> Witness | None:
        """The worst transcript as evidence on ``claim``: a leak, else, for a pure claim, the largest loss."""
        if self.leak is not None:
            result, leak, words = self.leak
            made = leak_witness(result, leak, view=claim.view, description=words)
            return replace(made, quantity=claim.quantity)
        if self.worst is None or not isinstance(claim, PureDP):
            return None
        result, words = self.worst
        end = result.witness_end(claim.view)
        return loss_witness(result, end=end, view=claim.view, description=words)

    def in_words(self) -> list[str]:
        """How it was caught, one line for each way."""
        found = [] if self.leak is None else [f"caught by a leak: {self.leak[1]} ({self.leak[2]})"]
        if "loss" in self.ways and self.worst is not None:
            found.append(f"caught by a loss of {self.loss:.6g} > ε = {EPSILON} ({self.worst[1]})")
        return [*found, *([f"caught by the accounting: {self.accounting}"] if self.accounting else [])]


def search(target: Target, pairs: Sequence[Neighbours], *, rng: np.random.Generator) -> Found:
    """Replay all pairs in both directions: a sampled history, then what moved in it at its worst outcome,
    then what moved only now."""
    found = Found()
    for pair in both_directions(pairs):
        for result in worst_history(target.program, pair, rng=rng, rounds=3 if target.pure else 1):
            how = "forced" if result.recording.forced else "sampled"
            _note(found, target, result, f"{pair.name}; {how} history")
    return found


def over_seeds(
    target: Target, pairs: Sequence[Neighbours], *, seeds: Sequence[np.random.SeedSequence]
) -> Found:
    """Replay one sampled history for each seed, pairs and directions in turn."""
    found, cases = Found(), both_directions(pairs)
    for number, seed in enumerate(seeds):
        pair = cases[number % len(cases)]
        recording = record(target.program, pair.left, rng=np.random.default_rng(seed))
        _note(found, target, replay(target.program, pair.right, recording), f"{pair.name}; seed {number}")
    return found


def _note(found: Found, target: Target, result: Replay, words: str) -> None:
    found.replays += 1
    leak = _leak_in(result, target.view)
    if leak is not None and found.leak is None:
        found.leak = (result, leak, words)
    if not target.pure:
        return
    if not found.accounting:
        classes = [Site(target.site, touches=target.releases, total=EPSILON)]
        broken = observe_accounting(result, classes).violations(classes)
        found.accounting = f"{broken[0]} ({words})" if broken else ""
    loss = abs(float(result.loss(target.view, end=result.witness_end(target.view))))
    if loss > found.loss * MARGIN:
        found.loss, found.worst = loss, (result, words)


def _leak_in(result: Replay, view: View) -> Leak | None:
    """A leak that refutes in ``view``: ``Replay.leaks_in``, and besides after aggregates whose law has no
    closed form, where all users' laws are the same on both sides (else there is an obstacle)."""
    for leak in result.leaks_in(view):
        return leak
    if result.obstacles:
        return None
    for leak in result.leaks:
        before = result.recording.sites[: leak.index]
        if leak.refutes and leak.what == "value" and all(view.sees(site.to) for site in before):
            return leak if view.sees(result.recording.sites[leak.index].to) else None
    return None


# Divergences


class _Watched(Sampler):
    """Samples, and keeps what enters every modular sum."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.sums: list[tuple[tuple[Law, ...], int]] = []

    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        if isinstance(through, SumMod):
            self.sums.append((tuple(laws), through.modulus))
        return super().aggregate(laws, through, site=site, to=to)


@dataclass(frozen=True, kw_only=True)
class MovedNoise:
    """Shares of noise whose sum modulo ``modulus`` one record shifts by ``shift`` > 0."""

    shares: tuple[Law, ...]
    shift: int
    modulus: int
    words: str

    @property
    def signal(self) -> float:
        """Shift squared over variance: what a divergence grows with."""
        return self.shift**2 / sum(law.variance() for law in self.shares)

    def witness(self, claim: RenyiDP | ZeroConcentratedDP) -> Witness:
        """The divergence of the sum at the claim's order, or at order 2, from below."""
        family, noise = _family(self.shares)
        return divergence_witness(
            claim,
            family,
            shift=self.shift,
            modulus=self.modulus,
            order=2 if isinstance(claim, ZeroConcentratedDP) else None,
            description=self.words,
            **noise,
        )


def moved_noise(program: Program, pair: Neighbours, *, seed: int) -> MovedNoise | None:
    """What of the first batch's noise stands between the pair's inputs; ``None`` if no aggregate moves, or
    where the two inputs get different noise or numbers of aggregates: then a shift is not all that happens.

    Only aggregates with the first one's modulus count: they come before any decision on their outcomes.
    Where several move their sum modulo m is taken, with all their shares and the sum of their shifts.
    """
    sides = []
    for data in (pair.left, pair.right):
        coins = _Watched(np.random.default_rng(seed))
        program(coins, data)
        sides.append([laws for laws, modulus in coins.sums if modulus == coins.sums[0][1]])
    modulus, shift = next((modulus for _, modulus in coins.sums), 1), 0
    left, right = ([[_base(law) for law in laws] for laws in side] for side in sides)
    if left != right:
        return None
    shares: list[Law] = []
    for here, there, noise in zip(*sides, left, strict=True):
        gap = sum(map(_offset, there)) - sum(map(_offset, here))
        shift += gap
        shares += noise if gap else []
    if not shift:
        return None
    words = f"{pair.name}: {len(shares)} shares, together shifted by {abs(shift)}, modulo {modulus}"
    return MovedNoise(shares=tuple(shares), shift=abs(shift), modulus=modulus, words=words)


def _base(law: Law) -> Law:
    return law.base if isinstance(law, Shifted) else law


def _offset(law: Law) -> int:
    return int(law.offset) if isinstance(law, Shifted) else 0  # type: ignore[arg-type]


def _family(shares: Sequence[Law]) -> tuple[Any, dict[str, Any]]:
    """The noise of a sum of shares as ``divergence_witness`` names it."""
    skellams = [law for law in shares if isinstance(law, Skellam)]
    if len(skellams) == len(shares):
        return "skellam", {"variance": sum(exact(law.parameters()["variance"]) for law in skellams)}
    (only,) = {law for law in shares if isinstance(law, DiscreteGaussian)}  # all users add the same share
    return "discrete-gaussian-sum", {"variance": only.parameters()["sigma2"], "count": len(shares)}


# The law of a decoded sum


def enumerated_sum(
    release: Callable[[Any, Sequence[float]], Any], rewards: Sequence[float], g: int
) -> tuple[dict[Any, Any], float]:
    """The exact law of g times the decoded sum, for a batch with these ``rewards``: a dict of balls, and the
    mass left out (a hidden draw is cut at 1/20). A sum that is no multiple of 1/g is a key of its own."""

    def program(coins: Any, data: Any) -> float:
        return float(release(coins, data))

    law = enumerate_view(program, list(rewards), view=View.of(PUBLIC), tail=0.05)
    found: dict[Any, Any] = {}
    for key, seen in law.transcripts.items():
        scaled = seen[-1] * g
        value = round(scaled) if abs(scaled - round(scaled)) < 1e-9 else scaled
        found[value] = found.get(value, arb(0)) + law.probabilities[key]
    return found, law.left_out


def declared_sum(sheet: Sheet, rewards: Sequence[float], epsilon: Fraction) -> dict[Any, Any]:
    """Theorem 1's law of g times the decoded sum in closed form: rounding coins, and Lap_Z(g/ε) folded into
    [-τ, n g + τ] by the modulus m. With β = e^{-ε/g} a residue r has (1-β)/(1+β) (β^r + β^{m-r})/(1-β^m)."""
    coins: dict[int, Fraction] = {0: Fraction(1)}
    for reward in rewards:
        whole, rest = split_reward(reward, precision=sheet.precision)
        step: dict[int, Fraction] = {}
        for total, p in coins.items():
            for value, q in ((whole, 1 - rest), (whole + 1, rest)):
                if q:
                    step[total + value] = step.get(total + value, Fraction(0)) + p * q
        coins = step
    m, beta = sheet.modulus, ball(-epsilon / sheet.precision).exp()
    scale = (1 - beta) / (1 + beta) / (1 - beta**m)
    folded = [scale * (beta**r + beta ** (m - r)) for r in range(m)]
    window = range(-sheet.noise_margin, sheet.users * sheet.precision + sheet.noise_margin + 1)
    return {v: sum((ball(p) * folded[(v - total) % m] for total, p in coins.items()), arb(0)) for v in window}


def distance(left: dict[Any, Any], right: dict[Any, Any], left_out: float) -> Any:
    """Total variation distance as a ball; what the left law leaves out may be anywhere."""
    zero = arb(0)
    gaps = [abs(left.get(key, zero) - right.get(key, zero)) for key in left.keys() | right.keys()]
    # without the missing mass the sum is short by at most that mass, or has counted it once too often
    return sum(gaps, zero) / 2 + arb(0, left_out / 2)
