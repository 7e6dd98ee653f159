"""Witnesses: the loss comes from recorded distributions and values alone, and a witness that claims more, or
speaks about another view, is refused.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.certify.witnesses.transcript import WitnessSite, leak_body, transcript_body
from dpaudit.coins import force, replay
from dpaudit.core.claims import ApproxDP, PureDP, RegretBound, ZeroConcentratedDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.exact import decode_value, encode_value
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import NOBODY, PUBLIC, SERVER, View, user
from dpaudit.distributions import Exponential, Laplace
from dpaudit.replay.witness_search import loss_witness

CLAIM = PureDP(epsilon=1)
VIEW = CLAIM.view
INPUTS = ([0, 1], [1, 1])


def leak(*before: WitnessSite, neighbour: int = 2, to: Any = PUBLIC) -> dict[str, Any]:
    """The body of a leak: one input shows 1, the other ``neighbour``, to ``to``."""
    about: dict[str, Any] = {"site": "arm", "to": frozenset([to]), "view": VIEW, "inputs": INPUTS}
    return leak_body(before, what="value", recorded=1, neighbour=neighbour, **about)


def site(
    value: Any = 3.0, *, here: Any = 1.0, there: Any = 0.0, noise: Any = None, to: Any = PUBLIC
) -> WitnessSite:
    """A release of 1 on one side and 0 on the other with Laplace noise of scale 1/2, seen by ``to``."""
    noise = noise or Laplace(scale="1/2")
    return WitnessSite(
        site="sum",
        to=frozenset([to]),
        distribution=noise.shift(here),
        distribution_neighbour=noise.shift(there),
        value=value,
    )


def witness(
    *sites: WitnessSite, bound: Fraction | None = Fraction(2), view: View = VIEW, **changes: Any
) -> Witness:
    fields = {"quantity": "epsilon", "form": "transcript", "origin": "sampled", "description": "a test"}
    body = transcript_body(sites, view=view, inputs=INPUTS)
    return Witness(**{"bound": bound, "body": body, **fields, **changes})


def test_loss_is_the_sum_over_sites() -> None:
    """Two Laplace sites with losses 2 and 2 (3 - 2.25) - ... add up exactly; an array-valued site adds its
    entries.
    """
    assert recompute(witness(site()), CLAIM) == pytest.approx(2, abs=1e-30)
    assert float(recompute(witness(site(), site(0.75)), CLAIM) or 0) == pytest.approx(
        2 + 2 * (0.75 - 0.25), abs=1e-15
    )
    several = site(np.array([3.0, 0.75]), here=np.array([1.0, 1.0]), there=np.array([0.0, 0.0]))
    assert float(recompute(witness(several), CLAIM) or 0) == pytest.approx(3, abs=1e-15)


def test_swapping_the_sides_changes_the_sign() -> None:
    """The loss of the swapped site is minus the loss."""
    assert float(site().swapped().loss_ball()) == -float(site().loss_ball()) == -2


def test_witness_survives_json() -> None:
    """A witness read back from JSON gives the same loss."""
    original = witness(site(), site(0.75))
    again = evidence_from_json(original.to_json())
    assert isinstance(again, Witness)
    assert recompute(again, CLAIM) == recompute(original, CLAIM)


def test_too_large_a_bound_is_refused() -> None:
    """A stated bound a millionth above the re-computed loss is refused; so is 'infinite' for a finite one."""
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(witness(site(), bound=Fraction(2000001, 1000000)), CLAIM)
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(witness(site(), bound=None), CLAIM)


def test_impossible_outcome_is_infinite() -> None:
    """An outcome that the neighbour's distribution cannot produce has an infinite loss; impossible on the
    recorded side it is refused.
    """
    one_sided = Exponential(scale=1)
    possible = WitnessSite(
        site="x",
        to=frozenset([PUBLIC]),
        distribution=one_sided,
        distribution_neighbour=one_sided.shift(1),
        value=0.5,
    )
    assert recompute(witness(possible, bound=None), CLAIM) is None
    with pytest.raises(CertificateError, match="impossible"):
        recompute(witness(possible.swapped(), bound=None), CLAIM)
    assert recompute(witness(possible, bound=None, origin="forced"), CLAIM) is None
    at_the_end = replace(possible, value=1.0)
    with pytest.raises(CertificateError, match="inside the support"):
        recompute(witness(at_the_end, bound=Fraction(-1), origin="forced"), CLAIM)


@pytest.mark.parametrize("to", [SERVER, user(3), NOBODY])
def test_hidden_sites_are_refused(to: Any) -> None:
    """A site that the claim's view does not see cannot enter a transcript."""
    with pytest.raises(CertificateError, match="must be seen"):
        recompute(witness(site(to=to)), CLAIM)


def test_joint_view_sees_others_and_not_the_user() -> None:
    """In the view of everybody but user 3, a site shown to user 4 counts and one shown to user 3 does not."""
    claim = PureDP(epsilon=1, view=View.everybody_but(user(3)))
    assert recompute(witness(site(to=user(4)), view=claim.view), claim) is not None
    with pytest.raises(CertificateError, match="must be seen"):
        recompute(witness(site(to=user(3)), view=claim.view), claim)


def test_witness_of_another_view_is_refused() -> None:
    """A witness states its view, and it must be the claim's."""
    with pytest.raises(CertificateError, match="view"):
        recompute(witness(site(), view=View.of(SERVER)), CLAIM)


def test_one_transcript_never_refutes_delta() -> None:
    """A transcript says nothing about (epsilon, delta) or about zCDP; a leak has its probability."""
    claim = ApproxDP(epsilon=1, delta="1e-6")
    with pytest.raises(CertificateError, match="never refutes"):
        recompute(witness(site(), quantity="delta"), claim)
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(witness(bound=None, quantity="delta", form="leak", body=leak()), claim)
    assert recompute(witness(bound=Fraction(1), quantity="delta", form="leak", body=leak()), claim) == 1
    with pytest.raises(CertificateError, match="never refutes"):
        recompute(witness(site(), quantity="rho"), ZeroConcentratedDP(rho=1))


