"""Proofs of programs in a report: what they verify, in which scope, and that every forged one is refused."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certify.build import accounted, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.evidence import ProgramProof
from dpaudit.core.row_verdicts import is_accepted
from dpaudit.core.suite import Outcome
from dpaudit.distributions import Bernoulli, Laplace
from dpaudit.kernel import program_t0
from dpaudit.kernel.claim_t0 import ASSUMED, scope_in_words
from dpaudit.prover import EachMoves, OneReplaced, Symbols
from dpaudit.reference.mechanisms.sparse_vector_programs import sparse_vector
from dpaudit.run.finding import finding_of
from dpaudit.suite.program_proofs import Proving, Shape, evidence_of
from dpaudit.verify.result import verify_result
from tests.errors import raises

SVT = Proving(
    program=sparse_vector(threshold=2, query=4), epsilon=1, data=Symbols(3), adjacency=EachMoves(by=1)
)
UNIT = Symbols(3, low=0, high=1)
GENERAL = PureDP(epsilon=1)


def noisy_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Laplace(scale=1), site="sum")


SUM = Shape(data=UNIT, adjacency=OneReplaced())
MECHANISM = accounted(
    [Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))], declared="one noisy sum"
)


def result(claim: PureDP, evidence: list[Any], *, unmet: tuple[str, ...] = ()) -> dict[str, Any]:
    """A result as a report holds it, read back from its text."""
    found = finding_of(claim, Outcome(evidence, unmet=unmet), alpha=0.01)
    about = {"id": "row", "claim": claim.to_json(), "expect": "verified", "alpha": 0.01}
    whole = {**about, **found, "as_expected": found["verdict"] == "verified"}
    return dict(json.loads(json.dumps(whole)))


def svt() -> dict[str, Any]:
    return result(SVT.claim, list(SVT.outcome().evidence))


def a_sum(*, unmet: tuple[str, ...] = ()) -> dict[str, Any]:
    """A general claim: the accounted certificate, and a proof of the program for three records."""
    proof = evidence_of(noisy_sum, GENERAL, SUM).evidence
    return result(GENERAL, [MECHANISM.certify(GENERAL), *proof], unmet=unmet)


def refused(data: dict[str, Any]) -> list[str]:
    return [f"{item.what}: {item.reason}" for item in verify_result(data) if not item.ok]


def test_a_claim_of_one_size_is_verified_in_its_scope() -> None:
    """The verdict says for what; it is no proof for every size, which --require proved asks for."""
    data = svt()
    assert (data["verdict"], data["strength"]) == ("verified", "proved in scope")
    assert data["scope"] == "all data of N = 3 numbers, each moved by at most 1, all outcomes"
    assert not refused(data)
    assert is_accepted({**data, "kind": "privacy"}, require=None, accept=None)
    assert not is_accepted({**data, "kind": "privacy"}, require="proved", accept=None)


def test_a_consistent_claim_climbs_one_rung() -> None:
    """A proof for three records does not verify a claim about every size: it is the strength of a consistent
    row. The bound stays the certificate's; what is in the way stays in the way."""
    data = a_sum()
    assert (data["verdict"], data["strength"]) == ("consistent", "proved in scope")
    assert data["scope"] == "all data of N = 3 numbers in [0, 1], one record replaced, all outcomes"
    assert not refused(data)
    stopped = a_sum(unmet=("a line that no replay entered",))
    assert (stopped["verdict"], stopped["strength"]) == ("inconclusive", "none")
    assert "scope" not in stopped


def test_a_proof_at_one_size_alone_verifies_no_general_claim() -> None:
    """Nothing is said of four records by a proof for three."""
    data = result(GENERAL, list(evidence_of(noisy_sum, GENERAL, SUM).evidence))
    assert (data["verdict"], data["upper"]) == ("inconclusive", None)


def test_a_bound_above_the_claim_is_an_upper_bound_only() -> None:
    """3/2 for a claim of 1: inconclusive with the bound; with the witness beside it the claim is refuted."""
    wrong = Proving(
        program=sparse_vector(threshold=2, query=2), epsilon=1, data=Symbols(3), adjacency=EachMoves()
    )
    proof, witness = wrong.outcome().evidence
    data = result(wrong.claim, [proof])
    assert (data["verdict"], data["upper_exact"]) == ("inconclusive", "3/2")
    both = result(wrong.claim, [proof, witness])
    assert (both["verdict"], both["strength"], both["upper_exact"]) == ("refuted", "witness", "3/2")
    assert not refused(both)


@pytest.mark.parametrize(
    "change",
    [{"adjacency": "add-remove"}, {"unit": "user"}, {"adversary": "adaptive"}, {"participation": "half"}],
)
def test_another_claim_is_not_the_one_that_was_proved(change: dict[str, str]) -> None:
    """A proof about one replaced record, with data fixed in advance, is refused for another claim."""
    (proof,) = evidence_of(noisy_sum, GENERAL, SUM).evidence
    with raises(MechanismError, code="E-EVIDENCE-INVALID"):
        finding_of(PureDP(epsilon=1, **change), Outcome([proof]), alpha=0.01)


