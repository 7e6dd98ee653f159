"""Attempt to prove the program of a privacy row, and note where the attempt ends.

If a row is consistent by its certificate, replays have found no difference between program and mechanism, and
nothing more is known. The attempt follows the program on private values. Its note names the operation, with
its line, where it stops.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.core import data as declared
from dpaudit.core.claims import PrivacyClaim, PureDP
from dpaudit.core.claims.base import Model, Unit
from dpaudit.core.errors import DpauditError
from dpaudit.core.evidence import Certificate, Evidence, ProgramProof
from dpaudit.core.harness import installed_folders, is_harness_file, is_program_file
from dpaudit.core.suite import Run
from dpaudit.prover.values.prove import prove_values
from dpaudit.replay import domains
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite.program_proofs import provable

__all__ = ["certified_alone", "program_files", "why_unproved"]

#: The prefix of each such note.
NO_PROOF = "no proof of the program: "

#: Time limit in seconds for one attempt, and the largest number of records that it declares.
SECONDS, MOST_RECORDS = 20.0, 32


def certified_alone(evidence: Sequence[Evidence]) -> bool:
    """Return whether there is a certificate of a mechanism but no proof of a program."""
    return any(isinstance(item, Certificate) for item in evidence) and not any(
        isinstance(item, ProgramProof) for item in evidence
    )


def program_files() -> list[str]:
    """Return the files of loaded modules outside Python, the harness and other installed packages."""
    installed = installed_folders()
    files = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    own = (f for f in files if f and not is_harness_file(f))
    return sorted(f for f in own if is_program_file(f) or not f.startswith(installed))


def why_unproved(audit: PrivacyAudit, run: Run) -> str:
    """Attempt to prove the audit's own program, and return a note on why there is no proof.

    Parameters
    ----------
    audit : PrivacyAudit
        The program, its claim and its data.
    run : Run
        The run, which determines the pairs of neighbours.

    Returns
    -------
    str
        A note that begins with "no proof of the program: ".
    """
    claim = audit.claim
    wanted = _followed_claim(claim)
    try:
        data = _declaration(audit, run)
        found = prove_values(audit.program, wanted, data=data, files=program_files(), seconds=SECONDS)
    except DpauditError as error:
        return f"{NO_PROOF}{error}"
    if found.verdict != "verified":
        return f"{NO_PROOF}{found.reason}"
    if wanted != claim:
        return f"{NO_PROOF}the program is proved for {found.scope}, but no proof can cover {claim.in_words()}"
    return (
        f"{NO_PROOF}one exists for {data.words}, but the row declares no such data (pass prove=Records(...))"
    )


def _followed_claim(claim: PrivacyClaim) -> Any:
    """Return the claim, or the nearest one that a proof can cover: events, everybody, ideal numbers."""
    if not provable(claim):
        return PureDP(epsilon=1, adjacency=claim.adjacency)
    return replace(
        claim,
        unit=Unit.EVENT,
        model=Model.IDEAL,
        participation="everybody",
    )


def _declaration(audit: PrivacyAudit, run: Run) -> declared.Records:
    """Return records that include the audit's data: its domain or more, in the shape of its first pair."""
    pairs = audit.neighbours(run)
    left = next(iter(pairs)).left
    shape = np.shape(left)
    width = shape[1] if len(shape) == 2 else None
    size = min(max(shape[0], 1), MOST_RECORDS) if shape else 1
    container: Any = "list" if isinstance(left, list) and width is None else "array"
    return declared.Records(_numbers(audit.domain), size=size, width=width, container=container)


def _numbers(domain: Any) -> Any:
    if isinstance(domain, domains.Interval) and domain.lower is not None and domain.upper is not None:
        return declared.Interval(domain.lower, domain.upper)
    if isinstance(domain, domains.Values):
        low, high = min(domain.values), max(domain.values)
        whole = all(value.denominator == 1 for value in domain.values)
        return declared.Integers(int(low), int(high)) if whole else declared.Interval(low, high)
    return declared.Anything()
