"""Collect the results of all replays of one audit: losses, witnesses, leaks, costs and mismatches.

Before a replay counts as a refutation, it is repeated on its own input and on the neighbour's. A program with
randomness outside the coins differs from itself, and then nothing that it shows is a finding about the data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from dpaudit.certify.proof import Proof
from dpaudit.certify.sites import Site, total_of
from dpaudit.coins import Program, Recording, Replay, replay
from dpaudit.coins.hidden import Key
from dpaudit.coins.limits import Limits
from dpaudit.coins.replayer import Leak, SiteLoss
from dpaudit.coins.transcript import same_shown
from dpaudit.core.claims import ApproxDP, Model, PrivacyClaim, PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import encode_value
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.verdicts import RELATIVE_MARGIN
from dpaudit.core.views import EVERYTHING, View
from dpaudit.distributions.base import BaseMeasure, Distribution
from dpaudit.replay.accounting import common_measure, observe_accounting, worst_cost
from dpaudit.replay.certificate_matching import above_pure_bound, fit, pure_bound
from dpaudit.replay.changed_users import in_the_claims_words, view_of
from dpaudit.replay.hidden_choices import Additions, settled
from dpaudit.replay.rare_branches import branch_witness, hangs_on_more
from dpaudit.replay.releases import first_release, later_releases, prefix_release_witness
from dpaudit.replay.rounding import (
    by_rounding,
    float_type,
    loss_in_double,
    loss_in_modes,
    met_in_modes,
    site_in_double,
    site_in_modes,
)
from dpaudit.replay.witness_search import (
    certain_leak,
    inside_supports,
    leak_witness,
    loss_witness,
    witness_sites,
)

__all__ = ["Findings", "Subject", "require_repeatable"]

#: Number of times that a replay that would refute is repeated on either input.
REPEATS = 12
#: Largest number of releases, after outcomes with probabilities, that get a witness.
BRANCHES = 64
#: The note on a leak in a branch of unknown probability.
_UNBOUNDED = (
    "a forced history has an output that the neighbour cannot have, after a hidden draw or a continuous "
    "outcome; the probability of that branch could not be bounded"
)
#: Largest number of histories of one kind that are followed after hidden draws and outcomes with a density.
ALIKE = 3


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A program (traced or not), its claim, the declared sites and the proof."""

    program: Program
    claim: PrivacyClaim
    sites: Sequence[Site]
    proof: Proof | None

    @cached_property
    def pure_bound(self) -> Fraction | None:
        """Return the largest total cost of one record by the proof, or ``None`` if the proof bounds none."""
        return None if self.proof is None else pure_bound(self.proof, self.claim)

    def counted(self, site: str) -> bool:
        """Return whether the proof covers a random site of this name, whether or not the view sees it."""
        return bool(self.pattern(site))

    def pattern(self, site: str) -> str:
        """Return the pattern of the declared site that a site of this name belongs to, or ""."""
        known = self._patterns.get(site)
        if known is None:
            owners = (item.pattern for item in self.sites if item.matches(site))
            known = self._patterns[site] = next(owners, "")
        return known

    @cached_property
    def _patterns(self) -> dict[str, str]:
        """Cache the results of ``pattern``, which is called several times for every site of every replay."""
        return {}

    def replay(
        self,
        pair: Neighbours,
        recording: Recording,
        hidden: Mapping[Key, Any] | None = None,
        released: Mapping[int, Key] | None = None,
    ) -> Replay:
        """Replay a recording of ``pair.left`` on the neighbour in the claim's view.

        ``hidden`` holds chosen hidden outcomes. ``released`` holds the reveals that count as releases.
        """
        options: Any = {"view": view_of(pair, self.claim.view), "counted": self.counted}
        return replay(self.program, pair.right, recording, hidden=hidden, released=released, **options)


@dataclass(frozen=True, kw_only=True)
class FirstRelease:
    """The first release of a replay: its change (in squares), a description, and the pair's view."""

    size: Fraction
    words: str
    view: View
    result: Replay
    item: SiteLoss


