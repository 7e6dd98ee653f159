"""What verifying confirms, in words: of each piece of evidence, and once for the whole report what it cannot
know. The command line, the HTML report and the README take their words from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpaudit.evidence import Certificate, Estimate, Witness

__all__ = ["CANNOT_KNOW", "certificate_in_words", "estimate_in_words", "witness_in_words"]

#: The plain words at the end of every verification.
CANNOT_KNOW = (
    "From the file alone dpaudit verify confirms arithmetic: that each bound follows from the rule tree, or "
    "from the laws and values, that the file shows, and each verdict from the evidence beside it. It cannot "
    "know that these trees, laws, inputs, neighbours, texts, plots and stamps are the program's, that an "
    "estimate's runs took place, or that no row is missing; dpaudit verify --suite runs the programs again "
    "and compares."
)

#: Characters of a mechanism, and of a certificate's assumptions, in one line.
MAX_MECHANISM, MAX_ASSUMED = 160, 400

_WITNESSES = {
    "transcript": "loss of the recorded transcript ({sites})",
    "leak": "a value shown on one of the recorded inputs only, after {sites}",
    "mixture": "probabilities of the recorded events under both laws",
    "divergence": "divergence of the recorded noise from itself, shifted",
    "window-event": "probability of the recorded decisions",
    "tilt": "moment generating function of the recorded noise at one point",
    "tail-mass": "probability of the recorded event",
}


def certificate_in_words(item: Certificate, bound: str, tier: str) -> str:
    """One line: for which mechanism, under which assumptions, ``item`` gives ``bound``, by which tier."""
    assumed = "; ".join(item.assumptions) or "nothing more"
    return (
        f"arithmetic of the certificate for mechanism {_short(_mechanism(item.tree), MAX_MECHANISM)}, "
        f"assuming {_short(assumed, MAX_ASSUMED)}: {item.quantity} is at most {bound} (by tier {tier})"
    )


def witness_in_words(item: Witness, bound: str | None) -> str:
    """One line: what of the witness was computed again, and what it gives (``None``: an infinite loss)."""
    sites = item.body.get("sites")
    count = len(sites) if isinstance(sites, list) else 0
    said = _WITNESSES.get(item.form, item.form).format(sites=f"{count} site{'' if count == 1 else 's'}")
    return f"{said}: {item.quantity} is " + ("infinite" if bound is None else f"at least {bound}")


def estimate_in_words(item: Estimate) -> str:
    """One line: that nothing of an estimate was computed again."""
    return (
        f"taken from the report as it stands ({item.samples} samples, confidence {item.confidence:g}); only "
        "its form was checked"
    )


def _mechanism(tree: Any) -> str:
    """The rules of a tree with their plain parameters, outermost first, without the node that repeats the
    claim."""
    if not isinstance(tree, Mapping):
        return "?"
    premises = tree.get("premises")
    inner = [_mechanism(premise) for premise in premises] if isinstance(premises, list) else []
    if tree.get("rule") == "claim" and len(inner) == 1:
        return inner[0]
    parameters = tree.get("parameters")
    plain = parameters.items() if isinstance(parameters, Mapping) else ()
    told = [f"{name} {value}" for name, value in plain if isinstance(value, str) and len(value) <= 40]
    return f"{tree.get('rule')}({', '.join([*told, *inner])})"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
