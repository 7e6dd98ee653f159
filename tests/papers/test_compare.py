"""The comparison of protocols: its costs by a second route, its page, its plays."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy.stats import norm

from audits.glm_bandits.printed_parameters import ShuffleParameters
from benchmarks import compare
from benchmarks.compare_arms import arm_protocols, batch_cost, equal_parameter, vector_protocols
from benchmarks.compare_concurrent import concurrent_protocols, sum_protocols
from benchmarks.compare_glm import beyond
from benchmarks.compare_linear import Instance, linear_protocols
from benchmarks.compare_protocols import (
    OPEN,
    Cost,
    Line,
    Protocol,
    gaussian_cost,
    gaussian_std,
    least_refuted,
    measured,
)
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel.ball import ball, lower_exact
from dpaudit.report.markdown import BEGIN, END, escape

PAGE = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
#: The page is of either form, and says which by its captions.
SIZES = compare.QUICK if f"T = {2**compare.QUICK.arms_exponent}" in PAGE else compare.FULL
SMALL = Instance(horizon=64, large=16)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The known curve of the Gaussian mechanism, in floats."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@cache
def printed_protocols() -> dict[str, list[Protocol]]:
    return compare.protocols_of(SIZES)


def shown_rows() -> list[list[str]]:
    """The lines of the page's tables, cell by cell."""
    made = PAGE[PAGE.index(BEGIN) : PAGE.index(END)].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in made if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("protocol", "---")]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (OPEN, "open"),
        (Cost(0.0, 0.31201), "at most 0.313"),
        (Cost(1.4999999, 1.5), "1.5"),
        (Cost(0.00135, 0.0017), "0.00135 to 0.0017"),
        (Cost(2.1119, math.inf), "at least 2.11"),
    ],
)
def test_a_cost_is_rounded_outwards(cost: Cost, text: str) -> None:
    """The lower end down and the upper end up; bounds that agree are one number."""
    assert str(cost) == text


@pytest.mark.parametrize("mu", ["1/2", "1", "3"])
def test_gaussian_costs_are_those_of_the_known_curve(mu: str) -> None:
    """At the cost delta is at most 1e-6, a hundredth below it is not; and the recalibrated noise costs 1."""
    value = Fraction(mu)
    found = gaussian_cost(value**2)
    assert gaussian_delta(float(value), found) <= 1e-6 < gaussian_delta(float(value), 0.99 * found)
    std = gaussian_std(float(value) ** 2)
    assert gaussian_delta(float(value) / std, 1) <= 1e-6 < gaussian_delta(float(value) / (0.999 * std), 1)


def test_the_renyi_variant_costs_what_a_gaussian_near_it_does() -> None:
    """Skellam noise of variance (g/ε)² against a change of g is near the Gaussian mechanism with mu = ε; the
    largest ε for (1, 1e-6) is enough and the next one is not."""
    assert batch_cost("dist_rdp_se", Fraction(1), 64) == pytest.approx(gaussian_cost(Fraction(1)), rel=0.01)
    found = equal_parameter("dist_rdp_se", 64)
    assert batch_cost("dist_rdp_se", found, 64) <= 1 < batch_cost("dist_rdp_se", found + Fraction(1, 100), 64)
    assert gaussian_cost(found**2) == pytest.approx(1, rel=0.05)


def test_the_concentrated_variant_by_hand() -> None:
    """ρ = 1/2 costs 1/2 + 2 sqrt(log(10⁶)/2), ξ being far below a float's precision at s = 10."""
    by_hand = 0.5 + 2 * math.sqrt(0.5 * math.log(1e6))
    assert batch_cost("dist_cdp_se", Fraction(1), 64) == pytest.approx(by_hand, rel=1e-12)


def test_the_page_has_every_protocol_and_what_it_is() -> None:
    """Names, trust, claims and notes of the page's tables are those of the command, in its order, under its
    captions; nothing is missing in a line but what its note explains."""
    found = [p for group in printed_protocols().values() for p in group]
    rows = shown_rows()
    assert [[row[0], row[1], row[2], row[6]] for row in rows] == [
        [*map(escape, (f"{p.name} ({p.paper})", p.trust, p.claim, p.note))] for p in found
    ]
    assert all(f"**{escape(caption)}**" in PAGE for caption in printed_protocols())
    for row, protocol in zip(rows, found, strict=True):
        assert (row[4] == "–") == (protocol.printed is None)
        assert (row[5] == "–") == (protocol.equal is None)


SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])
#: What takes no more than a second each.
CHEAP = ("P_Vec", "Central", "Local", "concurrent LinUCB", "Algorithm", "B = 8", "k = 1", "every batch")


def test_the_cheap_costs_of_the_page_are_computed_again() -> None:
    """The true ε of every linear, generalized linear and some other lines is what comes out now. Tails of
    binomial distributions of 2^53 trials are good enough to find a lower bound from SciPy 1.17 on: before, a
    line may have its upper bound alone, which says less and nothing else."""
    shown = {row[0]: row[3] for row in shown_rows()}
    checked = 0
    for caption, group in printed_protocols().items():
        if not caption.startswith(("Linear", "Generalized")):
            continue
        for p in group:
            if p.cost is not None and any(word in p.name for word in CHEAP):
                on_page, now = shown[escape(f"{p.name} ({p.paper})")], escape(str(p.cost()))
                less = now.replace("at most", "to")
                assert on_page == now or (SCIPY < (1, 17) and on_page.endswith(less)), p.name
                checked += 1
    assert checked >= 11


def test_a_line_without_numbers_says_why() -> None:
    """A protocol that claims something and cannot be played needs a note, and a claim needs a cost."""
    with pytest.raises(InvalidParameterError, match="must have a note"):
        Protocol(family="f", name="n", paper="p", trust="t", claim="(1, 1e-6)", cost=lambda: OPEN)
    with pytest.raises(InvalidParameterError, match="must have a cost"):
        Protocol(family="f", name="n", paper="p", trust="t", claim="(1, 1e-6)", note="words")


def test_the_first_batch_of_algorithm_1_is_beyond_the_horizon() -> None:
    """The number in its note is B_1 of (6) by the balls of the audit."""
    at = SIZES.glm
    own = ShuffleParameters(
        T=at.horizon,
        d=at.dim,
        M=3,
        S=Fraction(2),
        kappa=ball(Fraction(at.environment.kappa)),
        kappa_star=ball(Fraction(at.environment.kappa_star)),
        epsilon=Fraction(1),
        delta=Fraction(1, 10**6),
    )
    first = float(lower_exact(own.batches()[0]))
    [note] = [p.note for p in printed_protocols_of("Algorithm 1 (shuffle)")]
    assert float(note.split()[-2]) == pytest.approx(first, rel=0.05)
    assert first > 100 * at.horizon


def test_a_claim_that_is_refuted_elsewhere_says_where() -> None:
    """The least κ* of Algorithm 2's refutation is 1/μ'(6) at S = 12, of Algorithm 1's 1/μ' at 7/10 of RS =
    33/2, R = 10, both above this instance's; at a κ* of their own the line is refused, as is an open row."""
    [line] = [p for p in printed_protocols_of("Algorithm 2 (joint)") if "O()" in p.name]
    assert f"κ* = {math.exp(6) + 2 + math.exp(-6):.0f} on" in line.note
    score = 0.7 * 16.5
    [line] = printed_protocols_of("Algorithm 1 (shuffle)")
    assert f"κ* = {(math.exp(score) + 2 + math.exp(-score)) / 100:.0f} on" in line.note
    with pytest.raises(CertificateError, match="state its bounds here"):
        beyond("SAR-T6.2p", 406.0)
    with pytest.raises(CertificateError, match="must be refuted in some setting"):
        least_refuted("glm_bandits", "SAR-S.1", "kappa*")


def printed_protocols_of(name: str) -> list[Protocol]:
    return [p for group in printed_protocols().values() for p in group if p.name.startswith(name)]


