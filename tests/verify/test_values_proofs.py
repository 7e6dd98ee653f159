"""Proofs of ordinary numpy functions in a report: verified again from the file, and every forged one refused.

A file alone cannot know which program a record is of. An edit that makes the record of another program is
found by ``verify --suite``.
"""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.errors import MechanismError
from dpaudit.core.evidence import ProgramProof
from dpaudit.core.row_verdicts import is_accepted
from dpaudit.core.suite import Outcome
from dpaudit.core.views import EVERYBODY_ELSE
from dpaudit.kernel import kernel_t0
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.program_claim import examine_program
from dpaudit.kernel.values import check as checker
from dpaudit.kernel.values.declaration import words_of
from dpaudit.run.finding import finding_of
from dpaudit.suite.program_proofs import Proving
from dpaudit.verify.result import verify_result
from tests.cli.suites import invoke, run
from tests.errors import raises

KERNEL = Path(kernel_t0.__file__).parent


def two_sums(data: Any, rng: Any) -> Any:
    clipped = np.clip(data, 0, 1)
    return clipped.sum() + rng.laplace(scale=2), clipped.sum() + rng.laplace(scale=2)


def counts(data: Any, rng: Any) -> Any:
    return np.bincount(data.astype(int), minlength=3) + rng.laplace(scale=1, size=3)


def above(data: Any, rng: Any) -> Any:
    threshold = rng.laplace(scale=4)
    for k in range(5):
        if data[:, k].sum() + rng.laplace(scale=8) > threshold:
            return k
    return -1


def normal_mean(data: Any, rng: Any) -> Any:
    return data.mean() + rng.normal(scale=1)


WIDE = Records(Interval(0, 10), size=6)
CASES = {
    "sums": Proving(program=two_sums, epsilon=1, data=WIDE),
    "range": Proving(program=normal_mean, rho="0.02", data=Records(Interval(0, 1), size=5)),
    "above": Proving(program=above, epsilon="1/2", data=Records(Interval(0, 1), width=5)),
    "delta": Proving(program=normal_mean, epsilon="1/10", delta="0.05", data=Records(Interval(0, 1), size=5)),
}
MADE: dict[str, dict[str, Any]] = {}


def result_of(proving: Proving, evidence: list[Any] | None = None) -> dict[str, Any]:
    """A result as a report holds it, read back from its text."""
    claim, made = proving.claim, proving.outcome().evidence if evidence is None else evidence
    found = finding_of(claim, Outcome(list(made)), alpha=0.01)
    about = {"id": "row", "claim": claim.to_json(), "expect": "verified", "alpha": 0.01}
    whole = {**about, **found, "as_expected": found["verdict"] == "verified"}
    return dict(json.loads(json.dumps(whole)))


def honest(name: str) -> dict[str, Any]:
    if name not in MADE:
        MADE[name] = result_of(CASES[name])
    return copy.deepcopy(MADE[name])


def refused(data: dict[str, Any]) -> list[str]:
    return [f"{item.what}: {item.reason}" for item in verify_result(data) if not item.ok]


