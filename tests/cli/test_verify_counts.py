"""The numbers that ``dpaudit verify`` ends with are counted from the lines above them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.forged import ROWS
from tests.cli.suites import by_id, invoke, run, write_suite

GAUSSIAN = """
@suite.row("gaussian", title="Gaussian noise", kind="privacy", claim=ApproxDP(epsilon=1, delta="1/2"))
def gaussian(run):
    from dpaudit.certify import build
    claim = ApproxDP(epsilon=1, delta="1/2")
    return Outcome([build.gaussian_mechanism(sensitivity=1, scale=1).certify(claim)])
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report with certificates of two tiers, witnesses and an estimate."""
    suite = write_suite(tmp_path_factory.mktemp("counts") / "suite.py", ROWS, GAUSSIAN)
    return json.dumps(run(suite)[1])


def verified(text: str, folder: Path) -> tuple[dict[str, int], Counter[str], int]:
    """The certificates by tier that the last lines name, the marks of all lines, and those confirmed."""
    file = folder / "report.json"
    file.write_text(text, encoding="utf-8")
    output = invoke("verify", "-v", file).stdout
    marks = Counter(line[0] for line in output.splitlines() if line[:1] in "✓✗·" and line.strip())
    tiers = {tier: int(count) for count, tier in re.findall(r"(\d+) by (T\d) \(", " ".join(output.split()))}
    match = re.search(r"(\d+) confirmed, (\d+) not", output)
    assert match
    assert (int(match[1]), int(match[2])) == (marks["✓"], marks["✗"])
    return tiers, marks, int(match[1])


def test_forged_certificates_are_not_counted(honest: str, tmp_path: Path) -> None:
    """Of their tiers one each is counted less, of the other as many, and fewer lines are confirmed."""
    tiers, marks, confirmed = verified(honest, tmp_path)
    report = json.loads(honest)
    parts = [part for result in report["results"] for part in (result, *result["cells"])]
    certificates = [item for part in parts for item in part["evidence"] if item["evidence"] == "certificate"]
    assert sum(tiers.values()) == len(certificates)
    assert (marks["✗"], tiers["T2"]) == (0, 1)
    for name in ("proved", "gaussian"):  # they claim less than their trees show
        by_id(report)[name]["evidence"][0]["bound"] = "1/1000"
    there, marks_there, confirmed_there = verified(json.dumps(report), tmp_path)
    assert there == {"T0": tiers["T0"] - 1}
    assert confirmed_there < confirmed
    assert marks_there["✗"] >= 2
