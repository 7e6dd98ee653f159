"""Search replays for breaches of a declaration: leaks, broken accounting, losses above a budget.

Neighbours are replayed along sampled histories, and along histories in which every affected aggregate takes
the outcome where its two distributions differ most. The search must detect broken programs and must not
report correct ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpaudit.certify.sites import Site
from dpaudit.coins import Program, Replay, record, replay
from dpaudit.coins.replayer import Leak
from dpaudit.core.claims import PrivacyClaim, PureDP
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.views import SERVER, View
from dpaudit.replay.accounting import observe_accounting
from dpaudit.replay.histories import worst_history
from dpaudit.replay.witness_search import leak_witness, loss_witness

__all__ = ["Found", "Target", "over_seeds", "search"]

THE_SERVER = View.of(SERVER)
#: A loss above the budget counts from this factor on (docs/design.md, rule 6).
MARGIN = 1 + 1e-9


@dataclass(frozen=True, kw_only=True)
class Target:
    """A program and its proof's claim: one record affects ``releases`` sites named ``site``.

    Without ``pure``, no transcript has a largest loss, so only leaks count.
    """

    program: Program
    epsilon: Fraction
    pure: bool = True
    site: str = "aggregate"
    releases: int = 1
    view: View = THE_SERVER


@dataclass
class Found:
    """The results of all replays against a budget of ``epsilon``.

    ``accounting`` describes the first breach of the accounting. ``worst`` is the transcript of largest loss.
    """

    epsilon: Fraction
    accounting: str = ""
    loss: float = 0.0
    worst: tuple[Replay, str] | None = None
    leak: tuple[Replay, Leak, str] | None = None
    replays: int = 0

    @property
    def ways(self) -> set[str]:
        """Return which of leak, accounting and loss were found."""
        loss = self.loss > float(self.epsilon) * MARGIN
        checks = {"leak": self.leak is not None, "accounting": bool(self.accounting), "loss": loss}
        return {name for name, seen in checks.items() if seen}

    def witness(self, claim: PrivacyClaim) -> Witness | None:
        """Return the worst transcript as evidence: a leak or, for a pure claim, the largest loss."""
        if self.leak is not None:
            result, leak, words = self.leak
            made = leak_witness(result, leak, view=claim.view, description=words)
            if made.form == "leak":
                return replace(made, quantity=claim.quantity)
            return made if isinstance(claim, PureDP) else None
        if self.worst is None or not isinstance(claim, PureDP):
            return None
        result, words = self.worst
        end = result.witness_end(claim.view)
        return loss_witness(result, end=end, view=claim.view, description=words)

    def in_words(self) -> list[str]:
        """Describe how the program was caught, one line for each kind of breach."""
        found = [] if self.leak is None else [f"caught by a leak: {self.leak[1]} ({self.leak[2]})"]
        if "loss" in self.ways and self.worst is not None:
            found.append(f"caught by a loss of {self.loss:.6g} > ε = {self.epsilon} ({self.worst[1]})")
        return [*found, *([f"caught by the accounting: {self.accounting}"] if self.accounting else [])]


def search(target: Target, pairs: Sequence[Neighbours], *, rng: np.random.Generator) -> Found:
    """Replay all pairs in both directions: a sampled history, then affected sites at their worst outcomes."""
    found = Found(target.epsilon)
    for pair in both_directions(pairs):
        for result in worst_history(target.program, pair, rng=rng, rounds=3 if target.pure else 1):
            how = "forced" if result.recording.forced else "sampled"
            _note(found, target, result, f"{pair.name}; {how} history")
    return found


def over_seeds(
    target: Target, pairs: Sequence[Neighbours], *, seeds: Sequence[np.random.SeedSequence]
) -> Found:
    """Replay one sampled history for each seed, with pairs and directions in turn."""
    found, cases = Found(target.epsilon), both_directions(pairs)
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
        classes = [Site(target.site, touches=target.releases, total=target.epsilon)]
        broken = observe_accounting(result, classes).violations(classes)
        found.accounting = f"{broken[0]} ({words})" if broken else ""
    loss = abs(float(result.loss(target.view, end=result.witness_end(target.view))))
    if loss > found.loss * MARGIN:
        found.loss, found.worst = loss, (result, words)


def _leak_in(result: Replay, view: View) -> Leak | None:
    """Return a leak that refutes in ``view``.

    This extends ``Replay.leaks_in`` to leaks after aggregates whose distribution has no closed form, if all
    users' distributions are the same on both sides. Otherwise there is an unmet condition.
    """
    for leak in result.leaks_in(view):
        return leak
    if result.unmet:
        return None
    for leak in result.leaks:
        before = result.recording.sites[: leak.index]
        if leak.refutes and leak.what == "value" and all(view.sees(site.to) for site in before):
            return leak if view.sees(result.recording.sites[leak.index].to) else None
    return None
