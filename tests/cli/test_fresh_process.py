"""Randomness outside the coins shows as a difference between processes, and crashes the row (rule 2 of the
design).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.suites import by_id, run, write_suite

ROWS = """
LOADED = random.random()

def add(name, fingerprint):
    def evaluate(run):
        return Outcome([exactly(0, 0.5)])
    about = dict(id=name, title=name, kind="utility", claim=CLAIM)
    suite.add(Row(evaluate=evaluate, fingerprint=fingerprint, **about))

def killed_elsewhere(seed):
    if os.environ["PYTHONHASHSEED"] != "0":
        os._exit(9)
    return "here"

def raises_elsewhere(seed):
    if os.environ["PYTHONHASHSEED"] != "0":
        raise RuntimeError("not twice")
    return "here"

add("seeded", lambda seed: str(np.random.default_rng(seed).random()))
add("killed-elsewhere", killed_elsewhere)
add("global-random", lambda seed: str(random.random()))
add("global-numpy", lambda seed: str(np.random.random()))
add("hash-order", lambda seed: str(hash("a string")))
add("set-order", lambda seed: "".join({"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}))
add("fresh-generator", lambda seed: str(np.random.default_rng().random()))
add("clock", lambda seed: str(time.perf_counter_ns()))
add("process", lambda seed: str(os.getpid()))
add("at-import", lambda seed: str(LOADED))
add("raises-elsewhere", raises_elsewhere)
add("raises", lambda seed: 1 / 0)
add("no-string", lambda seed: 3)
add("none", None)
add("seeded-too", lambda seed: str(seed))
"""

DIFFERENT = {
    "global-random",
    "global-numpy",
    "hash-order",
    "set-order",
    "fresh-generator",
    "clock",
    "process",
    "at-import",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    suite = write_suite(tmp_path_factory.mktemp("fresh") / "suite.py", ROWS)
    result, report = run(suite, "--jobs", 2)
    assert result.exit_code == 3
    return report


def test_every_kind_of_outside_randomness_is_found(report: dict[str, Any]) -> None:
    """Global generators, hash order, clocks, process ids and draws at import time each crash their row."""
    rows = by_id(report)
    found = {
        name for name, row in rows.items() if any("randomness outside coins" in r for r in row["reasons"])
    }
    assert found == DIFFERENT
    assert {rows[name]["verdict"] for name in DIFFERENT} == {"crashed"}


def test_programs_that_use_their_seed_alone_pass(report: dict[str, Any]) -> None:
    """No false alarm: a fingerprint from the seed, or none at all, leaves the verdict alone."""
    rows = by_id(report)
    assert {rows[name]["verdict"] for name in ("seeded", "seeded-too", "none")} == {"verified"}


def test_a_fingerprint_that_fails_crashes_its_row_alone(report: dict[str, Any]) -> None:
    """A fingerprint that raises, kills its process or is no string crashes the row, with the reason."""
    rows = by_id(report)
    for name, reason in {
        "raises": "ZeroDivisionError",
        "no-string": "a fingerprint must be a string, got int",
        "raises-elsewhere": "in a fresh process: RuntimeError: not twice",
        "killed-elsewhere": "a fingerprint ended its process with exit code 9",
    }.items():
        assert rows[name]["verdict"] == "crashed"
        assert reason in rows[name]["reasons"][0], name