@dataclass
class Findings:
    """The results of all replays of one audit."""

    subject: Subject
    best: dict[View, tuple[float, Witness]] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    reach: dict[str, Fraction] = field(default_factory=dict)
    violations: dict[str, str] = field(default_factory=dict)
    leaks: dict[tuple[str, str, bool], Leak] = field(default_factory=dict)
    unmet: list[str] = field(default_factory=list)
    #: Why the replays do not cover all the data of the claim, whatever the program is.
    unsearched: list[str] = field(default_factory=list)
    attained: Fraction = Fraction(0)
    losses: list[float] = field(default_factory=list)
    replays: int = 0
    notes: list[str] = field(default_factory=list)
    cut: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    ended: int = 0
    unseen: dict[str, None] = field(default_factory=dict)
    additions: Additions = field(default_factory=Additions)
    #: Descriptions, with counts, of the generated pairs that were replayed.
    tried: list[str] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    lines: int = 0
    first_releases: dict[View, FirstRelease] = field(default_factory=dict)
    certain: Witness | None = None
    branch: Witness | None = None
    branches: set[str] = field(default_factory=set)
    followed: dict[str, int] = field(default_factory=dict)
    #: Whether each leak of the last replay is rounding, by position.
    _rounded: tuple[Replay | None, dict[int, bool]] = field(default_factory=lambda: (None, {}))

    @property
    def refuted(self) -> bool:
        """Return whether a leak refutes the claim in its own view, so that the search can stop."""
        if isinstance(self.subject.claim, ApproxDP):
            return self.certain is not None and self.certain.bound == 1
        return self.best.get(self.subject.claim.view, (0.0, None))[0] == float("inf")

    def replay(self, pair: Neighbours, how: str, recording: Recording) -> Replay:
        """Replay a recording of ``pair.left`` on the neighbour, and keep the results."""
        result = self.subject.replay(pair, recording)
        self.note(pair, how, result)
        return result

    def note(self, pair: Neighbours, how: str, result: Replay) -> None:
        """Keep the results of a replay, or of one at each hidden outcome if hidden distributions differ."""
        self._note_end(pair, how, result.recording)
        if not result.choices:
            self._note(pair, how, result)
            return
        sides = (pair, Neighbours(pair.name, pair.right, pair.left, pair.changed))
        again, own = (partial(self.subject.replay, side, result.recording) for side in sides)
        for one in settled(result, again, own):
            self.additions.note(one, pair.name)
            self._note(pair, how, one)

    def _note(self, pair: Neighbours, how: str, result: Replay) -> None:
        subject, recording = self.subject, result.recording
        self.replays += 1
        observed = observe_accounting(result, subject.sites)
        self.attained = max(self.attained, observed.total)
        self.touched |= {pattern for pattern, count in observed.touches.items() if count and recording.forced}
        if how.startswith("forced"):  # these histories draw the answers of a channel from a fixed seed
            self.touched |= observed.channels
        broken = observed.violations(subject.sites)
        if subject.proof is not None:
            pure = isinstance(subject.claim, PureDP)
            fitted = fit(result, subject.proof, subject.claim.adjacency, pure=pure)
            broken += fitted.mismatches
            for site, reach in fitted.reach.items():
                pattern = subject.pattern(site)
                self.reach[pattern] = max(reach, self.reach.get(pattern, Fraction(0)))
            if common_measure(subject.sites) == "loss":
                broken += above_pure_bound(observed.total, subject.pure_bound)
        for violation in broken:
            # Keep the first violation of each kind, whatever its numbers.
            pattern = re.sub(r"[0-9.]+", "#", violation)
            self.violations.setdefault(pattern, f"{violation} ({pair.name}, {how})")
        for leak in result.leaks:
            key = (leak.what, leak.site, leak.refutes)
            if self.rounded(leak, result):
                self.violations.setdefault(
                    f"rounding at {leak.site}",
                    f"{leak} differs by rounding only, by a test with {_type(result)} data and the rounding "
                    "modes: a leak as run (model=AS_RUN), but not over real numbers; nothing after it was "
                    "compared",
                )
            elif leak.what == "value" and result.follows_hidden(leak):
                self.violations.setdefault(
                    f"hidden before {leak.site}",
                    f"{leak}: it may depend on the data only through a hidden draw; release it with "
                    "coins.release, or sum the draw out (coins.sum_out)",
                )
            elif key not in self.leaks:
                _require_the_same_leaks(subject, pair, result)
                self.leaks[key] = leak
        self.unmet.extend(o for o in result.unmet if o not in self.unmet)
        self.unseen |= dict.fromkeys(result.unseen)
        for view in dict.fromkeys((subject.claim.view, EVERYTHING)):
            self._keep_best(view, pair, how, result)
            if not isinstance(subject.claim, PureDP):
                self._keep_release(view, f"{pair.name}; {how} history", result)

    def _keep_release(self, claimed: View, words: str, result: Replay) -> None:
        """Keep the first release with the largest change, and the likeliest leak, in the view ``claimed``.

        For a claim of joint privacy, the view is that of the pair.
        """
        view = result.view if claimed == self.subject.claim.view else claimed
        item = first_release(result, view)
        if item is not None and item.record.distribution is not None:
            size = worst_cost(item.record.distribution, item.distribution_neighbour, "square") or Fraction(0)
            before = self.first_releases.get(claimed)
            if before is None or size > before.size:
                self.first_releases[claimed] = FirstRelease(
                    size=size, words=words, view=view, result=result, item=item
                )
        if claimed != self.subject.claim.view or not isinstance(self.subject.claim, ApproxDP):
            return
        self._keep_branch(view, words, result, self.subject.claim)
        self._follow_branches(view, words, result, self.subject.claim)
        for leak in result.leaks_in(view):
            if not self.rounded(leak, result) and inside_supports(result, end=leak.index, view=view):
                found = certain_leak(result, leak, view=view, description=words)
                if found is not None and (self.certain is None or _mass(found) > _mass(self.certain)):
                    self.certain = in_the_claims_words(found, view, claimed)

    def _keep_branch(self, view: View, words: str, result: Replay, claim: ApproxDP) -> None:
        """Keep the release, after outcomes with probabilities, whose event has the largest lower bound.

        Only the first ``BRANCHES`` that differ in these outcomes or in their distributions are examined.
        """
        inputs = (result.recording.data, result.data)
        if claim.model is Model.IDEAL and float_type(*inputs) != np.dtype(float):
            return  # the change may be rounding
        for item in later_releases(result, view):
            before = witness_sites(result, end=item.index, view=view, unmoved=True)
            key = repr(
                ([site.to_json() for site in before], item.record.distribution, item.distribution_neighbour)
            )
            if key in self.branches or len(self.branches) >= BRANCHES:
                continue
            self.branches.add(key)
            found = prefix_release_witness(item, before, claim, view=view, inputs=inputs, words=words)
            if found is not None and claim.model is Model.IDEAL and _mass(found) > claim.bound:
                found = self._branch_in_modes(item, result, claim, view=view, words=words)
            if found is not None and (self.branch is None or _mass(found) > _mass(self.branch)):
                self.branch = in_the_claims_words(found, view, claim.view)

    def _follow_branches(self, view: View, words: str, result: Replay, claim: ApproxDP) -> None:
        """Keep the leak or release, after hidden draws and densities, with the largest lower bound."""
        inputs = (result.recording.data, result.data)
        if (
            claim.model is not Model.IDEAL
            or view != claim.view
            or result.recording.replicates is not None
            or float_type(*inputs) != np.dtype(float)
        ):
            return
        leaks = [leak for leak in result.leaks if leak.refutes and leak.index < len(result.recording.sites)]
        leaks = [leak for leak in leaks if not self.rounded(leak, result)]
        moved = [item for item in result.losses if item.moved and view.sees(item.record.to)]
        ends: list[tuple[int, SiteLoss | None]] = [(leak.index, None) for leak in leaks]
        ends += [(item.index, None if item.index in result.released else item) for item in moved]
        for end, item in ends:
            if not hangs_on_more(result, end, view) or not self._is_new_branch(result, end, item):
                continue
            program = self.subject.program
            found = branch_witness(program, result, claim, end=end, item=item, words=words)
            if found is None:
                leaked = any(leak.index == end for leak in leaks)
                if leaked and not any(_UNBOUNDED in note for note in self.notes):
                    self.notes.append(f"site {result.recording.sites[end].site!r}: {_UNBOUNDED}")
                continue
            if _mass(found) > claim.bound:
                pair = Neighbours(words, *inputs)
                for _ in range(REPEATS):
                    require_repeatable(program, pair, result.recording)
            if self.branch is None or _mass(found) > _mass(self.branch):
                self.branch = found

    def _is_new_branch(self, result: Replay, end: int, item: SiteLoss | None) -> bool:
        """Return whether few histories with the same sites, exact outcomes and noise were followed before."""
        sites = result.recording.sites[: end + 1]
        known = [
            (site.kind, site.site, None if _has_density(site.distribution) else encode_value(site.value))
            for site in sites
        ]
        distribution = None if item is None else item.record.distribution
        key = repr((known, item is None, getattr(distribution, "base", distribution)))
        self.followed[key] = self.followed.get(key, 0) + 1
        return self.followed[key] <= ALIKE and len(self.followed) <= BRANCHES

    def _branch_in_modes(
        self, item: SiteLoss, result: Replay, claim: ApproxDP, *, view: View, words: str
    ) -> Witness | None:
        """Return the witness of ``item`` that does not depend on rounding.

        It uses the distributions of ``item`` and of earlier sites that differ least over the rounding modes.
        """
        least = {
            one.index: site_in_modes(self.subject.program, result, one) if one.moved else one
            for one in result.losses
            if one.index <= item.index
        }
        sites = [one for one in least.values() if one is not None]
        here = least[item.index]
        if here is None or len(sites) < len(least):
            return None
        before = witness_sites(replace(result, losses=tuple(sites)), end=item.index, view=view, unmoved=True)
        inputs = (result.recording.data, result.data)
        return prefix_release_witness(here, before, claim, view=view, inputs=inputs, words=words)

    def release_in(self, view: View) -> tuple[str, View, SiteLoss, tuple[Any, Any]] | None:
        """Return the first release with the largest change in ``view``.

        The tuple holds the description, the pair's view, the release's distributions and the two inputs. For
        a claim on real numbers whose data are narrower than double, the inputs are in double precision.
        """
        found = self.first_releases.get(view)
        if found is None:
            return None
        result, inputs = found.result, (found.result.recording.data, found.result.data)
        if self.subject.claim.model is not Model.IDEAL:
            return found.words, found.view, found.item, inputs
        if float_type(*inputs) == np.dtype(float):
            item = site_in_modes(self.subject.program, result, found.item)
            return None if item is None else (found.words, found.view, item, inputs)
        again = site_in_double(self.subject.program, result, found.item.index)
        if again is None:
            return None
        return f"{found.words}, in double precision", found.view, again[0], again[1:]

    def rounded(self, leak: Leak, result: Replay) -> bool:
        """Return whether a leak may be the rounding of a program that is correct over the real numbers."""
        if self.subject.claim.model is not Model.IDEAL or leak.what != "value":
            return False
        known, answers = self._rounded
        if known is not result:
            answers = {}
            self._rounded = result, answers
        if leak.index not in answers:
            inputs = [result.recording.data, result.data]
            answers[leak.index] = by_rounding(leak.recorded, leak.neighbour, data=inputs) or met_in_modes(
                self.subject.program, result, leak
            )
        return answers[leak.index]

    def _excess_is_rounding(self, result: Replay, witness: Witness, view: View, end: int) -> bool:
        """Return whether a loss above the claim, or above the declared total, may come from rounding.

        This holds if the loss is not above it in double precision, or in other rounding modes.
        """
        subject, loss = self.subject, witness.bound
        bound = subject.claim.bound if view == result.view else total_of(subject.sites)
        bound = bound if isinstance(subject.claim, PureDP) else None  # other notions do not bound the loss
        if bound is None or subject.claim.model is not Model.IDEAL:
            return False
        most = bound * (1 + RELATIVE_MARGIN)
        if loss is not None and loss <= most:
            return False
        double = None if loss is None else loss_in_double(subject.program, result, view, end=end)
        if loss is not None and double is not None and double <= most:
            self.violations.setdefault(
                "rounding of a loss",
                f"a loss of {float(loss):.9g} differs from {float(double):.9g} by rounding of "
                f"{_type(result)} data only: the same numbers cost {float(double):.9g} in double precision; "
                "audit the program there, or as run (model=AS_RUN)",
            )
            return True
        least = loss_in_modes(subject.program, result, view, end=end)
        if least is None or least > most:
            return False
        excess = "an infinite loss" if loss is None else f"a loss of {float(loss):.9g}"
        self.violations.setdefault(
            "rounding of a loss in other modes",
            f"{excess} may come from rounding: in other rounding modes of the processor the same outcomes "
            f"cost {float(least):.9g}; audit the program with exact numbers, or as run (model=AS_RUN)",
        )
        return True

    def _note_end(self, pair: Neighbours, how: str, recording: Recording) -> None:
        if recording.cut:
            self.cut.setdefault(recording.cut, f"{pair.name}, {how}")
        elif recording.sites and recording.sites[-1].kind == "raise":
            self.errors.append(": ".join(recording.sites[-1].value[:2]))
        else:
            self.ended += 1

    def _keep_best(self, claimed: View, pair: Neighbours, how: str, result: Replay) -> None:
        """Keep the transcript with the largest loss that is a witness in the view ``claimed``.

        A leak that refutes there is an infinite loss. EVERYTHING means everything that the replay compared.
        """
        words = f"{pair.name}; {how} history"
        view = result.view if claimed == self.subject.claim.view else claimed
        before = self.best.get(claimed, (0.0, None))[0]
        leaks = [leak for leak in result.leaks_in(view) if not self.rounded(leak, result)]
        if leaks and before != float("inf") and inside_supports(result, end=leaks[0].index, view=view):
            witness = leak_witness(result, leaks[0], view=view, description=words)
            self.best[claimed] = (float("inf"), in_the_claims_words(witness, view, claimed))
            return
        end = result.witness_end(view)
        loss = abs(float(result.loss(view, end=end)))
        # A witness needs ball arithmetic: build one only for a loss above the best by more than rounding.
        if loss > before * (1 + 1e-12) + 1e-15 and inside_supports(result, end=end, view=view):
            bound = self.subject.claim.bound if isinstance(self.subject.claim, PureDP) else None
            if bound is not None and loss > bound >= before:
                for _ in range(REPEATS):
                    require_repeatable(self.subject.program, pair, result.recording)
            witness = loss_witness(result, end=end, view=view, description=words)
            if not self._excess_is_rounding(result, witness, view, end):
                self.best[claimed] = (loss, in_the_claims_words(witness, view, claimed))


