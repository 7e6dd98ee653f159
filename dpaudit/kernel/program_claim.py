"""What ties a proof of a program to a claim: whose neighbours it is about, and its scope.

Proofs at one size are checked by ``program_t0``, of finite data and draws by ``finite_t0``, those for every
size by ``step_t0``. A proof at one size
says nothing of another. It is about the whole of a claim only where the claim's domain is the proof's scope,
in the same words; of any other claim it is about a part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel import finite_t0, program_t0, step_t0
from dpaudit.kernel.kernel_t0 import CertificateError, shown

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

#: The checker of each kind of proof, and what such a proof assumes.
CHECKERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "program, own regions": (program_t0.check, ASSUMED),
    "program, exact laws": (finite_t0.check, ASSUMED),
    "program, generic step": (step_t0.check, ASSUMED_AT_EVERY_SIZE),
}

#: What a claim must say for a proof to be about it at all, and why another word is another claim.
ASKED = {
    "type": ("pure-dp", "it bounds a pure epsilon"),
    "adjacency": ("replace-one", "both sides have the same number of records"),
    "unit": ("event", "one record changes"),
    "view": ({"principals": ["public"], "complement": False}, "it is about what everybody is shown"),
    "adversary": ("oblivious", "the data are fixed in advance"),
    "turnout": ("everybody", "all records are there"),
    "model": ("ideal", "its numbers are exact"),
}


@dataclass(frozen=True)
class ExaminedProgram:
    """The derived ``bound``, after how many ``paths``."""

    bound: Fraction
    paths: int


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
    check, assumed = CHECKERS[kind]
    try:
        checked = check(body)
        stated = program_t0.rational(data.get("bound"))
    except (program_t0.ProgramProofError, finite_t0.FiniteProofError, step_t0.StepProofError) as error:
        raise CertificateError(f"the proof of the program does not hold: {error}") from error
    require_claim(about, body["data"], body["adjacency"])
    scope = scope_in_words(body["data"], body["adjacency"])
    exact, written = about.get("epsilon_exact"), data.get("scope")
    _need(str(checked.claimed) == exact, f"the proof must be asked for epsilon {exact}", checked.claimed)
    _need(written == scope, f"the scope must be what the certificate proves, {scope!r}", written)
    derived = shown(checked.epsilon)
    _need(stated >= checked.epsilon, f"the proof claims too much: it derives {derived}", stated)
    listed = data.get("assumptions")
    missing = [text for text in assumed if not isinstance(listed, list | tuple) or text not in listed]
    _need(not missing, "a proof of a program must list what it assumes", f"no {missing[:1]}")
    return ExaminedProgram(checked.epsilon, checked.paths)


def require_claim(claim: Any, data: Any, adjacency: Any, *, whole: bool = False) -> None:
    """Raise ``CertificateError`` unless a claim is about the neighbours of a certificate. Numbers that move
    are records of no claim but one whose domain is the scope; ``whole`` asks that of every claim."""
    about = claim if isinstance(claim, dict) else claim.to_json()
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
