"""Mixtures: hidden draws summed out agree with enumeration by hand, and missing mass counts against the
witness.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.witnesses.mixture import Draw, End, Event, See, Tree, mixture_body
from dpaudit.certify.witnesses.one_program import OneProgram
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import ApproxDP, PureDP, RenyiDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import Bernoulli, DiscreteLaplace, Laplace, PointMass

CLAIM = PureDP(epsilon=1)
EVERYBODY = frozenset([PUBLIC])


def see(distribution: Any, to: Any = EVERYBODY) -> See:
    return See(site="release", to=to, distribution=distribution, then=End(reached=True))


def rounded(probability: str, noise: Any, values: tuple[int, ...] = (0, 1)) -> Tree:
    """Randomised rounding to 0 or 1 (hidden), then a noisy release."""
    return Draw(
        site="round",
        distribution=Bernoulli(p=probability),
        branches=[(v, see(noise.shift(v))) for v in values],
    )


def witness(events: list[Event], bound: Fraction | None, claim: Any = CLAIM) -> Witness:
    return Witness(
        quantity=claim.quantity,
        bound=bound,
        form="mixture",
        body=mixture_body(events, view=claim.view),
        origin="enumerated",
        description="randomised rounding summed out",
    )


def test_densities_are_mixed_over_the_hidden_draw() -> None:
    """Rounding 3/4 against 1/4 before Laplace noise: the loss of a tail value is log of the ratio of the
    two mixtures.
    """
    noise = Laplace(scale=1)
    event = Event(values=[4.0], recorded=rounded("3/4", noise), neighbour=rounded("1/4", noise))
    truth = math.log((0.25 + 0.75 * math.e) / (0.75 + 0.25 * math.e))
    found = recompute(witness([event], Fraction(1, 100)), CLAIM)
    assert float(found or 0) == pytest.approx(truth, rel=1e-12)
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(witness([event], Fraction(truth) + Fraction(1, 10**9)), CLAIM)


def test_incomplete_neighbour_counts_against_the_witness() -> None:
    """Leaving out a branch of the neighbour adds its whole mass to P' for probabilities, and is refused
    for densities.
    """
    lattice = DiscreteLaplace(scale=1)
    full = Event(values=[4], recorded=rounded("3/4", lattice), neighbour=rounded("1/4", lattice))
    short = Event(
        values=[4], recorded=rounded("3/4", lattice), neighbour=rounded("1/4", lattice, values=(0,))
    )
    complete, partial = (
        recompute(witness([full], Fraction(-9)), CLAIM),
        recompute(witness([short], Fraction(-9)), CLAIM),
    )
    p = [math.tanh(0.5) * math.exp(-4), math.tanh(0.5) * math.exp(-3)]
    assert float(complete or 0) == pytest.approx(math.log((p[0] + 3 * p[1]) / (3 * p[0] + p[1])), rel=1e-12)
    assert float(partial or 0) == pytest.approx(
        math.log((p[0] + 3 * p[1]) / 4 / (0.75 * p[0] + 0.25)), rel=1e-12
    )
    density = Laplace(scale=1)
    bad = Event(
        values=[4.0], recorded=rounded("3/4", density), neighbour=rounded("1/4", density, values=(0,))
    )
    with pytest.raises(CertificateError, match="must list all"):
        recompute(witness([bad], Fraction(-9)), CLAIM)


def test_incomplete_recorded_side_is_only_weaker() -> None:
    """Leaving out a branch of the recorded side lowers the bound and is accepted."""
    noise = Laplace(scale=1)
    full = Event(values=[4.0], recorded=rounded("3/4", noise), neighbour=rounded("1/4", noise))
    short = Event(values=[4.0], recorded=rounded("3/4", noise, values=(1,)), neighbour=rounded("1/4", noise))
    assert (recompute(witness([short], Fraction(-9)), CLAIM) or 0) < (
        recompute(witness([full], Fraction(-9)), CLAIM) or 0
    )


def response(probability: str, value: int) -> Event:
    """Randomised response seen directly: truth 1 against truth 0."""
    other = str(1 - Fraction(probability))
    return Event(values=[value], recorded=see(Bernoulli(p=probability)), neighbour=see(Bernoulli(p=other)))


def test_delta_of_an_event() -> None:
    """For an (epsilon, delta) claim the bound is P - e^epsilon P', summed over disjoint events."""
    claim = ApproxDP(epsilon="1/2", delta="1e-3")
    found = recompute(witness([response("4/5", 1)], Fraction(0), claim), claim)
    assert float(found or 0) == pytest.approx(0.8 - math.exp(0.5) * 0.2, rel=1e-12)
    both = recompute(witness([response("4/5", 1), response("4/5", 0)], Fraction(-1), claim), claim)
    assert float(both or 0) == pytest.approx(1 - math.exp(0.5), rel=1e-12)


