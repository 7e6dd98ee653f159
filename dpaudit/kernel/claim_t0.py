"""Match a proof of a program to a claim: its neighbours, its scope and its assumptions.

A proof of a rho does not prove an epsilon, and a proof of an epsilon does not prove a rho. A proof at one
size does not apply to another size. A proof covers a whole claim only if the claim's domain is the proof's
scope, in the same words. It covers only a part of any other claim.

The checkers of programs print their results through ``run`` when they run as scripts. They then need this
file, ``kernel_t0.py`` and the standard library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

try:
    from dpaudit.kernel.kernel_t0 import (
        QUANTITY,
        CertificateError,
        Guarantee,
        covers,
        in_words,
        no_twins,
        number_of,
        rational,
    )
except ImportError:  # run as a script, with the other file in its folder
    from kernel_t0 import (  # type: ignore[import-not-found,no-redef]
        QUANTITY,
        CertificateError,
        Guarantee,
        covers,
        in_words,
        no_twins,
        number_of,
        rational,
    )

__all__ = [
    "ASSUMED",
    "ASSUMED_AT_EVERY_SIZE",
    "BRANCHING",
    "GAUSSIAN",
    "PURE",
    "guarantee_of",
    "proofs_of",
    "reaches",
    "require_asked",
    "require_claim",
    "require_match",
    "run",
    "scope_in_words",
]

#: The assumptions of a proof of a program at one size.
ASSUMED = (
    "numbers are exact and finite",
    "both sides have the same number of records",
    "the decision tree is the program's (exploring it again compares them)",
    "the running time is not part of the output",
)

#: The assumptions of a proof for every size.
ASSUMED_AT_EVERY_SIZE = (
    "numbers are exact and finite",
    "both sides have the same number of records, and each record is delivered once",
    "the states and trees are the program's (exploring it again compares them)",
    "the whole state of a step is in its frame, as CPython 3.11 exposes it",
    "the running time is not part of the output",
)

#: The types of claims that a proof can support: by an epsilon, by Gaussian releases, or by either.
PURE, GAUSSIAN = ("pure-dp",), ("zcdp", "gdp", "approx-dp")
BRANCHING = (*PURE, *GAUSSIAN)

#: The values that a claim must have for any proof to apply, and the reason for each.
ASKED = {
    "adjacency": ("replace-one", "both sides have the same number of records"),
    "unit": ("event", "one record changes"),
    "view": ({"principals": ["public"], "complement": False}, "the proof is about the public output"),
    "adversary": ("oblivious", "the data are fixed in advance"),
    "turnout": ("everybody", "all records take part"),
    "model": ("ideal", "its numbers are exact"),
}


def guarantee_of(checked: Any) -> Guarantee:
    """Return the bounds of a checker as a ``Guarantee``."""
    pure, rho, mu_squared = (getattr(checked, name, None) for name in ("epsilon", "rho", "mu_squared"))
    return Guarantee(pure=pure, rho=rho, gdp_squared=mu_squared)


def reaches(checked: Any, claim: dict[str, Any], stated: Fraction) -> bool:
    """Return whether rational arithmetic derives the ``stated`` bound of the claim's quantity."""
    return covers(guarantee_of(checked), claim, stated)


def require_match(
    proof: Any, claim: dict[str, Any], checked: Any, *, assumed: tuple[str, ...], types: tuple[str, ...]
) -> Fraction:
    """Return the bound that a checked proof states for ``claim``.

    Raise ``CertificateError`` if the claim, scope or quantity is not the certificate's, or if assumptions are
    not listed.
    """
    body = proof["body"]
    require_claim(claim, body["data"], body["adjacency"], types=types)
    quantity, asked = QUANTITY[claim["type"]], getattr(checked, "quantity", "epsilon")
    for name in [name.removesuffix("_exact") for name in claim if name.endswith("_exact")]:
        number_of(claim, name)
    _need(proof.get("quantity") == quantity, f"the proof must bound {quantity}", proof.get("quantity"))
    scope, written = scope_in_words(body["data"], body["adjacency"]), proof.get("scope")
    _need(written == scope, f"the scope must be what the certificate proves, {scope!r}", written)
    # The kernel derives a delta from any checked rho.
    same = asked == quantity or (quantity == "delta" and asked != "epsilon")
    _need(same, f"the proof must be of {quantity}", asked)
    exact = str(checked.claimed) if quantity == "delta" else claim.get(f"{quantity}_exact")
    _need(str(checked.claimed) == exact, f"the proof must be asked for {quantity} {exact}", checked.claimed)
    listed = proof.get("assumptions")
    unlisted = [text for text in assumed if not isinstance(listed, list | tuple) or text not in listed]
    _need(not unlisted, "a proof of a program must list its assumptions", f"no {unlisted[:1]}")
    return rational(proof.get("bound"), "the stated bound")