def _has_density(distribution: Distribution | None) -> bool:
    return distribution is not None and distribution.base_measure is BaseMeasure.LEBESGUE


def _mass(leak: Witness) -> Fraction:
    return Fraction(0) if leak.bound is None else leak.bound


def _type(result: Replay) -> str:
    return float_type(result.recording.data, result.data).name


def require_repeatable(program: Program, pair: Neighbours, recording: Recording) -> None:
    """Replay a recording on its own input, and raise ``MechanismError`` if any site or output differs."""
    result = replay(program, pair.left, recording)
    moved = [item.record.site for item in result.losses if item.moved]
    moved += [
        recording.sites[item.indices[0]].site for item in result.sessions if item.moved and item.indices
    ]
    moved += [str(leak) for leak in result.leaks]
    if moved:
        raise _foreign(moved[0], pair)


def _foreign(where: str, pair: Neighbours) -> MechanismError:
    return MechanismError(
        "randomness outside coins: a replay on the same input must equal its recording, but it differs at "
        f"{where!r} ({pair.name}). Draw only through the coins, and keep no state between calls.",
        code="E-MECHANISM-RANDOMNESS",
    )


def _require_the_same_leaks(subject: Subject, pair: Neighbours, result: Replay) -> None:
    # a leak that refutes nothing (a run without an end is long) is repeated only once
    for _ in range(REPEATS if any(leak.refutes for leak in result.leaks) else 1):
        require_repeatable(subject.program, pair, result.recording)
        again = subject.replay(pair, result.recording, result.hidden, result.released)
        if not same_shown(_shown(again), _shown(result)):
            raise _foreign(str(result.leaks[0]), pair)


def _shown(result: Replay) -> list[Any]:
    return [(leak.what, leak.index, leak.recorded, leak.neighbour) for leak in result.leaks]
