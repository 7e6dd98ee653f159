"""Recompute a witness: its loss in balls, from the recorded distributions and values alone.

In every form, site names are only labels. The loss depends on distributions, values and their audience.

* ``transcript``: both inputs, and the sites that the view sees, each with its distribution on both sides and
  its value (or a channel session: kernel, queries on both sides, outcomes). The loss is the sum of log
  p(value) - log p'(value). Sites with equal distributions on both sides contribute nothing and are omitted.
* ``leak``: such sites as a common prefix, possible on both sides, and then an output that the neighbour shows
  differently or not at all: an event of positive probability on one side and 0 on the other. The loss is
  infinite and the bound is ``None``. For an (epsilon, delta) claim the bound is the prefix's probability, and
  all random sites of the prefix must be listed, whether their distributions differ or not.
* ``mixture``: hidden draws summed out. For each event (a sequence of shown values) each side has a tree of
  its hidden draws and shown sites. The recorded side is bounded from below by the branches listed, the
  neighbour's from above: hidden mass that no branch lists counts in full. For a pure claim the loss is the
  log-ratio. For an (epsilon, delta) claim it is the sum over the events (distinct, so disjoint) of P -
  e^epsilon P'.
* ``release``: one site with nothing random before it, for any claim (``release``).
* ``prefix-release``: such a site after others with probabilities, for an (epsilon, delta) claim
  (``release``).
* ``divergence``: integer noise compared with its shift, for Renyi and concentrated DP (``divergence``).
* ``program-event``: an outcome in the tree of a program's decisions (``program_event``).
* ``program-distributions``: the trees of a program with finite data and draws, for all data
  (``program_distributions``).
* ``tables``: the probabilities of all that the view can see, on both inputs (``tables``).
* ``window-event``: a sequence of public decisions of an index policy (``window_event``).

A file cannot show that the distributions are those of the program, that no site was left out, and that near a
forced value of a continuous distribution the program takes the same branches. A replay of the program shows
it (``dpaudit verify --suite``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.certify.witnesses.divergence import divergence_bound
from dpaudit.certify.witnesses.inputs import require_inputs
from dpaudit.certify.witnesses.leak import prefix_mass, prefix_masses, require_leak
from dpaudit.certify.witnesses.mixture import mixture_bound
from dpaudit.certify.witnesses.noise import NoiseClaim, recompute_noise
from dpaudit.certify.witnesses.program_distributions import program_distributions_bound
from dpaudit.certify.witnesses.program_event import program_event_bound
from dpaudit.certify.witnesses.release import release_after, release_bound
from dpaudit.certify.witnesses.tables import tables_bound
from dpaudit.certify.witnesses.transcript import AnySite, KnownDistributions, WitnessSession, WitnessSite
from dpaudit.certify.witnesses.window_event import window_event_bound
from dpaudit.core.claims import (
    Accounting,
    AccountingClaim,
    Adjacency,
    ApproxDP,
    Claim,
    Model,
    PrivacyClaim,
    PureDP,
    Unit,
)
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact, read_exact, require_written_so
from dpaudit.core.views import EVERYTHING, PUBLIC, View
from dpaudit.distributions.base import BaseMeasure
from dpaudit.kernel.ball import arb, lower_exact, precision
from dpaudit.kernel.kernel_t0 import legible, shown

__all__ = ["recompute"]

#: Working precision. Offsets and values are dyadic, so the width of an enclosure is far below any margin.
BITS = 256

#: The limit of one run (``coins.limits``).
MAX_SITES = 200_000
ORIGINS = ("sampled", "forced", "enumerated")

#: The fields of a body, by form. The other forms check their own fields.
_BODIES = {
    "transcript": {"view", "inputs", "sites"},
    "leak": {"view", "inputs", "sites", "leak"},
    "mixture": {"view", "events"},
    "release": {"view", "inputs", "site", "parts", "order"},
    "prefix-release": {"view", "inputs", "sites", "site", "parts", "order"},
    "window-event": {
        *("view", "epsilon", "unit", "path", "rewards", "replaced"),
        *("sums", "scales", "bonus", "shift", "tails", "box"),
    },
}


def recompute(witness: Witness, claim: Claim) -> Fraction | None:
    """Recompute a witness against ``claim``.

    Parameters
    ----------
    witness : Witness
        The witness, usually from a file.
    claim : Claim
        The claim that it is evidence against.

    Returns
    -------
    Fraction or None
        A lower bound on the claim's quantity, ``None`` for an infinite one.

    Raises
    ------
    CertificateError
        The witness is malformed, is for another view or quantity, depends on something that the view does not
        see, states a larger bound than the recorded distributions and values give, or is of a form that
        cannot support this kind of claim.
    """
    if isinstance(claim, NoiseClaim):
        return recompute_noise(witness, claim)
    _require_about(witness, claim)
    view = claim.view if isinstance(claim, PrivacyClaim) else EVERYTHING
    stated = View.from_json(witness.body["view"])
    require_written_so(stated.to_json(), witness.body["view"], name="the view")
    if stated != view:
        raise CertificateError(f"the witness must be in the claim's view ({view}), got {stated}.")
    with precision(BITS):
        if witness.form == "window-event":
            bound: Fraction | None = _window_event_bound(witness, claim, view)
        elif witness.form == "program-event":
            bound = program_event_bound(witness.body, claim)
        elif witness.form == "program-distributions":
            bound = program_distributions_bound(witness.body, claim)
        elif witness.form == "mixture":
            bound = mixture_bound(witness.body["events"], claim, view)
        elif witness.form == "divergence":
            bound = divergence_bound(witness.body, claim)
        elif witness.form == "release":
            bound = release_bound(witness.body, claim, view)
        elif witness.form == "prefix-release":
            before = _read_sites(witness.body["sites"], view)
            bound = release_after(prefix_masses(before), witness.body, claim, view)
        elif witness.form == "tables":
            bound = tables_bound(witness.body, claim)
        else:
            bound = _transcript_bound(witness, claim, view)
    if bound is not None and (witness.bound is None or witness.bound > bound):
        stated_bound = "infinity" if witness.bound is None else shown(witness.bound)
        raise CertificateError(
            f"the witness claims too much: its bound must be at most the recomputed one, {shown(bound)}, got "
            f"{stated_bound}."
        )
    return bound


def _require_about(witness: Witness, claim: Claim) -> None:
    """Require a form and a quantity that can be evidence about the claim."""
    if not isinstance(claim, PrivacyClaim | AccountingClaim):
        raise CertificateError(
            f"a witness must be for a claim about privacy, an accounting or noise, got {claim.type!r}. Use "
            "an estimate instead."
        )
    if witness.quantity != claim.quantity:
        raise CertificateError(
            f"the witness must bound the claim's quantity {claim.quantity!r}, got {witness.quantity!r}."
        )
    if witness.origin not in ORIGINS:
        raise CertificateError(f"a witness's origin must be one of {ORIGINS}, got {witness.origin!r}.")
    _require_fields(witness)


def _require_fields(witness: Witness) -> None:
    """Require a description, both inputs, and no field that would be shown but not checked."""
    if not legible(witness.description):
        raise CertificateError("a witness must describe the pair and the event in its description.")
    wanted = _BODIES.get(witness.form)
    if wanted is not None and witness.body.keys() != wanted:
        raise CertificateError(
            f"the body of a {witness.form} witness must have the fields {sorted(wanted)}, got "
            f"{sorted(map(str, witness.body))[:8]}."
        )
    if wanted is not None and "inputs" in wanted:
        require_inputs(witness.body["inputs"])


def _window_event_bound(witness: Witness, claim: Claim, view: View) -> Fraction:
    """Return the bound of a sequence of public decisions.

    The body states the mechanism's epsilon. The event is no evidence about a claim with another epsilon.
    """
    if not (
        isinstance(claim, PureDP)
        and claim.adjacency is Adjacency.REPLACE_ONE
        and claim.unit is Unit.EVENT
        and claim.model is Model.IDEAL
    ):
        raise CertificateError(
            "a window event must be for a pure, replace-one, event-level claim on real distributions, got "
            f"{claim.in_words()}."
        )
    if not view.sees(frozenset([PUBLIC])):
        raise CertificateError(f"a window event is about public decisions, which the view ({view}) must see.")
    stated = read_exact(witness.body["epsilon"], name="epsilon")
    if stated != exact(claim.epsilon):
        raise CertificateError(f"the event's epsilon must be the claim's, {claim.epsilon}, got {stated}.")
    return window_event_bound(witness.body)


def _transcript_bound(witness: Witness, claim: Claim, view: View) -> Fraction | None:
    if not isinstance(claim, PureDP | Accounting) and witness.form != "leak":
        raise CertificateError(
            f"one transcript never refutes a {claim.type} claim, because its event may be too rare. Use a "
            "witness of the form 'mixture'."
        )
    sites = _read_sites(witness.body["sites"], view)
    if witness.origin != "sampled":
        for site in sites:
            _require_positive_box(site)
    if witness.form == "leak":
        require_leak(sites, witness.body["leak"], claim, view)
        return prefix_mass(sites) if isinstance(claim, ApproxDP) else None
    if witness.form != "transcript":
        raise CertificateError(
            "a witness's form must be transcript, leak, release, mixture, divergence or tables, got "
            f"{witness.form!r}."
        )
    total = arb(0)
    for site in sites:
        total += site.loss_ball()
    if total.is_finite():
        return lower_exact(total)
    if total > 0:  # +inf: the outcome is impossible on the neighbour
        return None
    raise CertificateError(
        f"the loss must be a number or +infinity, got {total}: the outcome is impossible on the recorded "
        "side."
    )


def _read_sites(data: Any, view: View) -> list[AnySite]:
    if not isinstance(data, list) or len(data) > MAX_SITES:
        raise CertificateError(f"a witness's sites must be a list of at most {MAX_SITES} sites.")
    read = KnownDistributions()
    sites: list[AnySite] = [
        WitnessSession.from_json(item) if "kernel" in item else WitnessSite.from_json(item, read=read)
        for item in data
    ]
    for item, site in zip(data, sites, strict=True):
        if item.keys() != site.fields:
            raise CertificateError(
                f"site {site.site!r} must have the fields that dpaudit writes, got {sorted(item)[:10]}."
            )
    for site in sites:
        if not view.sees(site.to):
            raise CertificateError(
                f"site {site.site!r} must be seen by the view {view}, but it goes to "
                f"{sorted(map(str, site.to))}. Leave it out or sum it out."
            )
        if (
            isinstance(site, WitnessSite)
            and site.distribution.base_measure is not site.distribution_neighbour.base_measure
        ):
            raise CertificateError(
                f"site {site.site!r}: both distributions must be of one kind (density or probabilities). "
                "Write a site that differs in kind as a leak."
            )
    return sites


def _require_positive_box(site: AnySite) -> None:
    """Require that a forced value of a continuous distribution lies inside the support, where the loss is
    continuous.

    A value outside the neighbour's support has an infinite loss.
    """
    if isinstance(site, WitnessSession) or site.distribution.base_measure is not BaseMeasure.LEBESGUE:
        if not site.log_densities()[0] > arb("-inf"):
            raise CertificateError(
                f"site {site.site!r}: a forced outcome is impossible, its probability is 0."
            )
        return
    around = [_nudged(site.value, -1), _nudged(site.value, 1)]
    here = [site.distribution.logp_ball(value).is_finite() for value in around]
    there = {bool(site.distribution_neighbour.logp_ball(value).is_finite()) for value in around}
    if not all(here) or len(there) != 1:
        raise CertificateError(
            f"site {site.site!r}: a forced value must lie inside the support, not at an end of it, got "
            f"{site.value!r}."
        )


def _nudged(value: Any, direction: int) -> Any:
    """Return the value changed by about one part in a billion."""
    moved = np.asarray(value, dtype=float)
    moved = moved + direction * 2.0**-30 * np.maximum(1.0, np.abs(moved))
    return moved if moved.shape else float(moved)
