"""The benchmark of power counts what it says, on its quickest case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import power
from dpaudit import GaussianDP

QUICK = power.Case("half the noise", GaussianDP(1), 1.0, 2.0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One case, few runs."""
    monkeypatch.setattr(power, "CASES", [QUICK])
    monkeypatch.setattr(power, "MAX_SAMPLES", 2000)


def test_the_command_writes_runs_and_the_null_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two seeds and four null audits: the figures of the file are those of the functions."""
    file = tmp_path / "power.json"
    assert power.main(["--seeds", "2", "--audits", "4", "--json", str(file)]) == 0
    document = json.loads(file.read_text())
    runs = sorted(power.runs_to_refute(0, seed) for seed in (0, 1))
    (case,) = document["cases"]
    assert case["refuted"] == 2
    assert runs[0] <= case["median"] <= case["ninth_decile"] <= runs[1]
    assert document["null"]["refuted"] == sum(power.null_audit(0, k) for k in range(4))
    assert "half the noise: 2 of 2 refuted" in capsys.readouterr().out


def test_false_refutations_fail_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """With wrong noise in place of the right one, the null audits reject, and the exit code is 1."""
    wrong = power.Case("wrong", GaussianDP("0.2"), 3.0, 1.0)
    monkeypatch.setattr(power, "CASES", [wrong])
    monkeypatch.setattr(power, "measure", lambda *args, **options: [])
    assert power.main(["--audits", "8"]) == 1
