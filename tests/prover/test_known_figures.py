"""Test programs of known epsilon: the prover finds it, and the checker agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest

from dpaudit.core.claims import PureDP
from dpaudit.distributions import Exponential, Laplace
from dpaudit.kernel import claim_t0, kernel_t0, program_t0
from dpaudit.prover import EachMoves, OneReplaced, Symbols, prove

ANY, ONE_WAY = EachMoves(), EachMoves(one_way=True)


def sparse_vector(threshold: Any, query: Any, *, stop_after: int | None = 1, show: str = "answer") -> Any:
    """Return the sparse vector technique. ``query`` None means no noise on the queries."""

    def program(coins: Any, data: Any) -> list[Any]:
        level = coins.draw(Laplace(scale=threshold), site="threshold")
        shown, count = [], 0
        for q in data:
            value = q if query is None else q + coins.draw(Laplace(scale=query), site="query")
            if value >= level:
                shown.append({"answer": True, "gap": value - level, "value": value}[show])
                count += 1
                if count == stop_after:
                    break
            else:
                shown.append(False)
        return shown

    return program


def noisy_max(scale: Any, *, value: bool = False, one_sided: bool = False) -> Any:
    """Return the program that shows the position of the largest noisy query, and its value if ``value``."""

    def program(coins: Any, data: Any) -> Any:
        best, position = None, 0
        for i, q in enumerate(data):
            distribution = Exponential(scale=scale) if one_sided else Laplace(scale=scale)
            noisy = q + coins.draw(distribution, site="query")
            if best is None or noisy > best:
                best, position = noisy, i
        return (position, best) if value else position

    return program


def prefix_sums(scale: Any) -> Any:
    """Release every prefix sum with fresh noise."""

    def program(coins: Any, data: Any) -> list[Any]:
        total, shown = 0, []
        for x in data:
            total = total + x
            shown.append(coins.release(total, Laplace(scale=scale), site="sum"))
        return shown

    return program


CASES: list[tuple[str, Callable[..., Any], int, Any, Any]] = [
    ("SVT 2, 4", sparse_vector(2, 4), 4, ANY, 1),
    ("SVT 2, 4 at 8", sparse_vector(2, 4), 8, ANY, 1),
    ("SVT 2, 8, two answers", sparse_vector(2, 8, stop_after=2), 4, ANY, Fraction(1, 2)),
    ("SVT 2, 2, one way", sparse_vector(2, 2), 4, ONE_WAY, 1),
    ("GapSVT", sparse_vector(2, 4, show="gap"), 4, ANY, 1),
    ("SVT showing the noisy query", sparse_vector(2, 4, show="value"), 8, ANY, 2),
    ("SVT 4, 4/3", sparse_vector(4, Fraction(4, 3)), 4, ANY, Fraction(7, 4)),
    ("SVT without query noise", sparse_vector(2, None), 4, ANY, inf),
    ("SVT 2, 2 without cut-off", sparse_vector(2, 2, stop_after=None), 4, ANY, 2),
    ("noisy max 2", noisy_max(2), 4, ANY, 1),
    ("noisy max 1, one way", noisy_max(1), 4, ONE_WAY, 1),
    ("noisy max 1, any way", noisy_max(1), 4, ANY, 2),
    ("noisy max with its value", noisy_max(2, value=True), 4, ANY, 2),
    ("noisy max, one-sided 2", noisy_max(2, one_sided=True), 4, ANY, 1),
    ("noisy max, one-sided 1", noisy_max(1, one_sided=True), 4, ANY, 2),
    ("noisy max, one-sided 1, one way", noisy_max(1, one_sided=True), 4, ONE_WAY, 1),
    ("prefix sums", prefix_sums(1), 4, OneReplaced(by=1), 4),
]


@pytest.mark.parametrize(
    ("program", "size", "adjacency", "known"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_the_known_epsilon_is_proved(program: Any, size: int, adjacency: Any, known: Any) -> None:
    """The bound is exactly the known epsilon, and a claim is verified unless it is below."""
    for epsilon in (Fraction(1), Fraction(99, 100)):
        proof = prove(program, PureDP(epsilon=epsilon), data=Symbols(size), adjacency=adjacency)
        assert proof.bound == known
        assert (proof.verdict == "verified") == (known <= epsilon)
        if known != inf:
            assert program_t0.check(proof.certificate).epsilon == known


def test_the_checker_runs_alone(tmp_path: Path) -> None:
    """The standalone checker exits with 0 for a proof, 1 for a forged one, 2 without a file."""
    proof = prove(noisy_max(2), PureDP(epsilon=1), data=Symbols(3), adjacency=ANY)
    script, file = tmp_path / "program_t0.py", tmp_path / "certificate.json"
    for module in (program_t0, claim_t0, kernel_t0):
        (tmp_path / Path(str(module.__file__)).name).write_text(Path(str(module.__file__)).read_text())

    def run(text: str) -> subprocess.CompletedProcess[str]:
        file.write_text(text)
        return subprocess.run(
            [sys.executable, "-I", "-S", str(script), str(file)], capture_output=True, text=True, check=False
        )

    good = json.dumps(proof.certificate)
    assert (run(good).returncode, run(good).stdout[:6]) == (0, "proves")
    assert run(good.replace('"epsilon": "1"', '"epsilon": "1/2"')).returncode == 1
    assert run(good.replace('["draw", "laplace", "2"', '["draw", "laplace", "1"')).returncode == 1
    assert run("{").returncode == 2