def require_claim(
    claim: Any, data: Any, adjacency: Any, *, whole: bool = False, types: tuple[str, ...] = ("pure-dp",)
) -> None:
    """Raise ``CertificateError`` unless a claim has one of these types and the neighbours of a certificate.

    If all numbers may change, they are not the records of a claim, unless the claim's domain is the scope.
    ``whole`` requires this domain of every claim.
    """
    about = claim if isinstance(claim, dict) else claim.to_json()
    require_asked(about, ASKED, types)
    scope, domain = scope_in_words(data, adjacency), about.get("domain")
    same = domain == scope or (adjacency["kind"] == "one-replaced" and not whole)
    _need(same, f"a claim about this program must have the domain {scope!r}", domain)


def require_asked(about: dict[str, Any], asked: dict[str, Any], types: tuple[str, ...]) -> None:
    """Raise ``CertificateError`` unless a claim has one of these types, and these values."""
    _need(about.get("type") in types, f"the claim must have type {' or '.join(types)}", about.get("type"))
    for name, (wanted, why) in asked.items():
        constraint = f"the claim must have {name} {wanted!r}, since {why}"
        _need(about.get(name) == wanted, constraint, about.get(name))


def scope_in_words(data: Any, adjacency: Any) -> str:
    """Return a certificate's data and adjacency as text, such as "all data of N = 5 numbers in [0, 1],
    ...".
    """
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
        raise CertificateError(f"{constraint}, got {str(got)[:200]}.")


def proofs_of(read: Any, kind: str) -> tuple[list[tuple[str, Any, Any]], int]:
    """Return the proofs of this kind in a file, and the number of proofs of other kinds.

    Each proof comes with the name of its row and the claim of that row. A file with one certificate has no
    row and no claim.
    """
    if "results" not in read:
        return [("", {"body": read}, None)], 0
    parts = [(str(row["id"]), row) for row in read["results"]]
    parts += [(f"{name}, cell {cell['name']}", cell) for name, row in parts for cell in row.get("cells", [])]
    found = [(name, item, part["claim"]) for name, part in parts for item in part["evidence"]]
    proofs = [one for one in found if one[1]["evidence"] == "program-proof"]
    mine = [one for one in proofs if one[1]["body"]["proof"] == kind]
    return mine, len(proofs) - len(mine)


def _about(proof: Any, claim: Any, checked: Any, assumed: tuple[str, ...], types: tuple[str, ...]) -> str:
    """Return why a valid proof does not confirm the claim of its row, or an empty text.

    Raise ``CertificateError`` as ``require_match``.
    """
    if claim is None:
        return ""
    stated = require_match(proof, claim, checked, assumed=assumed, types=types)
    if reaches(checked, claim, stated):
        return ""
    _need(QUANTITY[claim["type"]] == "delta", "the proof claims too much", stated)
    return "the delta of the claim needs tier T2 of the kernel"


def _refused(name: str, error: Exception) -> int:
    sys.stdout.write(ascii(f"refused: {name}{': ' if name else ''}{error}"[:300])[1:-1] + "\n")
    return 1


def run(
    arguments: Sequence[str],
    kind: str,
    check: Callable[[Any], Any],
    derived: Callable[[Any], str],
    *,
    assumed: tuple[str, ...] = ASSUMED,
    types: tuple[str, ...] = PURE,
    does: str = "prove",
) -> int:
    """Check one certificate of this kind, or all certificates of this kind in a report.

    Print the claim, the scope and the assumptions of each. Return the exit code: 0 if there is one and each
    proves its claim (and the claim of its row in the report), 1 if not, 2 if the file cannot be read.
    """
    try:
        text = Path(*arguments).read_text("utf-8")
        read = json.loads(text, object_pairs_hook=no_twins, parse_constant=str)
        found, others = proofs_of(read, kind)
    except CertificateError as error:
        return _refused("", error)
    except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        sys.stderr.write(ascii(f"cannot be read: {error}; usage: python FILE_t0.py FILE"[:300]) + "\n")
        return 2
    codes = [] if found else [1]
    for name, proof, claim in found:
        try:
            checked = check(proof["body"])
            unmet_condition = _about(proof, claim, checked, assumed, types)
        except Exception as error:  # an edited file can cause any error, which is a refusal
            codes.append(_refused(name, error))
            continue
        quantity, holds = getattr(checked, "quantity", "epsilon"), checked.holds and not unmet_condition
        verb = f"{does}s" if holds else f"does not {does}"
        lines = [f"{verb} {quantity} <= {checked.claimed}: {derived(checked)}"]
        lines += [f"  row: {name}"] if name else []
        lines += [f"  not confirmed: {unmet_condition}"] if unmet_condition else []
        lines += [f"  scope: {scope_in_words(proof['body']['data'], proof['body']['adjacency'])}"]
        lines += [f"  claim: {in_words(claim) if claim else f'{quantity} {checked.claimed}'}"]
        lines += [f"  assuming: {each}" for each in assumed]
        sys.stdout.write("".join(ascii(line)[1:-1] + "\n" for line in lines))
        codes.append(0 if holds else 1)
    if others:
        sys.stdout.write(f"{others} proofs of other kinds were not checked by this file\n")
    return max(codes)
