"""Re-computing a witness: its loss in balls, from the recorded distributions and values alone.

Forms. In each, site names only label; what counts are distributions, values and who sees them.

``transcript``: both inputs, and the sites that the view sees, each with its distribution on both sides and
the value
that came out (or a channel session: kernel, queries on both sides, outcomes). The loss is the sum of log
p(value) - log p'(value). Sites whose distribution is the same on both sides contribute nothing and are left
out.

``leak``: such sites as a common prefix, possible on both sides, and then something shown that the neighbour
shows differently or not at all: an event of positive probability on one side and 0 on the other. The loss is
infinite, the bound ``None``; of an (epsilon, delta) claim the bound is the prefix's probability, of which all
random sites must be listed, whether their distributions moved or not.

``mixture``: hidden draws summed out. For each event (a sequence of shown values) each side has a tree of its
hidden draws and shown sites. The recorded side is bounded from below by the branches listed, the neighbour's
from above: hidden mass that no branch lists counts in full. For a pure claim the loss is the log-ratio; for
an (epsilon, delta) claim it is the sum over the events (distinct, so disjoint) of P - e^epsilon P'.

``release``: one site with nothing random before it, for any claim (``release``).

``prefix-release``: such a site after others with probabilities, for an (epsilon, delta) claim (``release``).

``divergence``: integer noise against itself shifted, for Renyi and concentrated DP (``divergence_witness``).

``program-event``: an outcome in the tree of a program's decisions (``program_event``).

``program-distributions``: the trees of a program of finite data and draws, for all data
(``program_distributions``).

``tables``: the probabilities of all that the view can see, on both inputs (``tables_witness``).

What a file cannot show, and a replay of the program does (``dpaudit verify --suite``): that the distributions
are
those of the program, that no site was left out, and that near a forced value of a continuous distribution the
program takes the same branches.
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

#: Working precision: offsets and values are dyadic, so this leaves an enclosure far below any margin.
BITS = 256

#: As many as a run may have (``coins.limits``).
MAX_SITES = 200_000
ORIGINS = ("sampled", "forced", "enumerated")

#: The fields of a body, by form; the forms that are not here check their own.
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
    """Re-compute a witness against ``claim``: a lower bound on its quantity, ``None`` for an infinite one.

    Raises ``CertificateError``, with the reason, if the witness is malformed, is for another view or
    quantity, rests on something that the view does not see, states a larger bound than the recorded
    distributions and values give, or is of a form that cannot speak about the claim.
    """
    if isinstance(claim, NoiseClaim):
        return recompute_noise(witness, claim)
    _require_about(witness, claim)
    view = claim.view if isinstance(claim, PrivacyClaim) else EVERYTHING
    stated = View.from_json(witness.body["view"])
    require_written_so(stated.to_json(), witness.body["view"], name="the view")
    if stated != view:
        raise CertificateError(
            f"the witness must be in the claim's view ({view}), got {stated}; write it for the claim."
        )
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
            f"the stated bound must be at most the re-computed one, {shown(bound)}, got "
            f"{stated_bound}; the witness claims too much."
        )
    return bound


def _require_about(witness: Witness, claim: Claim) -> None:
    """A witness must be of a form and a quantity that can speak about the claim."""
    if not isinstance(claim, PrivacyClaim | AccountingClaim):
        raise CertificateError(
            f"a witness must be for a claim about privacy, an accounting or noise, got {claim.type!r}; use "
            "an estimate."
        )
    if witness.quantity != claim.quantity:
        raise CertificateError(
            f"the witness must bound the claim's quantity {claim.quantity!r}, got {witness.quantity!r}; "
            "write it for the claim."
        )
    if witness.origin not in ORIGINS:
        raise CertificateError(
            f"a witness's origin must be one of {ORIGINS}, got {witness.origin!r}; re-create it."
        )
    _require_fields(witness)


def _require_fields(witness: Witness) -> None:
    """What a reader is shown of a witness must be what is checked of it: words, both inputs, nothing else."""
    if not legible(witness.description):
        raise CertificateError("a witness must say in words what the pair and the event are; describe it.")
    wanted = _BODIES.get(witness.form)
    if wanted is not None and witness.body.keys() != wanted:
        raise CertificateError(
            f"the body of a {witness.form} witness must have the fields {sorted(wanted)}, got "
            f"{sorted(map(str, witness.body))[:8]}; re-create it."
        )
    if wanted is not None and "inputs" in wanted:
        require_inputs(witness.body["inputs"])


def _window_event_bound(witness: Witness, claim: Claim, view: View) -> Fraction:
    """A sequence of public decisions. Its body states the mechanism's epsilon: for another claim than that
    one the event says nothing.
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
        raise CertificateError(
            f"a window event is about public decisions, which the view ({view}) must see; write it for "
            "that view."
        )
    stated = read_exact(witness.body["epsilon"], name="epsilon")
    if stated != exact(claim.epsilon):
        raise CertificateError(
            f"the event's epsilon must be the claim's, {claim.epsilon}, got {stated}; write it for the claim."
        )
    return window_event_bound(witness.body)


