"""Describe in one line what verifying confirms about each piece of evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.certify.inequalities import ExaminedInequality
from dpaudit.core.claims import AccountingClaim, Claim, PrivacyClaim
from dpaudit.core.evidence import Certificate, Estimate, InequalityProof, ProgramProof, Witness
from dpaudit.core.exact import in_digits
from dpaudit.kernel.values.claim import PROOF

__all__ = [
    "assumed_in_words",
    "certificate_in_words",
    "estimate_in_words",
    "inequality_in_words",
    "program_in_words",
    "setting_in_words",
    "witness_in_words",
]

#: The largest number of characters of a mechanism, an assumption, and a parameter or part of a setting.
MAX_MECHANISM, MAX_ASSUMED, MAX_PART = 200, 200, 60
#: A text is cut after a word, unless its last word is longer than this.
LONGEST_WORD = 24

_WITNESSES = {
    "transcript": "loss of the recorded transcript ({sites})",
    "leak": "a value output on only one of the recorded inputs, after {sites}",
    "release": "this quantity for the two recorded distributions of one release",
    "prefix-release": "the recorded outcomes ({sites}), followed by a set of outcomes of one release",
    "mixture": "probabilities of the recorded events under both distributions",
    "divergence": "divergence of the recorded noise from itself, shifted",
    "program-event": "an outcome of the recorded tree of decisions",
    "program-distributions": "the largest ratio of two neighbours' distributions in the recorded trees",
    "tables": "divergence of the recorded tables of probabilities",
    "window-event": "probability of the recorded decisions",
    "tilt": "moment generating function of the recorded noise at one point",
    "tail-mass": "probability of the recorded event",
}


#: The file that checks a proof of a program, by its kind. ``program_t0`` checks the other kinds.
_CHECKERS = {
    "program, generic step": "step_t0",
    "program, exact distributions": "finite_t0",
    "program, Gaussian releases": "gaussian_t0",
    "program, data branches": "branches_t0",
    PROOF: "values.check",
}


def certificate_in_words(item: Certificate, claim: Claim, bound: str, tier: str) -> str:
    """Return a line with the mechanism, setting, assumptions, bound and tier of a certificate.

    Long assumptions are shortened, and none is left out.
    """
    setting = setting_in_words(claim)
    about = f", {setting}" if setting else ""
    return (
        f"arithmetic of the certificate for mechanism {_short(_mechanism(item.tree), MAX_MECHANISM)}"
        f"{about}, {assumed_in_words(item.assumptions)}: {item.quantity} is at most {bound} (by tier {tier})"
    )


def setting_in_words(claim: Claim) -> str:
    """Return the adjacency, unit, view and participation of a claim, or "" if it is not about privacy."""
    if not isinstance(claim, PrivacyClaim | AccountingClaim):
        return ""
    view = [f"view {_short(str(claim.view), MAX_PART)}"] if isinstance(claim, PrivacyClaim) else []
    parts = [claim.adjacency.value, f"per {claim.unit.value}", *view]
    return f"for {', '.join(parts)}, participation {_short(claim.participation, MAX_PART)}"


def assumed_in_words(assumptions: Sequence[str]) -> str:
    """Return every assumption of a certificate, numbered if there are several."""
    assumed = [_short(text, MAX_ASSUMED) for text in assumptions]
    if len(assumed) > 1:
        assumed = [f"({number}) {text}" for number, text in enumerate(assumed, start=1)]
    return f"assuming {'; '.join(assumed)}" if assumed else "without further assumptions"


def witness_in_words(item: Witness, bound: str | None) -> str:
    """Return a line with what was recomputed for a witness and its bound (``None``: an infinite loss)."""
    sites = item.body.get("sites")
    count = len(sites) if isinstance(sites, list) else 0
    recomputed = _WITNESSES.get(item.form, item.form).format(sites=f"{count} site{'' if count == 1 else 's'}")
    return f"{recomputed}: {item.quantity} is " + ("infinite" if bound is None else f"at least {bound}")


def program_in_words(item: ProgramProof, bound: Fraction, paths: int) -> str:
    """Return a line with the scope, the assumptions and the bound of a program proof.

    If the bound may exceed the claim by the rounding of constants, the exact bound is added.
    """
    number = in_digits(bound, toward="up")
    exactly = f"exactly {bound}, " if item.rounding and number != str(bound) else ""
    checker = _CHECKERS.get(str(item.body.get("proof")), "program_t0")
    return (
        f"proof of the program in the file, {paths} paths, for {item.scope}, "
        f"{assumed_in_words(item.assumptions)}: {item.quantity} is at most {number} ({exactly}by {checker})"
    )


def inequality_in_words(item: InequalityProof, examined: ExaminedInequality) -> str:
    """Return a line with the inequality, the range, the assumptions and the number of boxes of a proof."""
    stated = "; ".join(examined.inequalities)
    return (
        f"proof of {_short(stated, MAX_MECHANISM)}, for {item.scope}, {assumed_in_words(item.assumptions)} "
        f"({examined.boxes} box{'es' * (examined.boxes != 1)})"
    )


def estimate_in_words(item: Estimate) -> str:
    """Return a line that states that an estimate or computation was not repeated."""
    if item.confidence == 1:
        points = f"{item.samples} point{'' if item.samples == 1 else 's'}"
        return (
            f"computed by the row's own code ({points}, confidence 1) and taken from the report; only its "
            "form was checked, and dpaudit verify --suite computes it again"
        )
    return (
        f"taken from the report ({item.samples} samples, confidence {item.confidence:g}); only its form was "
        "checked"
    )


def _mechanism(tree: Any) -> str:
    """Return the rules of a tree with their parameters, outermost first, without the node of the claim."""
    if not isinstance(tree, Mapping):
        return "?"
    premises = tree.get("premises")
    inner = [_mechanism(premise) for premise in premises] if isinstance(premises, list) else []
    if tree.get("rule") == "claim" and len(inner) == 1:
        return inner[0]
    parameters = tree.get("parameters")
    given = parameters.items() if isinstance(parameters, Mapping) else ()
    shown = [f"{name} {_parameter(value)}" for name, value in given]
    return f"{tree.get('rule')}({', '.join([*shown, *inner])})"


def _parameter(value: Any) -> str:
    """Return a parameter of a rule, shortened: a number, a text, a list of them, or a bounded sum."""
    if isinstance(value, Mapping):
        if value.keys() == {"query", "lower", "upper"}:
            ends = f"[{_parameter(value['lower'])}, {_parameter(value['upper'])}]"
            return f"of a {_parameter(value['query'])} of records clipped to {ends}"
        return _short(
            f"({', '.join(f'{name} {_parameter(item)}' for name, item in value.items())})", MAX_PART
        )
    if isinstance(value, list):
        return _short(f"[{', '.join(_parameter(item) for item in value)}]", MAX_PART)
    return _short(str(value), MAX_PART)


def _short(text: str, most: int) -> str:
    """Return the beginning of a long text, up to the last whole word if it is near the limit."""
    if len(text) <= most:
        return text
    cut = text[: most - 3]
    words, _, last = cut.rpartition(" ")
    return f"{words if words and len(last) < LONGEST_WORD else cut}..."