def lines_again() -> dict[str, list[Line]]:
    groups = {
        "arms": [p for p in arm_protocols(64) if p.name in ("UCB1", "DP-SE", "LDP-SE")],
        "vectors": vector_protocols(64)[:1],
        "linear": [p for p in linear_protocols(SMALL) if "P_Vec, B = 16" in p.name or p.paper == "baseline"],
        "concurrent": [
            replace(p, equal=None, note="too slow here") for p in concurrent_protocols(SMALL, [1])
        ],
        "sums": sum_protocols(6)[:1],
    }
    costless = {
        key: [replace(p, cost=lambda: Cost(0.5, 1.0)) if p.claim else p for p in group]
        for key, group in groups.items()
    }
    return {key: measured(group, runs=2, seed=5) for key, group in costless.items()}


@cache
def quick_lines() -> dict[str, list[Line]]:
    return lines_again()


def test_the_files_hold_every_run(tmp_path: Path) -> None:
    """A line for each run and each protocol; tables and figures of every family; one seed, one result."""
    found = quick_lines()
    compare.write(tmp_path, found)
    lines = (tmp_path / "lines.csv").read_text(encoding="utf-8").splitlines()
    protocols = [line.protocol for group in found.values() for line in group]
    assert len(lines) == 1 + len(protocols)
    plays = sum((p.printed is not None) + (p.equal is not None) for p in protocols)
    assert len((tmp_path / "runs.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * plays
    assert (tmp_path / "compare.html").read_text(encoding="utf-8").count("<svg") == len(
        found
    ) - 1  # one family has no bar
    assert compare.tables(found) == compare.tables(lines_again())


def test_the_same_noise_gives_the_same_runs_on_the_same_instances() -> None:
    """DP-SE needs no other noise, so that both columns are one; random arms have the regret of the instances
    that LinUCB plays, by hand."""
    found = {line.protocol.name: line for group in quick_lines().values() for line in group}
    same = found["DP-SE"]
    assert same.printed is not None
    assert same.equal is not None
    assert np.array_equal(same.printed.values, same.equal.values)
    score = found["arms at random"].printed
    assert score is not None
    key = [5, *b"linear contextual bandits"]
    means = SMALL.arms(2, np.random.SeedSequence(key)).means
    assert score.values == pytest.approx([64 * (row.max() - row.mean()) for row in means])


def test_costs_come_before_runs_and_files_as_they_come(tmp_path: Path) -> None:
    """Every cost is told before the first run; an error in the last cost is met before anything is played;
    after each protocol's runs the files hold its line."""
    happened: list[str] = []

    def protocol(name: str, known: Cost | None) -> Protocol:
        def cost() -> Cost:
            happened.append(f"cost {name}")
            if known is None:
                raise InvalidParameterError("the row is missing; name another.")
            return known

        def play(runs: int, seeds: object) -> np.ndarray:
            happened.append(f"play {name}")
            return np.arange(runs, dtype=np.float64)

        return Protocol(
            family="f",
            name=name,
            paper="p",
            trust="all",
            claim="(1, 0)",
            cost=cost,
            printed=play,
            equal=play,
        )

    def lines_so_far(found: dict[str, list[Line]]) -> None:
        compare.write(tmp_path, found)
        runs = (tmp_path / "runs.csv").read_text().splitlines()[1:]
        happened.append(f"file with {len(runs)} runs")

    good = {"one": [protocol("a", Cost(0.5, 1.0))], "two": [protocol("b", Cost(1.0, 1.0))]}
    told: list[str] = []
    found = compare.compared(good, runs=3, progress=told.append, made=lines_so_far)
    plays = [["play a", "play a", "file with 6 runs"], ["play b", "play b", "file with 12 runs"]]
    assert happened[:3] == ["cost a", "cost b", "file with 0 runs"]
    assert happened[3:] == [*plays[0], *plays[1]]
    assert [line.split("  ")[0] for line in told] == ["cost 1/2", "cost 2/2", "runs 1/2", "runs 2/2"]
    assert [line.equal.mean for lines in found.values() for line in lines if line.equal] == [1.0, 1.0]
    happened.clear()
    with pytest.raises(InvalidParameterError, match="the row is missing"):
        compare.compared(good | {"three": [protocol("c", None)]}, runs=3)
    assert happened == ["cost a", "cost b", "cost c"]
