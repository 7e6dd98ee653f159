"""Test finite data and draws: exact ratios in closed form, and no verdict if something is not finite."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.distributions import Bernoulli, Laplace, RandomisedResponse
from dpaudit.kernel import claim_t0, finite_t0, kernel_t0
from dpaudit.kernel.ball import ball, lower_exact
from dpaudit.prover import OneReplaced, Symbols, prove
from dpaudit.prover.finite import exact_distributions, largest_ratio

BITS = {"low": 0, "high": 1, "integers": True}


def bits(coins: Any, data: Any) -> list[int]:
    """Show each bit, kept with probability 3/4."""
    return [bit if coins.draw(Bernoulli(p="3/4"), site="keep") else 1 - bit for bit in data]


def majority(coins: Any, data: Any) -> bool:
    """Show only the majority of the noisy bits."""
    noisy = [bit if coins.draw(Bernoulli(p="3/4"), site="keep") else 1 - bit for bit in data]
    return 2 * sum(noisy) > len(data)


def symbols(coins: Any, data: Any) -> None:
    """Show three values, each kept with probability 1/2, else replaced by one of the others with 1/4 each."""
    for value in data:
        coins.observe(RandomisedResponse(symbols=3, truth=value, keep="1/2"), site="sent")


def equal(coins: Any, data: Any) -> bool:
    """Show whether the first bit is 1, which no symbol can follow and which has no bound."""
    return data[0] == 1


def ratio(program: Any, data: Symbols) -> Any:
    distributions = exact_distributions(program, data)
    assert distributions is not None
    assert all(sum(distribution.values()) == 1 for distribution in distributions.values())
    found = largest_ratio(distributions, data, OneReplaced())
    assert found is not None
    return found[0]


def tail(count: int, need: int, p: Fraction) -> Fraction:
    """Return P(Binomial(count, p) >= need)."""
    return sum(
        (math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(max(need, 0), count + 1)),
        Fraction(0),
    )


def majority_ratio() -> Fraction:
    """Return the ratio by convolution: j of the four other bits are shown as ones, and the fifth bit is 1 or
    0."""
    keep, worst = Fraction(3, 4), Fraction(1)
    for j in range(5):
        distribution = [
            sum(
                (
                    (tail(j, a, keep) - tail(j, a + 1, keep))
                    * (tail(4 - j, n - a, 1 - keep) - tail(4 - j, n - a + 1, 1 - keep))
                    for a in range(n + 1)
                ),
                Fraction(0),
            )
            for n in range(5)
        ]
        yes = [sum(distribution[3:]) + p * distribution[2] for p in (keep, 1 - keep)]
        worst = max(worst, yes[0] / yes[1], (1 - yes[1]) / (1 - yes[0]))
    return worst


def test_the_ratios_are_exact() -> None:
    """The ratio is 3 for bits, 2 for three values, and the convolution of binomials for a majority of
    five."""
    assert ratio(bits, Symbols(3, **BITS)) == 3
    assert ratio(symbols, Symbols(2, low=0, high=2, integers=True)) == 2
    assert ratio(majority, Symbols(5, **BITS)) == majority_ratio() == Fraction(107, 53)


@pytest.mark.parametrize(
    ("program", "epsilon", "verdict"),
    [(bits, "11/10", "verified"), (bits, "109/100", "refuted"), (equal, "9", "refuted")],
)
def test_a_claim_is_compared_with_the_ratio(program: Any, epsilon: str, verdict: str) -> None:
    """Bits are verified above ln 3 = 1.0986 only, and a shown bit has no epsilon."""
    proof = prove(program, PureDP(epsilon=epsilon), data=Symbols(3, **BITS), adjacency=OneReplaced())
    assert proof.verdict == verdict
    assert proof.bound == math.inf or math.log(3) <= proof.bound <= math.log(3) + 1e-6


def test_noise_without_atoms_goes_to_the_symbols() -> None:
    """A Laplace release of bits is proved by shifts and has no exact distribution."""

    def program(coins: Any, data: Any) -> Any:
        return coins.release(data[0], Laplace(scale=1), site="r")

    data = Symbols(1, **BITS)
    assert exact_distributions(program, data) is None
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=OneReplaced())
    assert (proof.verdict, proof.bound) == ("verified", 1)


def certificate(program: Any, n: int = 2) -> dict[str, Any]:
    proof = prove(program, PureDP(epsilon="11/10"), data=Symbols(n, **BITS), adjacency=OneReplaced())
    assert proof.certificate is not None
    return json.loads(json.dumps(proof.certificate))


def test_the_file_that_checks_exact_distributions_runs_alone(tmp_path: Path) -> None:
    """The standalone checker derives ratio 3 and the stated bound."""
    script, file = tmp_path / "finite_t0.py", tmp_path / "certificate.json"
    for module in (finite_t0, claim_t0, kernel_t0):
        (tmp_path / Path(str(module.__file__)).name).write_text(Path(str(module.__file__)).read_text())
    file.write_text(json.dumps(certificate(bits)))
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "proves epsilon <= 11/10: largest ratio 3, " in done.stdout


def forgeries() -> dict[str, Any]:
    """Return forgeries of the certificate of two noisy bits, whose ratio is 3, with one change each."""

    def heavier(c: Any) -> None:
        next(node for node in c["trees"][0] if node[0] == "finite")[1][:] = ["1/2", "3/4"]

    def shows_more(c: Any) -> None:
        next(node for node in c["trees"][0] if node[0] == "show")[1] = "int:9"

    def circle(c: Any) -> None:
        c["trees"][0][0][-1] = [0, 0]

    return {
        "a smaller bound": lambda c: c.update(bound="1098/1000"),
        "a bound below 0": lambda c: c.update(bound="-1"),
        "a data set less": lambda c: c["trees"].pop(),
        "more data sets than trees": lambda c: c["data"].update(size=3),
        "no integers": lambda c: c["data"].update(integers=False),
        "neighbours that change by nothing": lambda c: c["adjacency"].update(by="0"),
        "neighbours of another kind": lambda c: c["adjacency"].update(kind="each-moves", one_way=False),
        "probabilities above 1": heavier,
        "an outcome of one side only": shows_more,
        "a circle": circle,
        "another kind": lambda c: c.update(proof="program, own regions"),
        "an inexact number": lambda c: c.update(bound=1.1),
    }


@pytest.mark.parametrize("change", forgeries().values(), ids=list(forgeries()))
def test_a_forged_certificate_is_refused(change: Any) -> None:
    """The checker refuses each forgery and accepts the unchanged certificate."""
    forged = certificate(bits)
    assert finite_t0.check(forged).holds
    change(forged)
    with pytest.raises(finite_t0.FiniteProofError):
        finite_t0.check(forged)


def test_exponentials_are_enclosed() -> None:
    """The exponentials of the checker enclose balls closely on both sides."""
    for power in (Fraction(0), Fraction(1, 3), Fraction(11, 10), Fraction(20)):
        below, above = (finite_t0.exponential(power, above=side) for side in (False, True))
        assert below <= lower_exact(ball(power).exp()) * (1 + Fraction(1, 10**9))
        assert lower_exact(ball(power).exp()) <= above <= below * (1 + Fraction(1, 10**20))


def test_both_verdicts_come_from_the_file() -> None:
    """One certificate proves epsilon 11/10 and refutes 109/100 (ln 3 = 1.0986...)."""
    held = certificate(bits)
    assert not finite_t0.check(held).refutes
    held["claim"]["epsilon"] = "109/100"
    assert (finite_t0.check(held).holds, finite_t0.check(held).refutes) == (False, True)
