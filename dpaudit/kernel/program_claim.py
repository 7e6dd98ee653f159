"""What ties a proof of a program to a claim: whose neighbours it is about, and its scope.

Proofs at one size are checked by ``program_t0``, of finite data and draws by ``finite_t0``, those for every
size by ``step_t0``: all of a pure epsilon. Proofs of Gaussian releases, by ``gaussian_t0``, are of a rho or a
mu, from which the kernel derives a delta; of releases that data choose, by ``branches_t0``, of an epsilon or
a rho. None of a rho is one of an epsilon, nor the other way round. A proof at one size says nothing of
another. It is about the whole of a claim only where the claim's domain is the proof's scope, in the same
words; of any other claim it is about a part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from dpaudit.kernel import branches_t0, finite_t0, gaussian_t0, program_t0, step_t0
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.kernel_t0 import QUANTITY, CertificateError, Guarantee, covers, shown

__all__ = [
    "ASSUMED",
    "ASSUMED_AT_EVERY_SIZE",
    "CHECKERS",
    "ExaminedProgram",
    "examine_program",
    "require_claim",
    "scope_in_words",
]

#: What a proof of a program at one size assumes.
ASSUMED = (
    "numbers are exact and finite",
    "both sides have the same number of records",
    "the decision tree is the program's (exploring it again compares them)",
    "the program is judged by what it shows, without its time",
)

#: The same for every size.
ASSUMED_AT_EVERY_SIZE = (
    "numbers are exact and finite",
    "both sides have the same number of records, and each record is delivered once",
    "the states and trees are the program's (exploring it again compares them)",
    "all that a step knows is in its frame, as CPython 3.11 shows it",
    "the program is judged by what it shows, without its time",
)


class Checker(NamedTuple):
    """How one kind of proof is checked, what it assumes, and which types of claims it can be about."""

    check: Any
    assumed: tuple[str, ...]
    types: tuple[str, ...] = ("pure-dp",)


CHECKERS = {
    "program, own regions": Checker(program_t0.check, ASSUMED),
    "program, exact laws": Checker(finite_t0.check, ASSUMED),
    "program, generic step": Checker(step_t0.check, ASSUMED_AT_EVERY_SIZE),
    "program, data branches": Checker(branches_t0.check, ASSUMED, ("pure-dp", "zcdp", "gdp", "approx-dp")),
    "program, Gaussian releases": Checker(gaussian_t0.check, ASSUMED, ("zcdp", "gdp", "approx-dp")),
}

#: What a checker raises.
_ERRORS = (
    program_t0.ProgramProofError,
    finite_t0.FiniteProofError,
    gaussian_t0.GaussianProofError,
    step_t0.StepProofError,
)

#: What a claim must say for a proof to be about it at all, and why another word is another claim.
ASKED = {
    "adjacency": ("replace-one", "both sides have the same number of records"),
    "unit": ("event", "one record changes"),
    "view": ({"principals": ["public"], "complement": False}, "it is about what everybody is shown"),
    "adversary": ("oblivious", "the data are fixed in advance"),
    "turnout": ("everybody", "all records are there"),
    "model": ("ideal", "its numbers are exact"),
}


@dataclass(frozen=True)
class ExaminedProgram:
    """The derived ``bound``, after how many ``paths``, by which ``tier`` of the kernel."""

    bound: Fraction
    paths: int
    tier: str = "T0"


def examine_program(proof: Any, claim: Any) -> ExaminedProgram:
    """Derive the bound of a program proof for ``claim``; either is JSON, or has ``to_json``.

    Raises ``CertificateError``, with the reason, for a tree that does not prove the stated bound, for another
    claim (neighbours, unit, view, number), other words of scope, and assumptions that are not listed.
    """
    data, about = (dict(item if isinstance(item, dict) else item.to_json()) for item in (proof, claim))
    body: Any = data.get("body")
    _need(isinstance(body, dict), "a proof of a program must have its certificate", type(body).__name__)
    kind = body.get("proof")
    _need(
        isinstance(kind, str) and kind in CHECKERS, f"a proof of a program is one of {sorted(CHECKERS)}", kind
    )
    checker = CHECKERS[kind]
    try:
        checked = checker.check(body)
        stated = program_t0.rational(data.get("bound"))
    except _ERRORS as error:
        raise CertificateError(f"the proof of the program does not hold: {error}") from error
    require_claim(about, body["data"], body["adjacency"], types=checker.types)
    quantity = QUANTITY[about["type"]]
    _need(data.get("quantity") == quantity, f"the proof must bound {quantity}", data.get("quantity"))
    scope, written = scope_in_words(body["data"], body["adjacency"]), data.get("scope")
    _need(written == scope, f"the scope must be what the certificate proves, {scope!r}", written)
    examined = _examined(checked, about, stated)
    listed = data.get("assumptions")
    missing = [text for text in checker.assumed if not isinstance(listed, list | tuple) or text not in listed]
    _need(not missing, "a proof of a program must list what it assumes", f"no {missing[:1]}")
    return examined


def _examined(checked: Any, about: Any, stated: Fraction) -> ExaminedProgram:
    """The checked epsilon, rho or mu of the claim; or a delta, which the kernel makes of any checked rho."""
    wanted, asked = QUANTITY[about["type"]], getattr(checked, "quantity", "epsilon")
    _need(
        asked == wanted or (wanted == "delta" and asked != "epsilon"), f"the proof must be of {wanted}", asked
    )
    exact = str(checked.claimed) if wanted == "delta" else about.get(f"{wanted}_exact")
    _need(str(checked.claimed) == exact, f"the proof must be asked for {wanted} {exact}", checked.claimed)
    pure, rho, mu_squared = (getattr(checked, name, None) for name in ("epsilon", "rho", "mu_squared"))
    guarantee = Guarantee(pure=pure, rho=rho, gdp_squared=mu_squared)
    rational, bound = covers(guarantee, about, stated), derived_bound(guarantee, about)
    _need(rational or stated >= bound, f"the proof claims too much: it derives {shown(bound)}", stated)
    return ExaminedProgram(bound, checked.paths, "T0" if rational else "T2")


def require_claim(
    claim: Any, data: Any, adjacency: Any, *, whole: bool = False, types: tuple[str, ...] = ("pure-dp",)
) -> None:
    """Raise ``CertificateError`` unless a claim has one of these types and is about the neighbours of a
    certificate. Numbers that move are records of no claim but one whose domain is the scope; ``whole`` asks
    that of every claim."""
    about = claim if isinstance(claim, dict) else claim.to_json()
    kinds = f"the claim must have type {' or '.join(map(repr, types))}, which the proof is about"
    _need(about.get("type") in types, kinds, about.get("type"))
    for name, (wanted, why) in ASKED.items():
        _need(
            about.get(name) == wanted, f"the claim must have {name} {wanted!r}, since {why}", about.get(name)
        )
    scope, domain = scope_in_words(data, adjacency), about.get("domain")
    same = domain == scope or (adjacency["kind"] == "one-replaced" and not whole)
    _need(same, f"a claim about this program must have the domain {scope!r}", domain)


def scope_in_words(data: Any, adjacency: Any) -> str:
    """What a certificate's data and adjacency say, in words: "all data of N = 5 numbers in [0, 1], ..."."""
    size, width, low, high = (data.get(name) for name in ("size", "width", "low", "high"))
    noun = "integers" if data.get("integers") else "numbers"
    records = f"records of {width} {noun}" if width else noun
    inside = "" if low is None and high is None else f" from {_end(low)} to {_end(high)}"
    if None not in (low, high):
        inside = f" in [{low}, {high}]"
    count = "of N" if size == "every" else f"of N = {size}"
    inside += ", for every N" if size == "every" else ""
    by = adjacency["by"]
    if adjacency["kind"] == "one-replaced":
        moved = "one record replaced" + (f" by one at most {by} away" if adjacency.get("at_most") else "")
    else:
        moved = f"each moved by at most {by}" + (", all in one direction" if adjacency["one_way"] else "")
    return f"all data {count} {records}{inside}, {moved}, all outcomes"


def _end(bound: Any) -> str:
    return "anything" if bound is None else str(bound)


def _need(holds: bool, constraint: str, got: Any) -> None:
    if not holds:
        raise CertificateError(f"{constraint}, got {str(got)[:200]}; prove the claim itself.")
