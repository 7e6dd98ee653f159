"""A small real report with a row of every kind, and the means to forge it: single edits, and rows whose
verdict and numbers are made anew, as a careful forger would, from evidence that is not the program's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import claim_from_json
from dpaudit.core.errors import DpauditError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.row_verdicts import as_expected
from dpaudit.core.suite import Cell, Outcome
from dpaudit.report.file.report import Report
from dpaudit.run.finding import finding_of
from dpaudit.run.plan import Plan, PlannedRow, Settings
from dpaudit.run.process import Pool
from dpaudit.verify import again as runner
from dpaudit.verify import report as verifier
from dpaudit.verify.again import compare_with_report
from dpaudit.verify.consistency import inconsistencies
from dpaudit.verify.findings import Finding
from dpaudit.verify.report import verify_results
from tests.cli.suites import by_id

__all__ = ["ROWS", "again", "confirmed", "leaves", "put", "remade", "remember_runs"]

ROWS = '''
suite.not_checkable("later", reason="a conjecture about all algorithms")
ONE = PureDP(epsilon=1, domain="0 or 1")
TABLE = (("less noise", "refuted"), ("as printed", "verified"))
CONTROLS = Controls(text="each broken program is refuted", cells=TABLE)

def proof(noise, claim, *declared):
    from dpaudit.certify import build
    if declared:
        from dpaudit.certify.sites import Site
        touched = Site("sum", mechanism=noise)
        noise = build.accounted([touched], declared=declared[0])
    return noise.certify(claim)

def laplace(scale):
    from dpaudit.certify import build
    return build.laplace_mechanism(sensitivity=1, scale=scale)

@suite.row("proved", title="Laplace noise of scale 1", kind="privacy", claim=ONE, source="Theorem 1")
def proved(run):
    """Derives the bound of the noise."""
    return Outcome([proof(laplace(1), ONE)], notes=["for all inputs"])

@suite.row("accounted", title="one noisy sum", kind="privacy", claim=ONE, expect="consistent")
def accounted(run):
    return Outcome([proof(laplace(2), ONE, "one sum")])

@suite.row("witness", title="noise that is too small", kind="privacy", claim=ONE, expect="refuted")
def too_small(run):
    return Outcome([witness(Fraction(3, 2))])

@suite.row("leak", title="an arm without noise", kind="privacy", claim=ONE, expect="refuted")
def arm(run):
    return Outcome([witness(None)])

@suite.row("sampled", title="the error by sampling", kind="utility", claim=CLAIM)
def sampled(run):
    plot = {"kind": "line", "title": "error", "x": [1, 2], "y": [0.5, 0.25]}
    return Outcome([exactly(0.25, 0.5, confidence=0.9999, seed=7, details={"grid": [1, 2]})], plots=[plot])

@suite.row("open", title="not settled", kind="privacy", claim=ONE, expect="inconclusive")
def unsettled(run):
    return Outcome([proof(laplace(1), ONE)], unmet=["a branch was not visited"])

@suite.row("settings", title="noisy sums", kind="privacy", claim=ONE, role="repaired")
def settings(run):
    half, total = PureDP(epsilon="1/2", domain="0 or 1"), Accounting(epsilon=1, declared="one sum")
    proved = [proof(laplace(1), total, "one sum")]
    under = Cell(name="sum", claim=total, evidence=proved, deciding=False, expect="consistent")
    pairs = ((1, ONE), (2, half))
    cells = [Cell(name=f"scale {s}", claim=c, evidence=[proof(laplace(s), c)]) for s, c in pairs]
    return Outcome([], cells=[*cells, under])

@suite.row("controls", title="a broken sum", kind="structure", claim=CONTROLS, role="control")
def controls(run):
    broken = Cell(name="less noise", claim=ONE, evidence=[witness(Fraction(3, 2))], expect="refuted")
    return Outcome([], cells=[broken, Cell(name="as printed", claim=ONE, evidence=[proof(laplace(1), ONE)])])

@suite.row("crashes", title="raises", kind="utility", claim=CLAIM)
def crashes(run):
    raise ValueError("on purpose")
'''


def again(text: str, folder: Path, suites: Sequence[Path] = (), pool: Pool | None = None) -> list[Finding]:
    """What ``verify`` finds, with ``--suite`` where suites are given; a file that is refused as a whole is
    one failed finding. The same steps as the command's, in this process; no program runs for a file that is
    refused without."""
    file = folder / "forged.json"
    file.write_text(text, encoding="utf-8")
    try:
        report = Report.read(file)
        findings = verify_results(report.document["results"], seconds_per_result=None)
        findings += inconsistencies(report)
        if suites and confirmed(findings):
            assert pool is not None
            paths = [str(path) for path in suites]
            findings += compare_with_report(report, paths, jobs=1, pool=pool)
    except DpauditError as error:
        return [Finding("report", False, "file", str(error))]
    return findings


def remember_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``--suite`` run each row once for each setting of it, and ``verify`` check each result once:
    neither the programs nor the rules change meanwhile."""
    plans: dict[str, Any] = {}
    results: dict[tuple[Any, ...], dict[str, Any]] = {}
    plan_run, execute = runner.plan_run, runner.execute

    def planned(paths: Sequence[str], settings: Settings, pool: Pool) -> Plan:
        key = repr((paths, settings))
        if key not in plans:
            plans[key] = plan_run(paths, settings, pool)
        return plans[key]

    def executed(rows: Sequence[PlannedRow], settings: Settings, pool: Pool) -> Iterator[tuple[Any, Any]]:
        keys = {row.key: (repr(settings), row.key, row.alpha, row.reproduce) for row in rows}
        for row, result in execute([row for row in rows if keys[row.key] not in results], settings, pool):
            results[keys[row.key]] = result
        for row in rows:
            yield row, results[keys[row.key]]

    checked: dict[str, list[Finding]] = {}
    verify_result = verifier.verify_result

    def verified(result: Any) -> list[Finding]:
        key = json.dumps(result)
        if key not in checked:
            checked[key] = verify_result(result)
        return checked[key]

    monkeypatch.setattr(verifier, "verify_result", verified)
    monkeypatch.setattr(runner, "plan_run", planned)
    monkeypatch.setattr(runner, "execute", executed)


