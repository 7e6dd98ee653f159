"""The trusted checker: it re-derives the bound of a certificate and refuses whatever it does not know.

``check`` walks the rule tree, derives every guarantee anew from the parameters (rational arithmetic and
balls, no floats), reads the claimed quantity off the root, and compares. Whatever found the certificate is
not trusted. This file imports nothing of the package but exact numbers, claims (as data), errors, the
vocabulary of ``terms`` and the rules.

The input is untrusted: limits on nodes, depth and digits bound time and memory, and nothing in a certificate
is executed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import dpaudit.kernel.rules  # noqa: F401  # importing the rules registers them
from dpaudit.claims import Claim
from dpaudit.errors import CertificateError, DpauditError
from dpaudit.exact import exact
from dpaudit.kernel.rules.readout import claimed_quantity
from dpaudit.kernel.terms import RULES, Guarantee, Parameters, Setting, shown

if TYPE_CHECKING:
    from dpaudit.evidence import Certificate

__all__ = ["MAX_DEPTH", "MAX_NODES", "ROOT", "check", "context_of", "derive", "derived_bound", "known_rules"]

MAX_DEPTH = 40
MAX_NODES = 4000

#: The name of the node at the top of every tree: it states which claim the tree is about.
ROOT = "claim"

_NODE_KEYS = {"rule", "parameters", "premises"}
_CERTIFICATE_KEYS = {"evidence", "quantity", "bound", "tree", "assumptions"}


def check(certificate: Certificate | dict[str, Any], claim: Claim) -> Fraction:
    """Re-derive the bound of ``certificate`` for ``claim`` and return it (in the unit of the claim's
    quantity).

    Raises ``CertificateError``, with the reason, if the tree is malformed, too large, uses an unknown rule or
    a parameter outside its domain, is about another claim, rests on assumptions that the certificate does not
    list, or claims a bound below the derived one.
    """
    data = certificate if isinstance(certificate, dict) else certificate.to_json()
    quantity, stated, assumptions, tree = _read(data)
    if quantity != claim.quantity:
        raise CertificateError(
            f"the certificate must bound the claim's quantity {claim.quantity!r}, got {quantity!r}; "
            "certify the claim itself."
        )
    guarantee = derive(_inside(tree, claim), Setting.of(claim))
    bound = derived_bound(guarantee, claim)
    if sorted(assumptions) != sorted(guarantee.assumptions):
        raise CertificateError(
            f"the assumptions must be those of the tree, {list(guarantee.assumptions)}, got {assumptions}; "
            "list exactly these."
        )
    if stated < bound:
        raise CertificateError(
            f"the stated bound must be at least the derived one, {shown(bound)}, got "
            f"{shown(stated)}; the certificate claims too much."
        )
    return bound


def derived_bound(guarantee: Guarantee, claim: Claim) -> Fraction:
    """What ``guarantee`` gives for the claim's quantity; raises ``CertificateError`` if it says nothing
    about it.
    """
    try:
        return claimed_quantity(guarantee, claim)
    except CertificateError:
        raise
    except DpauditError as error:
        raise CertificateError(f"the claimed quantity could not be enclosed: {error}") from error


def context_of(claim: Claim) -> dict[str, Any]:
    """What a certificate repeats of its claim: everything but the numbers, which the kernel takes from the
    claim itself.
    """
    numbers = {name.removesuffix("_exact") for name in claim.to_json() if name.endswith("_exact")}
    return {
        name: value
        for name, value in claim.to_json().items()
        if name not in numbers and not name.endswith("_exact") and name != "in_words"
    }


def known_rules() -> list[str]:
    """The names of the rules that this kernel knows, sorted."""
    return sorted(RULES)


def _read(data: dict[str, Any]) -> tuple[str, Fraction, list[str], Any]:
    if data.keys() - _CERTIFICATE_KEYS or not {"quantity", "bound", "tree", "assumptions"} <= data.keys():
        raise CertificateError(
            f"a certificate must have the fields {sorted(_CERTIFICATE_KEYS)}, got "
            f"{sorted(map(str, data))[:8]}; re-create it."
        )
    assumptions = data["assumptions"]
    if not isinstance(assumptions, list | tuple) or not all(isinstance(text, str) for text in assumptions):
        raise CertificateError("the assumptions must be a list of texts; re-create the certificate.")
    if not isinstance(data["bound"], str | Fraction):
        raise CertificateError(
            f"the bound must be an exact number written as a string, got {data['bound']!r}; re-create the "
            "certificate."
        )
    try:
        bound = exact(data["bound"], name="bound")
    except DpauditError as error:
        raise CertificateError(str(error)) from error
    return str(data["quantity"]), bound, list(assumptions), data["tree"]


def _inside(tree: Any, claim: Claim) -> Any:
    """The proof below the root, after the root's context was found to be that of the claim."""
    node = _node(tree)
    context, wanted = node["parameters"], context_of(claim)
    if node["rule"] != ROOT or not isinstance(context, dict) or len(node["premises"]) != 1:
        raise CertificateError(
            f"the root must be the rule {ROOT!r} with one premise, got {str(node['rule'])[:40]!r}; certify "
            "a claim."
        )
    for name in sorted(wanted.keys() | context.keys()):
        if name not in context or name not in wanted or context[name] != wanted[name]:
            raise CertificateError(
                f"the certificate must be about the same claim: {name} is {wanted.get(name)!r} there and "
                f"{context.get(name)!r} here; "
                f"certify the claim that is made."
            )
    return node["premises"][0]


def _node(tree: Any) -> dict[str, Any]:
    if (
        not isinstance(tree, dict)
        or tree.keys() != _NODE_KEYS
        or not isinstance(tree["premises"], list)
        or not isinstance(tree["rule"], str)
    ):
        raise CertificateError(
            f"a node must have exactly the fields {sorted(_NODE_KEYS)}; re-create the certificate."
        )
    return tree


def derive(tree: dict[str, Any], setting: Setting) -> Guarantee:
    """Derive the guarantee of a rule tree (without its root) in a setting. Raises ``CertificateError`` as
    ``check`` does.
    """
    return _derive(tree, setting, depth=1, budget=[MAX_NODES])


def _derive(tree: Any, setting: Setting, *, depth: int, budget: list[int]) -> Guarantee:
    node = _node(tree)
    budget[0] -= 1
    if depth > MAX_DEPTH or budget[0] < 0:
        raise CertificateError(
            f"a tree must have at most {MAX_NODES} nodes and depth {MAX_DEPTH}, got more; use counts "
            "instead of copies."
        )
    found = RULES.get(node["rule"])
    if found is None:
        raise CertificateError(
            f"a rule must be one that the kernel knows ({known_rules()}), got {node['rule'][:40]!r}; use "
            "one of these."
        )
    least, most = found.premises
    if not least <= len(node["premises"]) <= most:
        raise CertificateError(
            f"{found.name} must have {least} to {most} premises, got {len(node['premises'])}; rebuild the "
            "certificate."
        )
    parameters = Parameters(node["parameters"], rule=found.name)
    inner = found.premise_setting(node["parameters"], setting)
    premises = tuple(_derive(premise, inner, depth=depth + 1, budget=budget) for premise in node["premises"])
    try:
        guarantee = found.derive(parameters, premises, setting)
    except CertificateError:
        raise
    except (DpauditError, ArithmeticError) as error:
        raise CertificateError(f"{found.name}: the bound could not be derived: {error}") from error
    parameters.finish()
    assumptions = [text for premise in premises for text in premise.assumptions]
    return guarantee.with_assumptions(assumptions)
