"""Audits of a library: findings, what-ifs, coverage, errors, and the command."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit import Interval, PureDP, Records, Stability, audit_library
from dpaudit.core.errors import InvalidParameterError
from tests.cli.suites import invoke
from tests.errors import raises

DATA = Records(Interval(0, 1), size=3)
ONE = PureDP(epsilon=1)


def right(data: Any, rng: np.random.Generator) -> float:
    return float(np.clip(data, 0, 1).sum() + rng.laplace())


def half(data: Any, rng: np.random.Generator) -> float:
    return float(np.clip(data, 0, 1).sum() + rng.laplace(0, 0.5))


def broken(data: Any, rng: np.random.Generator) -> float:
    raise RuntimeError("broken")


def strict(data: Any, rng: np.random.Generator) -> float:
    if not np.all(np.isfinite(np.asarray(data, dtype=float))):
        raise ValueError("not finite")
    return right(data, rng)


def test_a_crash_loses_no_other_result_and_a_violation_has_words() -> None:
    """A broken, a wrong and a right mechanism, and a wrong sensitivity."""
    audit = audit_library(
        {
            "broken": (broken, ONE, DATA),
            "half": (half, ONE, DATA),
            "right": (right, ONE, DATA),
            "sum": (
                lambda data: float(np.sum(data)),
                Stability(1, "1/2", "absolute"),
                Records(Interval(0, 1)),
            ),
            "no subject": 7,
        },
        what_if=False,
        max_samples=6000,
    )
    assert [item.name for item in audit.violations] == ["half", "sum"]
    first = audit.violations[0]
    assert first.event
    assert "test_library.py, line" in first.source
    assert "times the claimed" in first.repair
    assert {name for name, _ in audit.not_covered} == {"broken", "no subject"}
    assert audit.exit_code == 1


def test_values_outside_the_declared_data_refute_no_claim() -> None:
    """NaN passes the clamp: a what-if. A mechanism that raises on it is not accused."""
    audit = audit_library({"clamped": (right, ONE, DATA), "strict": (strict, ONE, DATA)}, max_samples=4000)
    assert not audit.violations
    assert audit.exit_code == 0
    found = {(item.name, item.severity) for item in audit.findings}
    assert found == {("clamped", "outside the declared data")}
    assert any("nan (raises)" in tried for name, tried in audit.covered if name == "strict")


def test_private_under_one_adjacency_only_is_a_what_if() -> None:
    """Bounds that are not around 0: a replaced record moves the sum further than a record added."""
    data = Records(Interval(-1, 1))

    def total(data: Any, rng: np.random.Generator) -> float:
        return float(np.clip(data, -1, 1).sum() + rng.laplace())

    audit = audit_library({"sum": (total, PureDP(epsilon=1, adjacency="add-remove"), data)}, max_samples=8000)
    assert not audit.violations
    assert "other adjacency" in {item.severity for item in audit.findings}


def interrupting(data: Any, rng: np.random.Generator) -> float:
    raise KeyboardInterrupt


def test_nothing_audited_is_no_success() -> None:
    """Exit code 3 if a mechanism could not be checked; the time limit is said."""
    assert audit_library({"broken": (broken, ONE, DATA)}).exit_code == 3
    both = {"broken": (broken, ONE, DATA), "sum": (lambda data: len(data), Stability(1, 1, "absolute"), DATA)}
    assert audit_library(both).exit_code == 3
    stopped = audit_library({"first": (interrupting, ONE, DATA), "second": (right, ONE, DATA)})
    assert [name for name, _ in stopped.not_covered] == ["first", "second"]
    assert stopped.exit_code == 3
    late = audit_library({"right": (right, ONE, DATA)}, seconds=1e-9)
    assert late.exit_code == 3
    assert "time limit" in late.not_covered[0][1]
    for wrong, code in (({}, "E-LIBRARY-OBJECTS"), ([right], "E-LIBRARY-OBJECTS")):
        with raises(InvalidParameterError, code=code):
            audit_library(wrong)  # type: ignore[arg-type]
    with raises(InvalidParameterError, code="E-SECONDS-RANGE"):
        audit_library({"right": (right, ONE, DATA)}, seconds=-math.pi)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with a dict of mechanisms: exit code 1 with the finding, 2 for what is missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "listed_mechanisms.py").write_text(
        "from dpaudit import Interval, PureDP, Records\n"
        "def raw(data, rng):\n    return float(sum(data))\n"
        "MECHANISMS = {'raw': (raw, PureDP(epsilon=1), Records(Interval(0, 1), size=2))}\n",
        encoding="utf-8",
    )
    done = invoke("audit-library", "listed_mechanisms")
    assert done.exit_code == 1, done.output
    assert "VIOLATION: raw" in done.stdout
    assert invoke("audit-library", "listed_mechanisms:OTHER").exit_code == 2
    assert invoke("audit-library", "no_such_package").exit_code == 2
