"""The summary that ends a pytest session: one line for each audit, and its warnings, without ``-v``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.suites import UNEXPECTED, VERIFIED, write_suite
from tests.pytest_plugin.test_plugin import session

WORKERS = pytest.mark.parametrize(
    "workers", [(), ("-p", "xdist.plugin", "-n2")], ids=["one process", "two workers"]
)
#: Each test, the first words of its line, its runs, and what the line or a warning below it must hold.
AUDITS = {
    "test_right": ("INCONCLUSIVE", "2,000", "would have detected epsilon >= "),
    "test_wrong": ("REFUTED", "", "this pair has epsilon 4, above"),
    "test_known": ("REFUTED", "", "epsilon > 1"),
    "test_short": ("NOT AUDITED", "0", "that requires 38,000 runs"),
    "test_cached": ("NOT AUDITED", "72", "not independent"),
    "test_pair": ("NOT AUDITED", "", "neighbours"),
    "test_hangs": ("NOT AUDITED", "", "timeout=0.5 seconds"),
    "test_forgets": ("NOT AUDITED", "", "must call assert_private"),
    "test_costly": ("INCONCLUSIVE", "400", "this pair has epsilon 1.1"),
    "test_elsewhere": ("INCONCLUSIVE", "2,000", "warning: not reproducible"),
}
FILE = """
import dpaudit, numpy, pytest
CLAIM, PAIRS = dpaudit.PureDP(epsilon=1), [([0, 1], [1, 1])]
def right(data, rng): return sum(data) + rng.laplace()
def wrong(data, rng): return sum(data) + rng.laplace(scale=0.25)
def cached(data, rng, known={}): return known.setdefault(tuple(data), sum(data) + rng.laplace())
def elsewhere(data, rng): return sum(data) + numpy.random.default_rng().laplace()
def test_right(assert_private): assert_private(right, CLAIM, neighbours=PAIRS, max_samples=2000)
def test_wrong(assert_private): assert_private(wrong, CLAIM, neighbours=PAIRS, max_samples=2000)
@pytest.mark.dpaudit_refuted
def test_known(assert_private): assert_private(wrong, CLAIM, neighbours=PAIRS, max_samples=2000)
def test_short(assert_private):
    assert_private(right, dpaudit.PureDP(epsilon=8), neighbours=PAIRS, max_samples=2000)
def test_cached(assert_private): assert_private(cached, CLAIM, neighbours=PAIRS, max_samples=2000)
def test_pair(assert_private): assert_private(right, CLAIM, neighbours=[([0, 0], [1, 1])], max_samples=2000)
def test_hangs(assert_private):
    def hangs(data, rng):
        while True: pass
    assert_private(hangs, CLAIM, neighbours=PAIRS, max_samples=2000, timeout=0.5)
def test_forgets(assert_private): pass
def test_costly(assert_private):
    assert_private(right, CLAIM, neighbours=[([0.0, 1], [1.1, 1])], max_samples=400)
def test_elsewhere(assert_private): assert_private(elsewhere, CLAIM, neighbours=PAIRS, max_samples=2000)
"""


def audits_of(output: str) -> dict[str, str]:
    """The lines of the summary, each with the warnings and notes below it."""
    section = output[output.index("dpaudit audits") :]
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines()[1:]:
        if match := re.match(r"\S+::(\w[\w-]*): ", line):
            name = match[1]
            assert name not in found, line
            found[name] = line
        elif line.startswith("    ") and name:
            found[name] += "\n" + line
        else:
            break
    return found


@WORKERS
def test_each_audit_has_one_line_and_its_warnings(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Each audit has one line with claim, runs and power or a reason, and its warnings, without -v."""
    (tmp_path / "test_it.py").write_text(FILE, encoding="utf-8")
    code, output = session(tmp_path, *workers)
    assert code == 1
    found = audits_of(output)
    assert found.keys() == AUDITS.keys()
    for name, (word, runs, held) in AUDITS.items():
        assert re.search(rf"::{name}: {word}\b", found[name]), found[name]
        assert f"{runs} runs, " in found[name] if runs else True, found[name]
        assert held in found[name], found[name]
    assert "    note: " not in "".join(found.values())


def test_other_notes_stand_in_the_summary_with_v(tmp_path: Path) -> None:
    """Notes that every inconclusive check has are shown with -v only, and warnings once."""
    (tmp_path / "test_it.py").write_text(FILE, encoding="utf-8")
    code, output = session(tmp_path, "-vrA", "-k", "costly or right")
    assert code == 0
    found = audits_of(output)
    assert found.keys() == {"test_right", "test_costly"}
    assert "    note: a privacy claim cannot be verified by sampling" in found["test_right"]
    assert found["test_costly"].count("recorded draws") == 1


OPEN = """
@suite.row("open", title="sampled", kind="utility", claim=CLAIM, expect="inconclusive")
def open_row(run):
    power = {"events": [{"probability": 0.5, "epsilon": 2.5}], "exclusive": 0.01}
    details = {"power": power}
    return Outcome([exactly(0.25, 1.5, details=details)], unmet=["no pair was named"],
                   notes=["recorded draws: one number feeds two outputs"])
"""
UNAUDITED = """
@suite.row("blind", title="sampled", kind="utility", claim=CLAIM, expect="inconclusive")
def blind(run):
    return Outcome([exactly(0.25, 1.5, details={"not_audited": "too few runs"})])
"""


@WORKERS
def test_rows_of_suites_have_one_line_each(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Rows of suites have one line with verdict, claim, runs, bounds or power, and unmet conditions."""
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED, UNEXPECTED, OPEN, UNAUDITED)
    code, output = session(tmp_path, "-o", "dpaudit_suites=audits/suite.py", "--dpaudit-suites", *workers)
    assert code == 1
    found = audits_of(output)
    assert len(found) == 4
    assert "::fine: VERIFIED: the error is at most 1, 10 runs, 0.25 ≤ error ≤ 0.5" in found["fine"]
    assert "would have detected epsilon >= 2.5" in found["open"]
    assert "warning: no pair was named" in found["open"]
    assert "warning: recorded draws: one number" in found["open"]
    assert re.search(r"::blind: CRASHED, expected inconclusive: .* NOT AUDITED: too few runs", found["blind"])
    [other] = [text for name, text in found.items() if name not in ("fine", "open", "blind")]
    assert ", expected " in other