def test_events_must_be_distinct_and_of_one_kind() -> None:
    """The same event twice, densities added up, or a density for a delta claim are refused."""
    claim = ApproxDP(epsilon="1/2", delta="1e-3")
    with pytest.raises(CertificateError, match="distinct"):
        recompute(witness([response("4/5", 1), response("4/5", 1)], Fraction(0), claim), claim)
    same_value = Event(values=[True], recorded=see(Bernoulli(p="4/5")), neighbour=see(Bernoulli(p="1/5")))
    with pytest.raises(CertificateError, match="distinct"):
        recompute(witness([response("4/5", 1), same_value], Fraction(0), claim), claim)
    density = Event(values=[4.0], recorded=see(Laplace(scale=1)), neighbour=see(Laplace(scale=2)))
    with pytest.raises(CertificateError, match="densities"):
        recompute(witness([density], Fraction(0), claim), claim)
    mixed = Event(values=[1], recorded=see(Bernoulli(p="1/2")), neighbour=see(Laplace(scale=1)))
    with pytest.raises(CertificateError, match="one kind"):
        recompute(witness([mixed], Fraction(0)), CLAIM)


def test_branches_must_be_distinct() -> None:
    """A branch listed twice would count its mass twice on the recorded side."""
    noise = Laplace(scale=1)
    twice = Event(
        values=[4.0], recorded=rounded("3/4", noise, values=(1, 1)), neighbour=rounded("1/4", noise)
    )
    with pytest.raises(CertificateError, match="distinct values"):
        recompute(witness([twice], Fraction(-9)), CLAIM)


def test_event_that_the_neighbour_cannot_show() -> None:
    """If every path of the neighbour ends elsewhere the loss is infinite; a path with fewer shown values
    does not show the event.
    """
    for tree in (End(reached=False), End(reached=True)):
        event = Event(values=[1], recorded=see(Bernoulli(p="1/2")), neighbour=tree)
        assert recompute(witness([event], None), CLAIM) is None


def test_hidden_site_and_hidden_density_are_refused() -> None:
    """A shown site must be in the view, and a hidden draw must have atoms."""
    unseen = Event(
        values=[1], recorded=see(Bernoulli(p="1/2"), frozenset([SERVER])), neighbour=see(Bernoulli(p="1/2"))
    )
    with pytest.raises(CertificateError, match="must be seen"):
        recompute(witness([unseen], Fraction(0)), CLAIM)
    noise = Laplace(scale=1)
    hidden = Draw(site="noise", distribution=noise, branches=[(0.5, see(Bernoulli(p="1/2")))])
    with pytest.raises(CertificateError, match="atoms"):
        recompute(witness([Event(values=[1], recorded=hidden, neighbour=hidden)], Fraction(0)), CLAIM)