def body_of(data: dict[str, Any]) -> dict[str, Any]:
    return dict(data)["evidence"][0]["body"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_an_honest_proof_is_confirmed(name: str) -> None:
    """Its verdict is for the declared data, which --require proved does not accept."""
    data = honest(name)
    assert (data["verdict"], data["strength"]) == ("verified", "proved in scope")
    assert data["scope"] == CASES[name].scope
    assert not refused(data)
    assert is_accepted({**data, "kind": "privacy"}, require="accounted", accept=None)
    assert not is_accepted({**data, "kind": "privacy"}, require="proved", accept=None)
    assert any("by values.check" in item.reason for item in verify_result(data))


def test_the_exact_bound_is_printed_where_it_is_above_the_claim() -> None:
    """1 / 0.7 is rounded: the derived bound is a fraction near 7/10."""

    def rounded(data: Any, rng: Any) -> Any:
        return data.sum() + rng.laplace(scale=1 / 0.9)

    proving = Proving(program=rounded, epsilon="0.9", data=Records(Interval(0, 1), size=6))
    data = result_of(proving)
    bound = data["evidence"][0]["bound"]
    assert data["verdict"] == "verified"
    assert bound != "9/10"
    assert any(f"exactly {bound}" in item.reason for item in verify_result(data))
    assert data["upper_exact"] == bound


@pytest.mark.parametrize(
    "change",
    [{"adjacency": "add-remove"}, {"unit": "user"}, {"view": EVERYBODY_ELSE}, {"participation": "half"}],
    ids=str,
)
def test_another_claim_is_not_the_one_that_was_proved(change: dict[str, Any]) -> None:
    """A proof is refused for a claim with another adjacency, unit, view or participation."""
    (proof,) = CASES["sums"].outcome().evidence
    with raises(MechanismError, code="E-EVIDENCE-INVALID"):
        finding_of(PureDP(epsilon=1, **change), Outcome([proof]), alpha=0.01)  # type: ignore[arg-type]


def _everywhere(data: dict[str, Any], *, steps: bool = True, **changes: Any) -> None:
    """Change the declaration of the data, its words, the scopes and the domain of the claim, and (``steps``)
    what the record reads."""
    body = body_of(data)
    for key, value in changes.items():
        (body["adjacency"] if key in ("kind", "group") else body["data"])[key] = value
    column = body["data"]["columns"][0]
    count = body["data"]["size"]
    if count is None or body["adjacency"]["kind"] == "add-remove":
        count = {"N": [["1", 1]]}
    for op, _, params in body["nodes"]:
        if op == "data" and steps:
            shape = [count] if column["width"] is None else [count, column["width"]]
            params.update({k: v for k, v in column.items() if k != "width"} | {"shape": shape})
    words = words_of(body["data"], body["adjacency"]["group"])
    body["data"]["words"] = data["evidence"][0]["scope"] = data["scope"] = data["claim"]["domain"] = words


def _domain(data: dict[str, Any], **ends: Any) -> None:
    body_of(data)["data"]["columns"][0].update(ends)
    _everywhere(data)


def _users(data: dict[str, Any]) -> None:
    data["claim"]["unit"] = "user"
    _everywhere(data, group=2)


def _nodes(data: dict[str, Any], op: str) -> list[dict[str, Any]]:
    return [params for name, _, params in body_of(data)["nodes"] if name == op]


def _first_shift(data: dict[str, Any], value: str) -> None:
    cell = next(cell for cell in body_of(data)["cells"] if "shifts" in cell)
    key = next(key for key, shifts in cell["shifts"].items() if any(shift != "0" for shift in shifts))
    cell["shifts"][key] = [value] * len(cell["shifts"][key])


def _evidence(data: dict[str, Any], **new: Any) -> None:
    data["evidence"][0].update(new)


def _less_noise(data: dict[str, Any]) -> None:
    for draw in body_of(data)["draws"]:
        draw[1] = ["number", "1"]


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "a smaller claim": ("sums", lambda data: data["claim"].update(epsilon=0.5, epsilon_exact="1/2")),
    "a smaller rho": ("range", lambda data: data["claim"].update(rho=0.01, rho_exact="1/100")),
    "a smaller delta": ("delta", lambda data: data["claim"].update(delta=0.01, delta_exact="1/100")),
    "another epsilon": ("delta", lambda data: data["claim"].update(epsilon=0.05, epsilon_exact="1/20")),
    "a lower bound": ("sums", lambda data: _evidence(data, bound="1/2")),
    "a slightly lower bound": ("sums", lambda data: _evidence(data, bound="999999999999/1000000000000")),
    "a lower delta": ("delta", lambda data: _evidence(data, bound="1/1000")),
    "records added": ("sums", lambda data: data["claim"].update(adjacency="add-remove")),
    "nulls": ("sums", lambda data: data["claim"].update(adjacency="zero-out")),
    "users": ("sums", lambda data: data["claim"].update(unit="user")),
    "the server": ("sums", lambda data: data["claim"]["view"].update(principals=["server"])),
    "floats": ("sums", lambda data: data["claim"].update(model="as_run")),
    "everybody else": (
        "sums",
        lambda data: data["claim"].update(view=EVERYBODY_ELSE.to_json()),
    ),
    "another quantity": ("sums", lambda data: _evidence(data, quantity="rho")),
    "another type": ("sums", lambda data: data["claim"].update(type="renyi-dp")),
    "another scope": ("sums", lambda data: _evidence(data, scope="all data")),
    "another domain": ("sums", lambda data: data["claim"].update(domain="all data")),
    "the scope of the verdict": ("sums", lambda data: data.update(scope="all data")),
    "other words": ("sums", lambda data: body_of(data)["data"].update(words="all data")),
    "other words everywhere": (
        "sums",
        lambda data: (
            body_of(data)["data"].update(words="all data"),
            data["evidence"][0].update(scope="all data"),
            data.update(scope="all data"),
            data["claim"].update(domain="all data"),
        ),
    ),
    "a wider declaration": ("range", lambda data: body_of(data)["data"]["columns"][0].update(high="2")),
    "a wider record": ("range", lambda data: _nodes(data, "data")[0].update(high="2")),
    "a narrower record": ("range", lambda data: _nodes(data, "data")[0].update(high="1/2")),
    "a wider domain": ("range", lambda data: _domain(data, high="2")),
    "a domain in other digits": ("range", lambda data: _domain(data, high="2/2")),
    "an empty domain": ("range", lambda data: _domain(data, low="2")),
    "whole numbers": ("range", lambda data: body_of(data)["data"]["columns"][0].update(kind="i")),
    "truth values that are not": ("sums", lambda data: _domain(data, kind="b")),
    "a ball": ("range", lambda data: _domain(data, ball=["2", "1"])),
    "no ends": ("range", lambda data: _domain(data, low=None, high=None)),
    "fewer records": ("range", lambda data: _everywhere(data, size=2, steps=False)),
    "every size": ("range", lambda data: _everywhere(data, size=None, steps=False)),
    "every size in the declaration": ("sums", lambda data: body_of(data)["data"].update(size=None)),
    "a least number": ("sums", lambda data: _everywhere(data, at_least=9)),
    "two of one user": ("sums", _users),
    "a group for events": ("sums", lambda data: _everywhere(data, group=2)),
    "a list": ("sums", lambda data: body_of(data)["data"].update(container="list")),
    "a table": ("sums", lambda data: _everywhere(data, container="table")),
    "another column": (
        "sums",
        lambda data: body_of(data)["data"]["columns"].append(body_of(data)["data"]["columns"][0]),
    ),
    "no column": ("sums", lambda data: body_of(data)["data"].update(columns=[])),
    "an unknown adjacency": ("sums", lambda data: _everywhere(data, kind="none")),
    "other clipping": ("sums", lambda data: _nodes(data, "const")[-1].update(values=["3"])),
    "another sum": ("sums", lambda data: _nodes(data, "sum")[0].update(axes=[])),
    "an unknown step": ("sums", lambda data: body_of(data)["nodes"][-1].__setitem__(0, "free")),
    "a step of later ones": ("sums", lambda data: body_of(data)["nodes"][1].__setitem__(1, [9])),
    "less noise": ("sums", _less_noise),
    "a smaller factor": ("sums", lambda data: body_of(data)["releases"][0].update(factor="1/2")),
    "another distribution": ("sums", lambda data: body_of(data)["releases"][0].update(law="gaussian")),
    "a draw that serves twice": ("sums", lambda data: body_of(data)["releases"][1].update(draw=0)),
    "no draw": ("sums", lambda data: body_of(data)["releases"][0].update(draw=None)),
    "no releases": ("sums", lambda data: body_of(data).update(releases=[])),
    "no cells": ("sums", lambda data: body_of(data).update(cells=[])),
    "a cell left out": ("above", lambda data: body_of(data)["cells"].pop()),
    "a cell twice": ("above", lambda data: body_of(data)["cells"].append(body_of(data)["cells"][0])),
    "noise that does not move": ("above", lambda data: _first_shift(data, "0")),
    "noise that moves further": ("above", lambda data: _first_shift(data, "100")),
    "no shifts": ("above", lambda data: [cell.pop("shifts") for cell in body_of(data)["cells"]]),
    "less hidden noise": ("above", _less_noise),
    "no tree": ("above", lambda data: body_of(data).update(tree=[])),
    "a branch left out": ("above", lambda data: body_of(data)["tree"].pop()),
    "no assumptions": ("sums", lambda data: _evidence(data, assumptions=[])),
    "one assumption less": ("sums", lambda data: data["evidence"][0]["assumptions"].pop()),
    "other assumptions": ("sums", lambda data: data["evidence"][0]["assumptions"].append("none")),
    "another kind": ("sums", lambda data: body_of(data).update(proof="program, own regions")),
    "a claim inside": ("sums", lambda data: body_of(data).update(claim={"epsilon": "2"})),
    "a part that is missing": ("sums", lambda data: body_of(data).pop("draws")),
    "a float": ("sums", lambda data: body_of(data)["draws"][0].__setitem__(1, ["number", 2.0])),
    "a number too long to write": (
        "sums",
        lambda data: body_of(data)["draws"][0].__setitem__(1, ["number", "1e99999999"]),
    ),
    "a step counted from the end": (
        "sums",
        lambda data: body_of(data)["releases"][0].update(
            node=body_of(data)["releases"][0]["node"] - len(body_of(data)["nodes"])
        ),
    ),
    "a truth value for a step": ("sums", lambda data: body_of(data)["releases"][0].update(node=True)),
    "a step that is not there": ("sums", lambda data: body_of(data)["releases"][0].update(node=-99)),
    "another kind of a constant": ("sums", lambda data: _nodes(data, "const")[0].update(kind="x")),
    "a number for a truth value": ("sums", lambda data: _nodes(data, "const")[0].update(python=0)),
    "proved for all": ("sums", lambda data: data.update(strength="proved")),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_is_refused(name: str) -> None:
    """Each edit of an honest result is found, the words of the claim made to fit it."""
    case, edit = FORGED[name]
    data = honest(case)
    edit(data)
    assert data != honest(case), "nothing was forged"
    assert refused(data)


#: Edits of the verdict and of words that a certificate has no part in, and claims that the file alone lacks.
OF_THE_VERDICT = ("the scope of the verdict", "proved for all", "another domain")
OF_A_DELTA = ("a smaller delta", "another epsilon", "a lower delta")


@pytest.mark.parametrize("name", [name for name in FORGED if name not in OF_THE_VERDICT])
def test_the_checker_alone_confirms_no_forged_proof(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither does ``python -m dpaudit.kernel.values.check``, which prints what it proves."""
    case, edit = FORGED[name]
    data = honest(case)
    edit(data)
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"results": [{"cells": [], **data}]}))
    assert checker.main([str(file)]) == 1
    assert not capsys.readouterr().out.startswith("proves")


def test_the_checker_runs_alone(tmp_path: Path) -> None:
    """From a copy of its folder, with the standard library only: 0 for a proof, 1 for a delta, 2no file."""
    folder = tmp_path / "dpaudit" / "kernel"
    shutil.copytree(KERNEL / "values", folder / "values", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__", "kernel_t0", "claim_t0", "program_t0"):
        shutil.copy(KERNEL / f"{name}.py", folder)
    (tmp_path / "dpaudit" / "__init__.py").write_text("")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        "from dpaudit.kernel.values.check import main; sys.exit(main(sys.argv[1:]))"
    )
    file = tmp_path / "report.json"
    for case, expected, words in (("sums", 0, "proves epsilon <= 1"), ("delta", 1, "needs tier T2")):
        file.write_text(json.dumps({"results": [{"cells": [], **honest(case)}]}))
        command = [sys.executable, "-I", "-S", "-c", code, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (expected, "")
        assert words in done.stdout
    file.write_text(json.dumps(body_of(honest("above"))))
    assert checker.main([str(file)]) == 0
    file.write_text("{")
    assert checker.main([str(file)]) == 2
    assert checker.main([]) == 2


def test_a_record_of_less_noise_never_has_the_old_bound() -> None:
    """Scaling any draw down by k scales the least bound that is confirmed up by k."""
    (proof,) = CASES["sums"].outcome().evidence
    assert isinstance(proof, ProgramProof)
    for k in (1, 2, 5):
        written = json.loads(json.dumps(proof.to_json()))
        for draw in written["body"]["draws"]:
            draw[1] = ["number", f"2/{k}" if k > 1 else "2"]
        for bound, holds in ((k, True), (k - Fraction(1, 1000), False)):
            claim = PureDP(epsilon=9).to_json()
            stated = {**written, "bound": str(bound)}
            if holds:
                assert examine_program(stated, claim).bound == k
            else:
                with pytest.raises(CertificateError, match="claims too much"):
                    examine_program(stated, claim)


SUITE = '''
import numpy as np
from dpaudit import Records, Suite
from dpaudit.core.data import Interval
from dpaudit.suite.program_proofs import Proving, proved
from dpaudit.core.suite import Group

rows = Group("Proofs")


def two_sums(data, rng):
    clipped = np.clip(data, 0, 1)
    return clipped.sum() + rng.laplace(scale=2), clipped.sum() + rng.laplace(scale=2)


@proved(rows, "sums", "here")
def sums():
    """Two sums are private"""
    return Proving(program=two_sums, epsilon=1, data=Records(Interval(0, 10), size=6))


@proved(rows, "removed", "here")
def removed():
    """They are if a record is removed"""
    return Proving(program=two_sums, epsilon=1, data=Records(Interval(0, 10)), adjacency="add-remove")


@proved(rows, "tight", "here", expect="inconclusive")
def tight():
    """They are not at a half"""
    return Proving(program=two_sums, epsilon="1/2", data=Records(Interval(0, 10), size=6))


suite = Suite(paper="values", title="Proofs of numpy functions")
suite.include(rows)
'''


def _one_release(row: dict[str, Any]) -> None:
    """The record of a program that shows one sum and raises then."""
    tree = body_of(row)["tree"]
    number = next(k for k, node in enumerate(tree) if node[:2] == ["show", "release 1"])
    tree[number] = ["show", "raised ValueError: no", tree[number][2]]


def _narrower_clip(row: dict[str, Any]) -> None:
    next(params for params in _nodes(row, "const") if params["values"] == ["1"])["values"] = ["1/2"]


def _every_size(row: dict[str, Any]) -> None:
    """The sums of any number of records are released with the same noise."""
    _everywhere(row, size=None)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A suite, the report of its run, and the report's text."""
    folder = tmp_path_factory.mktemp("values")
    suite, report = folder / "suite.py", folder / "report.json"
    suite.write_text(SUITE, encoding="utf-8")
    code, _ = run(suite, report=report)
    assert code.exit_code == 0, code.output
    return suite, report, report.read_text("utf-8")


def test_a_suite_is_verified_from_the_file_and_by_running_it_again(made: tuple[Path, Path, str]) -> None:
    """Three rows: two proved in their scope, one with a bound above the claim; all formats show them."""
    suite, report, text = made
    report.write_text(text, encoding="utf-8")
    results = {row["id"]: row for row in json.loads(text)["results"]}
    assert {name: row["verdict"] for name, row in results.items()} == {
        "sums": "verified",
        "removed": "verified",
        "tight": "inconclusive",
    }
    assert results["tight"]["upper_exact"] == "1"
    assert results["sums"]["scope"] == "numbers in [0, 10], 6 records"
    assert results["removed"]["claim"]["adjacency"] == "add-remove"
    assert invoke("verify", "-v", report).exit_code == 0
    again = invoke("verify", "-v", report, "--suite", suite)
    assert again.exit_code == 0, again.output
    assert again.output.count("run again: the same evidence") == 3
    assert invoke("report", report, "--html", report.with_suffix(".html")).exit_code == 0
    page = report.with_suffix(".html").read_text("utf-8")
    assert "numbers in [0, 10], 6 records" in page
    assert "recorded steps" in page
    assert "part in 10^9" in page


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("edit", "bound"),
    [(_one_release, "1/2"), (_narrower_clip, "1/2"), (_every_size, "1")],
    ids=["release", "clip", "every size"],
)
def test_the_record_of_another_program_is_found_by_running_it_again(
    made: tuple[Path, Path, str], edit: Callable[[dict[str, Any]], None], bound: str
) -> None:
    """The file alone confirms what the record derives and no less; the program has another record."""
    suite, report, text = made
    whole = json.loads(text)
    row = next(row for row in whole["results"] if row["id"] == "sums")
    edit(row)
    report.write_text(json.dumps(whole), encoding="utf-8")
    assert invoke("verify", "-v", report).exit_code == 0
    again = invoke("verify", "-v", report, "--suite", suite)
    assert again.exit_code == 1
    assert "sums run again: different " in " ".join(again.output.split())
    found = examine_program(row["evidence"][0], row["claim"])
    assert str(found.bound) == bound
    with pytest.raises(CertificateError):
        examine_program({**row["evidence"][0], "bound": "49/100"}, row["claim"])
