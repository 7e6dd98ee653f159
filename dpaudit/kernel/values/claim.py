"""Compare a certificate of private values with a claim: neighbours, unit, scope, assumptions, rounding.

The claim is stored next to the certificate, and the checker reads no number of the claim from the
certificate. The scope is a description of the declared data, which is derived again from the declaration. A
proof covers the whole claim only if the claim's domain is this scope.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpaudit.kernel.claim_t0 import ASKED, GAUSSIAN, PURE, proofs_of, require_asked
from dpaudit.kernel.kernel_t0 import (
    QUANTITY,
    CertificateError,
    covers,
    in_words,
    need,
    no_twins,
    number_of,
    rational,
)
from dpaudit.kernel.values.costs import guarantees

__all__ = ["ASSUMED", "PROOF", "ROUNDING", "TYPES", "require_match", "run"]

#: The kind of these certificates.
PROOF = "program, private values"

#: Relative amount by which a derived bound may exceed the claimed number. This is the only such tolerance.
ROUNDING = Fraction(1, 10**9)

#: The assumptions of a proof of private values.
ASSUMED = (
    "numbers are real: a float constant is the decimal that it prints as, nothing is rounded",
    "the data are finite",
    "integer arrays hold fewer than 2^31 records; integer arithmetic is checked to fit 64 bits",
    "the data are what is declared: container, type, domain, number of records",
    "the adversary sees what is released, printed, returned or raised, and what is revealed to its view",
    "record k, counted from 0, is the data of user(k), if a view or an audience names users",
    "the adversary does not see time, memory or warnings",
    "noise is drawn independently from the exact distribution that is named",
    "Python and numpy do what their documentation says for the accepted functions",
    "the record is the program's (proving it again compares them)",
    "the bound may exceed the claim by one part in 10^9, since constants such as 1 / eps are rounded",
)

#: The types of claims that such a proof can support.
TYPES = (*PURE, *GAUSSIAN, "renyi-dp")


def require_match(
    proof: Any,
    claim: dict[str, Any],
    checked: Any,
    *,
    assumed: tuple[str, ...] = ASSUMED,
    types: tuple[str, ...] = TYPES,
) -> Fraction:
    """Return the bound that a checked proof states for ``claim``.

    Raises
    ------
    CertificateError
        The neighbours, the unit, the scope, the quantity or the assumptions differ.
    """
    data, adjacency = proof["body"]["data"], proof["body"]["adjacency"]
    unit = "event" if adjacency["group"] == 1 else "user"
    wanted = {
        "adjacency": (adjacency["kind"], "the certificate covers these neighbours"),
        "unit": (unit, f"{adjacency['group']} records change at once"),
        "view": (proof["body"]["view"], "the certificate covers this view"),
    }
    if checked.adaptive and claim.get("adversary") == "adaptive":
        wanted["adversary"] = ("adaptive", "the record has no hidden noise")
    require_asked(claim, {**ASKED, **wanted}, types)
    for name in [name.removesuffix("_exact") for name in claim if name.endswith("_exact")]:
        number_of(claim, name)
    quantity, scope = QUANTITY[claim["type"]], data["words"]
    need(
        proof.get("quantity") == quantity, f"the proof must bound {quantity}, got {proof.get('quantity')!r}."
    )
    need(proof.get("scope") == scope, f"the scope must be {scope!r}, got {str(proof.get('scope'))[:200]!r}.")
    listed = proof.get("assumptions")
    same = isinstance(listed, list | tuple) and [*listed] == [*assumed]
    need(same, f"a proof of private values must list its assumptions, got {str(listed)[:200]}.")
    return rational(proof.get("bound"), "the stated bound")


def run(arguments: list[str], check: Callable[[Any], Any]) -> int:
    """Check one certificate, or all certificates of this kind in a report, and return the exit code.

    The code is 0 if there is at least one certificate and each proves its claim, 1 if not, and 2 if the file
    cannot be read. A single certificate has no claim, so its bounds are printed instead.
    """
    try:
        read = json.loads(Path(*arguments).read_text("utf-8"), object_pairs_hook=no_twins, parse_constant=str)
        found, others = proofs_of(read, PROOF)
    except CertificateError as error:
        return _written([f"refused: {error}"[:300]], 1)
    except (OSError, LookupError, TypeError, ValueError, RecursionError) as error:
        sys.stderr.write(
            ascii(f"cannot be read: {error}. Usage: python -m dpaudit.kernel.values.check FILE") + "\n"
        )
        return 2
    codes = [] if found else [1]
    for name, proof, claim in found:
        try:
            codes.append(_compared(name, proof, claim, check(proof["body"])))
        except Exception as error:  # an edited file may cause any exception, which counts as a refusal
            codes.append(_written([f"refused: {name}{': ' if name else ''}{error}"[:300]], 1))
    if others:
        _written([f"{others} proofs of other kinds were not checked by this program"], 0)
    return max(codes)


def _compared(name: str, proof: Any, claim: Any, checked: Any) -> int:
    bounds = [(key, getattr(checked, key)) for key in ("epsilon", "rho", "mu_squared")]
    derived = ", ".join(f"{key} <= {value}" for key, value in bounds if value is not None)
    lines = [f"derived: {derived} ({checked.paths} paths)", *([f"  row: {name}"] if name else [])]
    code = 0
    if claim is not None:
        stated, quantity = require_match(proof, claim, checked), QUANTITY[claim["type"]]
        found = guarantees(checked, claim)
        confirmed = all(covers(guarantee, claim, stated) for guarantee in found)
        need(
            confirmed or quantity == "delta" or checked.special,
            f"the proof claims too much: {quantity} <= {stated}",
        )
        claimed = number_of(claim, quantity)
        holds = confirmed and stated <= claimed * (1 + ROUNDING)
        verb = "proves" if holds else "does not prove"
        lines = [f"{verb} {quantity} <= {claimed}: {quantity} <= {stated}", *(f"  {line}" for line in lines)]
        lines += [] if confirmed else [f"  not confirmed: this {quantity} needs tier T2 of the kernel"]
        lines += [f"  claim: {in_words(claim)}"]
        code = 0 if holds else 1
    lines += [f"  scope: {proof['body']['data']['words']}", *(f"  assuming: {each}" for each in ASSUMED)]
    return _written(lines, code)


def _written(lines: list[str], code: int) -> int:
    sys.stdout.write("".join(ascii(line)[1:-1] + "\n" for line in lines))
    return code