def _transcript_bound(witness: Witness, claim: Claim, view: View) -> Fraction | None:
    if not isinstance(claim, PureDP | Accounting) and witness.form != "leak":
        raise CertificateError(
            f"one transcript never refutes a {claim.type} claim: the event may be too rare to matter; sum "
            "events out (form 'mixture')."
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
            f"{witness.form!r}; re-create it."
        )
    total = arb(0)
    for site in sites:
        total += site.loss_ball()
    if total.is_finite():
        return lower_exact(total)
    if total > 0:  # +inf: the outcome is impossible on the neighbour
        return None
    raise CertificateError(
        f"the loss must be a number or +infinity, got {total}; the outcome is impossible on the recorded "
        "side."
    )


def _read_sites(data: Any, view: View) -> list[AnySite]:
    if not isinstance(data, list) or len(data) > MAX_SITES:
        raise CertificateError(f"a witness's sites must be a list of at most {MAX_SITES}; re-create it.")
    read = KnownDistributions()
    sites: list[AnySite] = [
        WitnessSession.from_json(item) if "kernel" in item else WitnessSite.from_json(item, read=read)
        for item in data
    ]
    for item, site in zip(data, sites, strict=True):
        if item.keys() != site.fields:
            raise CertificateError(
                f"site {site.site!r} must have the fields that dpaudit writes, got {sorted(item)[:10]}; "
                "re-create the witness."
            )
    for site in sites:
        if not view.sees(site.to):
            raise CertificateError(
                f"site {site.site!r} must be seen by the view {view}, it goes to "
                f"{sorted(map(str, site.to))}; leave it out or sum it out."
            )
        if (
            isinstance(site, WitnessSite)
            and site.distribution.base_measure is not site.distribution_neighbour.base_measure
        ):
            raise CertificateError(
                f"site {site.site!r}: both distributions must be of one kind (density or "
                "probabilities), they "
                "differ; write it as a leak."
            )
    return sites


def _require_positive_box(site: AnySite) -> None:
    """A forced value of a continuous distribution counts only inside the support, where the loss is
    continuous; one outside the neighbour's is infinite.
    """
    if isinstance(site, WitnessSession) or site.distribution.base_measure is not BaseMeasure.LEBESGUE:
        if not site.log_densities()[0] > arb("-inf"):
            raise CertificateError(
                f"site {site.site!r}: a forced outcome must be possible, it has probability 0; force "
                "another one."
            )
        return
    around = [_nudged(site.value, -1), _nudged(site.value, 1)]
    here = [site.distribution.logp_ball(value).is_finite() for value in around]
    there = {bool(site.distribution_neighbour.logp_ball(value).is_finite()) for value in around}
    if not all(here) or len(there) != 1:
        raise CertificateError(
            f"site {site.site!r}: a forced value must lie inside the support, not at an end of it, got "
            f"{site.value!r}; "
            f"force another one."
        )


def _nudged(value: Any, direction: int) -> Any:
    """The value moved by about one part in a billion."""
    moved = np.asarray(value, dtype=float)
    moved = moved + direction * 2.0**-30 * np.maximum(1.0, np.abs(moved))
    return moved if moved.shape else float(moved)