def test_a_proof_about_queries_needs_a_claim_with_their_domain() -> None:
    """A proof about changed query answers is refused for a claim with another domain."""
    (proof,) = SVT.outcome().evidence
    with raises(MechanismError, code="E-EVIDENCE-INVALID", match="domain"):
        finding_of(GENERAL, Outcome([proof]), alpha=0.01)


def _body(data: dict[str, Any]) -> dict[str, Any]:
    return dict(data)["evidence"][0]["body"]  # type: ignore[no-any-return]


def _another_program(data: dict[str, Any]) -> None:
    """The tree of the program with half the noise, under the shifts of the right one."""
    wrong = Proving(
        program=sparse_vector(threshold=2, query=2), epsilon=1, data=Symbols(3), adjacency=EachMoves()
    )
    proof = wrong.outcome().evidence[0]
    assert isinstance(proof, ProgramProof)
    _body(data)["tree"] = proof.body["tree"]


def _everywhere(data: dict[str, Any], **new: Any) -> None:
    data["claim"].update(new)


def _more_numbers(data: dict[str, Any]) -> None:
    """Scope, claim and size say 4, the tree is that for 3."""
    body = _body(data)
    body["data"]["size"] = 4
    words = scope_in_words(body["data"], body["adjacency"])
    data["evidence"][0]["scope"] = data["scope"] = data["claim"]["domain"] = words


def _moves_further(data: dict[str, Any]) -> None:
    body = _body(data)
    body["adjacency"]["by"] = "2"
    words = scope_in_words(body["data"], body["adjacency"])
    data["evidence"][0]["scope"] = data["scope"] = data["claim"]["domain"] = words


def _one_cell_less(data: dict[str, Any]) -> None:
    _body(data)["cells"].pop()


def _no_shift(data: dict[str, Any]) -> None:
    table = _body(data)["cells"][0]["shifts"]
    table.update({key: ["0"] * len(value) for key, value in table.items()})


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "the tree of another program": _another_program,
    "a lower bound": lambda data: data["evidence"][0].update(bound="1/2"),
    "every size": lambda data: data["evidence"][0].update(scope="all data of every size N"),
    "every size in the verdict": lambda data: data.update(scope="all data of every size N"),
    "no scope": lambda data: data.pop("scope"),
    "proved for every size": lambda data: data.update(strength="proved"),
    "records added": lambda data: _everywhere(data, adjacency="add-remove"),
    "users": lambda data: _everywhere(data, unit="user"),
    "a smaller claim": lambda data: data["claim"].update(epsilon=0.5, epsilon_exact="1/2"),
    "another domain": lambda data: data["claim"].update(domain="a real number in [0, 1]"),
    "a claim of the certificate": lambda data: _body(data)["claim"].update(epsilon="2"),
    "one more number": _more_numbers,
    "steps of 2": _moves_further,
    "one way only": lambda data: _body(data)["adjacency"].update(one_way=True),
    "bounded data": lambda data: _body(data)["data"].update(low="0", high="1"),
    "a cell left out": _one_cell_less,
    "noise that does not move": _no_shift,
    "less noise": lambda data: _body(data)["tree"][0].__setitem__(2, "1/2"),
    "a float": lambda data: _body(data)["tree"][0].__setitem__(2, 2.5),
    "no assumptions": lambda data: data["evidence"][0].update(assumptions=[]),
    "other distributions": lambda data: _body(data).update(proof="program, exact distributions"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_is_refused(name: str) -> None:
    """Each edit of an honest result is found; the words of the claim are made to fit it."""
    honest = svt()
    data = copy.deepcopy(honest)
    FORGED[name](data)
    assert data != honest, "nothing was forged"
    assert refused(data)


def keeps(truth: str) -> Proving:
    """Three bits, each kept with this probability, all shown."""

    def bits(coins: Any, data: Any) -> list[int]:
        return [bit if coins.draw(Bernoulli(p=truth), site="keep") else 1 - bit for bit in data]

    data = Symbols(3, low=0, high=1, integers=True)
    return Proving(program=bits, epsilon="11/10", data=data, adjacency=OneReplaced())


def shows_a_bit(coins: Any, data: Any) -> int:
    return int(data[0])


def of_finite(proving: Proving) -> dict[str, Any]:
    return result(proving.claim, list(proving.outcome().evidence))


def test_a_finite_program_is_verified_from_its_exact_distributions() -> None:
    """ln 3 = 1.0986: proved at 11/10 in the report's scope, by the file that adds up its trees."""
    data = of_finite(keeps("3/4"))
    assert (data["verdict"], data["strength"]) == ("verified", "proved in scope")
    assert data["upper"] == pytest.approx(math.log(3))
    assert not refused(data)
    assert any("by finite_t0" in item.reason for item in verify_result(data))


@pytest.mark.parametrize(
    ("proving", "lower"),
    [
        (keeps("4/5"), math.log(4)),
        (replace(keeps("4/5"), program=shows_a_bit), None),
    ],
    ids=["too little noise", "no noise"],
)
def test_a_finite_program_is_refuted_by_its_exact_distributions(
    proving: Proving, lower: float | None
) -> None:
    """By the ratio that two neighbours' trees attain, infinite where one cannot show what the other does."""
    data = of_finite(proving)
    assert (data["verdict"], data["strength"]) == ("refuted", "witness")
    assert data["lower"] > 1e300 if lower is None else data["lower"] == pytest.approx(lower)
    assert not refused(data)


FORGED_DISTRIBUTIONS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a lower bound": lambda item: item.update(bound="1"),
    "a tree left out": lambda item: item["body"]["trees"].pop(),
    "trees of other data": lambda item: item["body"]["trees"].insert(0, item["body"]["trees"].pop()),
    "another chance": lambda item: item["body"]["trees"][0][0].__setitem__(1, ["1/2", "1/2"]),
    "chances above 1": lambda item: item["body"]["trees"][0][0].__setitem__(1, ["3/4", "3/4"]),
    "more values": lambda item: item["body"]["data"].update(high="2"),
    "reals": lambda item: item["body"]["data"].update(integers=False),
    "fewer neighbours": lambda item: item["body"]["adjacency"].update(kind="each-moves", one_way=True),
    "another kind": lambda item: item["body"].update(proof="program, own regions"),
}