def test_other_claims_and_empty_mixtures_are_refused() -> None:
    """A Renyi claim has no mixture form, and a mixture without events says nothing."""
    claim = RenyiDP(order=2, epsilon=1)
    with pytest.raises(CertificateError, match="pure"):
        recompute(witness([response("4/5", 1)], Fraction(0), claim), claim)
    with pytest.raises(CertificateError, match="at least one"):
        recompute(witness([], Fraction(0)), CLAIM)


def test_events_cannot_have_more_than_probability_one() -> None:
    """Each event certain under a distribution of its own: their sum would bound delta by 3."""
    claim = ApproxDP(epsilon=1, delta="1/10")
    certain = [Event(values=[k], recorded=see(PointMass(k)), neighbour=End(reached=False)) for k in (0, 1, 2)]
    with pytest.raises(CertificateError, match="one program"):
        recompute(witness(certain, Fraction(3), claim), claim)
    swapped = [replace(event, recorded=event.neighbour, neighbour=event.recorded) for event in certain]
    with pytest.raises(CertificateError, match="one program"):
        recompute(witness(swapped, Fraction(-9), claim), claim)


def test_the_totals_are_held_against_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of the probabilities is checked by itself, whatever the trees say of each other."""
    monkeypatch.setattr(OneProgram, "add", lambda *_: None)
    claim = ApproxDP(epsilon=1, delta="1/10")
    for side, other in (("recorded", "neighbour"), ("neighbour", "recorded")):
        certain = [Event(values=[k], **{side: see(PointMass(k)), other: End(reached=False)}) for k in (0, 1)]
        with pytest.raises(CertificateError, match=f"at most 1 on the {side} side"):
            recompute(witness(certain, Fraction(-9), claim), claim)


def test_events_after_one_history_have_one_next_site() -> None:
    """Two events of probability 1/2 each that no program shows together: another distribution, another site,
    another hidden distribution, or an end where the other one goes on."""
    claim = ApproxDP(epsilon=1, delta="1/10")
    half, third = Bernoulli(p="1/2"), Bernoulli(p="1/3")
    first = see(half)
    others = [
        ([1], see(third)),
        ([1], replace(first, site="elsewhere")),
        ([1], replace(first, to=frozenset([PUBLIC, SERVER]))),
        ([1], Draw(site="release", distribution=half, branches=[(0, first), (1, first)])),
        ([0, 1], replace(first, then=first)),
    ]
    for values, tree in others:
        pair = [
            Event(values=[0], recorded=first, neighbour=first),
            Event(values=values, recorded=tree, neighbour=End(reached=False)),
        ]
        with pytest.raises(CertificateError, match="one program"):
            recompute(witness(pair, Fraction(-9), claim), claim)


def test_events_of_one_program_are_added_up() -> None:
    """Hidden rounding before a shown value: the events share the draw, each after its own branches, and an
    event cut short by an end that does not reach it agrees with the others."""
    claim = ApproxDP(epsilon="1/10", delta="1/10")
    noise = DiscreteLaplace(scale=1)

    def event(value: int, values: tuple[int, ...] = (0, 1)) -> Event:
        return Event(values=[value], recorded=rounded("3/4", noise, values), neighbour=rounded("1/4", noise))

    singles = [recompute(witness([event(k)], Fraction(-9), claim), claim) or 0 for k in (1, 2)]
    both = recompute(witness([event(1), event(2)], Fraction(-9), claim), claim)
    assert float(both or 0) == pytest.approx(float(sum(singles)), rel=1e-12)
    short = recompute(witness([event(1), event(2, values=(1,))], Fraction(-9), claim), claim)
    assert (short or 0) < (both or 0)


def test_the_value_that_is_no_number_is_one_value() -> None:
    """NaN twice is one event, although it does not equal itself."""
    claim = ApproxDP(epsilon=1, delta="1/10")
    same = [Event(values=[math.nan], recorded=End(reached=False), neighbour=End(reached=False))] * 2
    with pytest.raises(CertificateError, match="distinct"):
        recompute(witness(same, Fraction(-9), claim), claim)