def confirmed(findings: Sequence[Finding]) -> bool:
    return all(finding.ok for finding in findings)


def remade(report: dict[str, Any], row_id: str, **changes: Any) -> dict[str, Any]:
    """The row with other ``claim``, ``evidence``, ``unmet`` or ``cells`` (as JSON); verdict, strength,
    bounds and all that follows from them are made anew."""
    row = by_id(report)[row_id]
    row |= changes
    claim = claim_from_json(row["claim"])
    row["claim"] = json.loads(json.dumps(claim.to_json()))
    evidence = [evidence_from_json(item) for item in row["evidence"]]
    cells = [_cell(data) for data in row["cells"]]
    outcome = Outcome(evidence, row["notes"], row["obstacles"], row["plots"], row["samples"], cells)
    row |= json.loads(json.dumps(finding_of(claim, outcome, alpha=row["alpha"])))
    row["claimed"] = float(claim.bound) if claim.bound is not None else None
    row["as_expected"] = row["accepted"] = as_expected(row)
    return row


def _cell(data: dict[str, Any]) -> Cell:
    plain = {name: data[name] for name in ("name", "expect", "notes", "samples", "deciding")}
    evidence = [evidence_from_json(item) for item in data["evidence"]]
    return Cell(claim=claim_from_json(data["claim"]), evidence=evidence, unmet=data["obstacles"], **plain)


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values that are no objects or lists, and of all empty ones."""
    inner: Any = ()
    if isinstance(document, dict):
        inner = document.items()
    elif isinstance(document, list):
        inner = enumerate(document)
    if not inner or not document:
        yield path
    for key, value in inner:
        yield from leaves(value, (*path, key))


def put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    """Put ``value`` at ``path``."""
    for key in path[:-1]:
        document = document[key]
    document[path[-1]] = value