@pytest.mark.parametrize("name", FORGED_DISTRIBUTIONS)
def test_forged_exact_distributions_are_refused(name: str) -> None:
    """Each edit of an honest proof by exact distributions is found."""
    data = of_finite(keeps("3/4"))
    FORGED_DISTRIBUTIONS[name](data["evidence"][0])
    assert refused(data)


#: Edits that leave a witness of another program, or make its bound smaller.
LEFT = ("a lower bound", "another kind", "another chance", "trees of other data")
FORGED_RATIOS = {name: edit for name, edit in FORGED_DISTRIBUTIONS.items() if name not in LEFT}
FORGED_RATIOS |= {
    "a higher bound": lambda item: item.update(bound="7/5"),
    "an infinite one": lambda item: item.update(bound=None),
    "another field": lambda item: item["body"].update(note="more"),
}


@pytest.mark.parametrize("name", FORGED_RATIOS)
def test_forged_ratios_are_refused(name: str) -> None:
    """Each edit of an honest witness by exact distributions is found."""
    data = of_finite(keeps("4/5"))
    [item] = [piece for piece in data["evidence"] if piece["evidence"] == "witness"]
    before = copy.deepcopy(item)
    FORGED_RATIOS[name](item)
    assert item != before
    assert refused(data)


#: Edits of the verdict that a certificate has no part in.
OF_THE_VERDICT = ("every size in the verdict", "no scope", "proved for every size")


@pytest.mark.parametrize("name", [name for name in FORGED if name not in OF_THE_VERDICT])
def test_the_checker_alone_confirms_no_forged_proof(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof beside another claim, scope or bound than its own is not confirmed by the file alone either."""
    forged = svt()
    FORGED[name](forged)
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"results": [forged]}), "utf-8")
    assert program_t0.main([str(file)]) == 1
    assert not capsys.readouterr().out.startswith("proves")


def test_the_checker_alone_prints_what_it_proved(tmp_path: Path) -> None:
    """The scope, the claim by its fields, not by its sentence, and each assumption."""
    data = svt()
    data["claim"]["in_words"] = "perfect privacy"
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"results": [data]}), "utf-8")
    command = [sys.executable, "-I", "-S", str(program_t0.__file__), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert f"scope: {data['scope']}" in done.stdout
    assert "'epsilon_exact': '1'" in done.stdout
    assert "perfect" not in done.stdout
    for assumption in ASSUMED:
        assert assumption in done.stdout


def test_the_checker_reads_a_report_alone(tmp_path: Path) -> None:
    """Without the package: every proof of a program in a report; a forged one is refused."""
    file = tmp_path / "report.json"
    for data, code in ((svt(), 0), (a_sum(), 0)):
        file.write_text(json.dumps({"results": [data]}), "utf-8")
        done = subprocess.run(
            [sys.executable, "-I", str(program_t0.__file__), str(file)], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout[:6]) == (code, "proves"), done
    forged = svt()
    _no_shift(forged)
    file.write_text(json.dumps({"results": [forged]}), "utf-8")
    assert program_t0.main([str(file)]) == 1
    file.write_text('{"results": 3}', "utf-8")
    assert program_t0.main([str(file)]) == 2
