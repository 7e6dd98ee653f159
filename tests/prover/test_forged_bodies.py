"""Test that handmade certificates and witnesses with false statements are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certify.witnesses.program_event import program_event_bound
from dpaudit.core.claims import PureDP
from dpaudit.kernel import program_t0, ray_t0, step_t0
from dpaudit.kernel.check import CertificateError
from dpaudit.kernel.claim_t0 import scope_in_words

DATA = {"size": 1, "width": None, "low": None, "high": None, "integers": True}
MOVES = {"kind": "each-moves", "by": "1", "one_way": False}
#: True where 1/5 + n <= x <= 4/5 - n and n >= 0, which no integer x meets: the program always shows False.
NEVER = [
    ["draw", "laplace", "10", 1],
    ["compare", {"n0": "-10"}, False, 2, 7],
    ["compare", {"x0": "-5", "n0": "5", "": "1"}, False, 3, 9],
    ["compare", {"x0": "5", "n0": "5", "": "-4"}, False, 4, 11],
    *(["show", "bool:True", 5], ["end"], ["end"]),
    *(["show", "bool:False", 8], ["end"], ["show", "bool:False", 10], ["end"], ["show", "bool:False", 12]),
    ["end"],
]


@pytest.mark.parametrize(
    ("start", "point"),
    [
        ({}, {"x0": "1/2", "n0": "1/10"}),
        ({}, {"n0": "1/10"}),
        ({"x0": "0"}, {"n0": "1/10"}),
        ({"x0": "1/2"}, {"n0": "1/10"}),
    ],
    ids=["data among the noise", "no data", "an integer", "no integer"],
)
def test_an_outcome_that_no_data_give_is_no_witness(start: dict[str, str], point: dict[str, str]) -> None:
    """A ray from any start is refused if its outcome has probability 0 at all integers."""
    claim = PureDP(epsilon=1, domain=scope_in_words(DATA, MOVES))
    body = {
        "view": claim.to_json()["view"],
        "data": DATA,
        "adjacency": MOVES,
        "tree": NEVER,
        "kind": "ray",
        "paths": [0],
        "start": start,
        "change": {"x0": "1"},
        "point": point,
        "weights": [[{"0": "1/2", "2": "1"}, []]],
        "infinite": True,
    }
    with pytest.raises(CertificateError, match="the witness of the program"):
        program_event_bound(body, claim)


def test_a_branch_where_noise_meets_what_was_shown_is_no_null_set() -> None:
    """Equality with a shown number is not a null set, because the public value may be that number."""
    step = [
        ["draw", "laplace", "1", 1],
        ["form", {"n0": "1", "x0": "1"}, 2],
        ["compare", {"x0": "1", "n0": "1", "p0": "-1"}, False, 3, 6],
        ["compare", {"x0": "-1", "n0": "-1", "p0": "1"}, False, 4, 5],
        *(["empty", {"0": "1", "1": "1"}], ["end"], ["end"]),
    ]
    moved = [[[None, [move]], [None, [move]]] for move in ("0", "1", "-1")]
    run = {"nodes": [[0, 0, {}, "1"]], "start": [[0, []]], "moves": [moved], "exits": [[[None, []]]]}
    certificate: dict[str, Any] = {
        "proof": "program, generic step",
        "claim": {"epsilon": "1"},
        "data": {"size": "every", "width": None, "low": "0", "high": "1", "integers": False},
        "adjacency": {"kind": "one-replaced", "by": "1", "at_most": False},
        "apart": False,
        "before": [["goto", 0, {}]],
        "states": [{"symbols": [], "step": step, "exit": [["end"]]}],
        "runs": [run],
    }
    with pytest.raises(step_t0.StepProofError, match="pruned branch prove nothing"):
        step_t0.check(certificate)
    step[2], step[3] = (
        ["compare", {"x0": "1", "n0": "1"}, False, 3, 6],
        ["compare", {"x0": "-1", "n0": "-1"}, False, 4, 5],
    )
    assert step_t0.check(certificate).epsilon == 1  # with a constant, it is a null set


def test_a_key_that_stands_twice_is_no_certificate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certificate with a key twice is refused, because two readers could read different values."""
    file = tmp_path / "ray.json"
    file.write_text('{"claim": {"epsilon": "3"}, "claim": {"epsilon": "1/2"}}', encoding="utf-8")
    assert ray_t0.main([str(file)]) == 1
    assert "unique" in capsys.readouterr().out


def test_a_report_without_a_proof_proves_nothing(tmp_path: Path) -> None:
    """A report without a proof has exit code 1."""
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"results": []}), encoding="utf-8")
    assert program_t0.main([str(file)]) == 1
