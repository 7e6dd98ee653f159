"""Rows cite places that their paper has, and rows that quote the print hold the print's constants."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpaudit.core.suite import Row
from tests.papers.statements import STATEMENTS

KINDS = (
    "Theorem|Corollary|Lemma|Proposition|Remark|Claim|Fact|Observation|Definition|Assumption|Algorithm|Figure|"
    "Table|Section|Footnote"
)
NUMBER = r"(?:[A-Z]\.\d+|\d+\.\d+|\d+|[A-Z])(?:\.\d+)*"
#: "Theorems 3.2 and B.1", "Lemma A.4", "Theorem 5.1 = C.3", "Figures 1, 2 and 12".
CITED = re.compile(
    rf"\b({KINDS}|footnote|Corollarie|Appendix|appendix|Appendice|App\.)s?\s+"
    rf"({NUMBER}\b(?:(?:,\s+|\s+and\s+|\s+to\s+|\s+=\s+){NUMBER}\b)*)"
)
#: Places without a kind or number in this pattern: equations, the abstract, the introduction.
OTHER = re.compile(r"\(\d+\)|\b[Aa]bstract\b|\b[Ii]ntroduction\b")
#: What a row says about other papers: text in parentheses, "Claim 3.9 of Dwork", what follows their names.
FOREIGN = re.compile(rf"\([^()]*[a-z]{{3}}[^()]*\)|\b(?:{KINDS})\s+{NUMBER}\s+of [A-Z][a-z]+|quoting [^;]*")
#: How other words for a kind are counted.
SAME = {"Corollarie": "Corollary", "footnote": "Footnote"} | dict.fromkeys(
    ("Appendice", "Appendix", "appendix", "App."), "Section"
)

#: Rows of the papers for which every citation is checked. The sections of the other papers are not listed.
WHOLE = ("concurrent_shuffle", "shuffle_linear_bandits")


def rows_of(paper: str) -> list[Row]:
    return list(importlib.import_module(f"audits.{paper}.suite").suite.rows)


def own(source: str) -> str:
    """The source without what it says about other papers."""
    return FOREIGN.sub(" ", source)


def cited(source: str) -> Iterator[tuple[str, str]]:
    """Kind and number of each place that a source cites."""
    for found in CITED.finditer(own(source)):
        for number in re.findall(NUMBER, found[2]):
            yield SAME.get(found[1], found[1]), number


@pytest.mark.parametrize("paper", sorted(set(STATEMENTS)))
def test_cited_statements_exist_with_this_kind(paper: str) -> None:
    """ "Lemma A.6" is wrong if the paper calls it Claim A.6."""
    known = STATEMENTS[paper]
    wrong = {
        row.id: f"{kind} {number}"
        for row in rows_of(paper)
        for kind, number in cited(row.source)
        if kind in known and number not in known[kind]
    }
    assert wrong == {}


@pytest.mark.parametrize("paper", WHOLE)
def test_quoting_rows_name_a_place_of_the_paper(paper: str) -> None:
    """A row of role printed or step cites a numbered statement, an equation, a section or a footnote."""
    vague = [
        row.id
        for row in rows_of(paper)
        if row.role in ("printed", "step") and not (any(cited(row.source)) or OTHER.search(own(row.source)))
    ]
    assert vague == []


def test_the_search_finds_wrong_kinds() -> None:
    """Kinds and numbers are read off plurals, lists and equalities; other papers' are not."""
    assert list(cited("Lemmas 3.9 and A.4; Theorem 5.1 = C.3")) == [
        ("Lemma", "3.9"),
        ("Lemma", "A.4"),
        ("Theorem", "5.1"),
        ("Theorem", "C.3"),
    ]
    assert list(cited("Theorem E.2 (Dwork and Roth, Corollary 3.21)")) == [("Theorem", "E.2")]
    assert list(cited("Algorithm 3; Claim 3.9 of Dwork and Roth (2014)")) == [("Algorithm", "3")]
    assert list(cited("Corollaries 3.3 and 3.5, Appendix C.3")) == [
        ("Corollary", "3.3"),
        ("Corollary", "3.5"),
        ("Section", "C.3"),
    ]
    assert "A.6" not in STATEMENTS["shuffle_linear_bandits"]["Lemma"]