def test_leak_needs_a_possible_prefix_and_a_difference() -> None:
    """A leak after a possible prefix is infinite; the same value on both sides, or an unseen leak, is
    refused.
    """
    assert recompute(witness(bound=None, form="leak", body=leak(site())), CLAIM) is None
    with pytest.raises(CertificateError, match="different things"):
        recompute(witness(bound=None, form="leak", body=leak(site(), neighbour=1)), CLAIM)
    with pytest.raises(CertificateError, match="be seen"):
        recompute(witness(bound=None, form="leak", body=leak(site(), to=SERVER)), CLAIM)


LEAK_EDITS: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("must have the fields", lambda body: body["leak"].pop("site")),
    ("must have the fields", lambda body: body["leak"].pop("to")),
    ("at a site", lambda body: body["leak"].update(site="")),
    ("audience", lambda body: body["leak"].update(to=[])),
    ("must have the fields", lambda body: body.pop("sites")),
    ("must have the fields", lambda body: body.pop("inputs")),
    ("must have the fields", lambda body: body.update(remark="beyond doubt")),
    ("both inputs", lambda body: body["inputs"].pop("neighbour")),
    ("both inputs", lambda body: body["inputs"].update(recorded=None)),
    ("must differ", lambda body: body["inputs"].update(recorded=body["inputs"]["neighbour"])),
    ("encoded", lambda body: body["inputs"].update(recorded={"pickle": "x"})),
    ("fields that dpaudit writes", lambda body: body["sites"][0].update(remark="proved")),
]


@pytest.mark.parametrize(("reason", "edit"), LEAK_EDITS)
def test_a_leak_names_its_site_and_both_inputs(reason: str, edit: Callable[[dict[str, Any]], object]) -> None:
    """A leak without its site, its audience, the sites before it, or either input is refused."""
    body = copy.deepcopy(leak(site()))
    edit(body)
    with pytest.raises(Exception, match=reason):
        recompute(witness(bound=None, form="leak", body=body), CLAIM)


def test_replayed_witnesses_record_both_inputs_in_the_order_of_the_loss() -> None:
    """A transcript whose loss is negative is read from the neighbour: its inputs change places too. Arrays
    are written as runs, 0.0 and -0.0 apart, a dataclass as its fields."""

    def program(coins: Any, data: Any) -> None:
        coins.release(float(data.sum()), Laplace(scale="1/2"), site="sum")

    left, right = np.array([0.0, -0.0, 1.0, 1.0]), np.array([0.0, -0.0, 1.0, 0.0])
    for low, high in ((left, right), (right, left)):
        recording = force(program, low, lambda *_: 9.0, rng=np.random.default_rng(1))
        made = loss_witness(replay(program, high, recording), end=1, view=VIEW, description="pair")
        read = decode_value(made.body["inputs"]["recorded"])
        assert read == {"dtype": "<f8", "shape": [4], "runs": [[0.0, 1], [-0.0, 1], [1.0, 2]]}
        assert recompute(made, CLAIM) is not None
    inside = written_inputs(Neighbours("pair", 1, 2), (1, {"a": Fraction(1, 2)}))
    assert decode_value(inside["recorded"]) == {"name": "pair", "left": 1, "right": 2, "changed": None}


def test_a_witness_says_what_it_is_about() -> None:
    """A witness without a description of the pair and the event is refused."""
    with pytest.raises(CertificateError, match="must describe"):
        recompute(witness(site(), description=" "), CLAIM)


def test_forced_value_must_be_inside_both_supports() -> None:
    """A forced value of a density counts where both densities are positive around it."""
    assert recompute(witness(site(), origin="forced"), CLAIM) is not None


EDITS: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("origin", lambda data: data.update(origin="dreamt")),
    ("form", lambda data: data.update(form="prose")),
    ("quantity", lambda data: data.update(quantity="rho")),
    ("law", lambda data: data["body"]["sites"][0].update(distribution={"law": "os.system"})),
    ("audience", lambda data: data["body"]["sites"][0].update(to="public")),
    ("claims too much", lambda data: data["body"]["sites"][0].update(value=encode_value(0.5))),
    ("sites", lambda data: data["body"].update(sites="none")),
]


@pytest.mark.parametrize(("reason", "edit"), EDITS)
def test_edited_witnesses_are_refused(reason: str, edit: Callable[[dict[str, Any]], None]) -> None:
    """Each single edit of a good witness is refused with its reason."""
    data = copy.deepcopy(witness(site()).to_json())
    edit(data)
    changed = evidence_from_json(data)
    assert isinstance(changed, Witness)
    with pytest.raises(Exception, match=reason):
        recompute(changed, CLAIM)


def test_witness_for_another_kind_of_claim_is_refused() -> None:
    """A regret claim has no privacy loss."""
    with pytest.raises(CertificateError, match="privacy"):
        recompute(witness(site()), RegretBound(text="regret", claimed=1))


def test_loss_close_to_the_claim_is_computed_exactly() -> None:
    """A Laplace loss of exactly 1 comes out as 1 to 60 digits: nothing is lost to float rounding."""
    exactly_one = site(5.0, here=1.0, there=0.0, noise=Laplace(scale=1))
    found = recompute(witness(exactly_one, bound=Fraction(1) - Fraction(1, 10**60)), CLAIM)
    assert found is not None
    assert abs(found - 1) < Fraction(1, 10**60)
    assert math.isclose(float(exactly_one.loss_ball()), 1)