#: Row -> constants, logarithms and conditions of the print that its words must hold.
PRINTED = {
    "concurrent_shuffle": {
        "TKMS23-T3.2alpha": ["sqrt(V) (sqrt(log(1/β) log n) + log n)"],
        "TKMS23-T3.2alpha/one-time": ["exceeds sqrt(log(1/β) + log n) sqrt(V log n)", "β/n"],
        "TKMS23-T3.2var": ["O(V log n)"],
        "TKMS23-T3.4": ["sqrt(V) sqrt(k) n^{1/(2k+1)} sqrt(log(1/β) + log n)", "ε < 1"],
        "TKMS23-T3.4var": ["O(V k n^{2/(2k+1)})"],
        "TKMS23-C3.3bin": ["(sqrt(log(log n/δ))/ε) (sqrt(log(1/β)) log^{1.5} n + log² n)"],
        "TKMS23-C3.3vec": ["(log(d log n/δ)/ε) (sqrt(log(1/β)) log^{1.5} n + log² n)"],
        "TKMS23-C3.3/variance": ["log(d log n/δ)² log² n/ε²"],
        "TKMS23-C3.3/variance/bits": ["log(log n/δ) log² n/ε²"],
        "TKMS23-C3.5/variance": ["log(dk/δ)² k²/ε²", "k n^{2/(2k+1)}"],
        "TKMS23-C3.5/variance/bits": ["log(k/δ) k²/ε²"],
        "TKMS23-LB.2-B.3": ["[e^{-2ε}, e^{2ε}]", "2δ/min(ε, 1)"],
        "TKMS23-LB.3/step": ["2δ/min(ε, 1)"],
        "TKMS23-LB.4": ["200²", "a >= β >= 2^{-b Var}", "c √(Var log(a/β))"],
        "TKMS23-LB.6/count": ["at least n/Big - 1"],
        "TKMS23-LBP": ["(β₀/2)(1 - 2nδk/min(ε, 1))", "40 n (k + 1)"],
        "TKMS23-LBP/given-prefix": ["min(ε, 1)/(40 n (k + 1))"],
        "TKMS23-LB0": ["n/4 - 1"],
        "TKMS23-C3n": ["σ̃ √d = λ/2"],
        "TKMS23-C2Q": ["3λ/2", "λ/2", "√(λ/2)"],
        "TKMS23-T5.1r": ["k^(3/4) n^((k+1)/(2k+1))/√ε)(σ + d)"],
    },
    "shuffle_linear_bandits": {
        "CZ22-B.1s1": ["4 sqrt(2 log(2.5/δ₀))/ε₀"],
        "CZ22-B.1s2": ["ε₀ = ε sqrt(B/log(2/δ)), δ₀ = δ/B, δ' = δ/2"],
        "CZ22-B.3/privacy": ["4 sqrt(2 log(2.5/δ₀))/ε₀"],
        "CZ22-C.1p/both": ["(ε, δ)-SDP each are together (ε, δ)-SDP"],
        "CZ22-C.3": ["g = max(d, 4)", "up to 15", "below 1/2"],
        "CZ22-C.3s1": ["variance 1"],
        "CZ22-C.3s2": ["variance B b/4"],
        "CZ22-E.2": ["ε = ε'/(2 sqrt(2k log(1/δ')))", "(ε', kδ + δ')-DP", "ε' < 1"],
        "CZ22-E.2/use": ["ε_m = ε/(2 sqrt(2M log(2/δ)))", "δ_m = δ/(2M)"],
        "CZ22-E.3s": ["16 log(2/δ) sqrt(T log(5T/δ))/(εB)"],
        "CZ22-E.5s": ["(ε/(2 sqrt(2M log(2/δ))), δ/(2M))", "24·10⁴", "10⁷"],
        "CZ22-S6c": ["sqrt(B) + log(1/δ)/ε²"],
        "CZ22-A.6": ["dB/(2 log 2) log(1 + T/(d λ_min))"],
        "CZ22-R_Vec/range": ["[0, Δ]"],
        "CZ22-D.5": ["(kε, k e^((k-1)ε) δ)-JDP"],
        "CZ22-F.2": ["B = T^(3/4)"],
        "CZ22-F.4": ["B = T^(1/2)"],
    },
}


@pytest.mark.parametrize("paper", sorted(PRINTED))
def test_rows_that_quote_hold_the_printed_constants(paper: str) -> None:
    """Title and text of a printed row or step hold the constants of the print."""
    rows = {row.id: row for row in rows_of(paper)}
    for id, wanted in PRINTED[paper].items():
        row = rows[id]
        assert row.role in ("printed", "step"), id
        words = " ".join(f"{row.title} {row.evaluate.__doc__ or ''} {getattr(row.claim, 'text', '')}".split())
        for constant in wanted:
            assert constant in words, (id, constant)


@pytest.mark.parametrize("paper", WHOLE)
def test_repairs_stand_beside_what_they_repair(paper: str) -> None:
    """A repair names a row of the print, or a what-if, that does not hold or stays open."""
    rows = {row.id: row for row in rows_of(paper)}
    for row in rows.values():
        for name in row.repairs:
            assert rows[name].expect in ("refuted", "inconclusive"), (row.id, name)
            assert rows[name].role in ("printed", "step", "what-if"), (row.id, name)


def test_the_page_of_findings_counts_the_false_steps_of_concurrent_shuffling() -> None:
    """ "No main claim is refuted", and four steps of proofs are."""
    false = [row for row in rows_of("concurrent_shuffle") if row.expect == "refuted"]
    page = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    assert not [row.id for row in false if row.role in ("printed", "sharper", "repaired")]
    assert len([row for row in false if row.role == "step"]) == 4
    assert "Four steps of its proofs are false as printed" in page
