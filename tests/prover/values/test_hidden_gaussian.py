"""Programs whose Gaussian noise stays hidden in comparisons, under (epsilon, delta)."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.data import Integers, Interval, Records
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.program_claim import examine_program
from dpaudit.kernel.t2.exact_cells import enclosed
from dpaudit.kernel.t2.hidden_gaussian import guarantee_of_program, part_of_delta
from dpaudit.kernel.values import check as values_check
from dpaudit.kernel.values import exact_cells, hidden_gaussian
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.claim import ASSUMED
from dpaudit.kernel.values.exact_cells import Factor, Integral
from dpaudit.prover.values.prove import prove_values

UNIT = Interval(0, 1)


def above_threshold(m: int, first: float, each: float) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        t = rng.normal(0, first)
        for k in range(m):
            if q[k] + rng.normal(0, each) >= t:
                return k
        return -1

    return program


def several_above(m: int, most: int, first: float, each: float) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        t = rng.normal(0, first)
        out, count = [], 0
        for k in range(m):
            above = q[k] + rng.normal(0, each) >= t
            if above:
                out.append(True)
                count += 1
                if count == most:
                    break
            else:
                out.append(False)
        return out

    return program


def mixed_threshold(m: int, *, laplace_queries: bool) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        t = rng.normal(0, 4) if laplace_queries else rng.laplace(0, 4)
        for k in range(m):
            if q[k] + (rng.laplace(0, 8) if laplace_queries else rng.normal(0, 8)) >= t:
                return k
        return -1

    return program


def maximum_by_loop(m: int, scale: float, *, largest: bool = True) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        best = 0
        top = q[0] + rng.normal(0, scale)
        for k in range(1, m):
            v = q[k] + rng.normal(0, scale)
            if (v > top) if largest else (v < top):
                top = v
                best = k
        return best

    return program


def maximum(scale: float, m: int) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        return np.argmax(data.sum(axis=0) + rng.normal(0, scale, m))

    return program


def in_range(m: int, scale: float) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        low = rng.normal(0, scale)
        high = 1 + rng.normal(0, scale)
        for k in range(m):
            v = q[k] + rng.normal(0, scale)
            if v < low or v > high:
                return k
        return -1

    return program


def min_max(m: int, k: int, scale: float) -> Callable[..., Any]:
    def program(data: Any, rng: Any) -> Any:
        q = data.sum(axis=0)
        low = q[0] + rng.normal(0, scale)
        high = low
        for i in range(1, k):
            v = q[i] + rng.normal(0, scale)
            if v < low:
                low = v
            if v > high:
                high = v
        out = []
        for i in range(k, m):
            v = q[i] + rng.normal(0, scale)
            if v >= high:
                return [*out, 2]
            if v < low:
                return [*out, 0]
            out.append(1)
        return out

    return program


def bits(m: int) -> Records:
    return Records(Integers(0, 1), width=m, size=1)


def bound(program: Any, epsilon: Any, data: Records, **setting: Any) -> Fraction:
    found = prove_values(program, ApproxDP(epsilon=epsilon, delta="1e-300", **setting), data=data)
    assert found.bound is not None, found.reason
    return found.bound


# Positions of noisy scores.


@pytest.mark.parametrize(
    ("adjacency", "count", "mu_squared"),
    [
        ("replace-one", 2, "1/2"),
        ("replace-one", 5, "6/5"),
        ("add-remove", 4, "1/4"),
        ("add-remove", 5, "3/10"),
    ],
)
def test_the_position_of_the_largest_gaussian_score_has_the_mu_of_differences(
    adjacency: Any, count: int, mu_squared: str
) -> None:
    """The bound is floor(K^2/4)/K R^2/v with R = 2 or 1 and v = 4, and a smaller claim is not proved."""
    data = Records(UNIT, width=count)
    found = prove_values(maximum(2, count), GaussianDP(mu=1, adjacency=adjacency), data=data)
    assert found.bound is not None
    assert float(found.bound) ** 2 == pytest.approx(float(Fraction(mu_squared)), rel=1e-9)
    assert found.verdict == ("verified" if Fraction(mu_squared) <= 1 else "inconclusive")
    smaller = GaussianDP(mu=round(float(found.bound) * 0.99, 6), adjacency=adjacency)
    assert prove_values(maximum(2, count), smaller, data=data).verdict == "inconclusive"
    pure = prove_values(maximum(2, count), PureDP(epsilon=100, adjacency=adjacency), data=data)
    assert pure.verdict == "inconclusive"


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_loop_over_scores_costs_what_the_argmax_costs(adjacency: Any, count: int) -> None:
    """A Python loop that keeps the largest score has the bound of np.argmax."""
    data = Records(UNIT, width=count)
    claim = GaussianDP(mu="0.001", adjacency=adjacency)
    by_loop = prove_values(maximum_by_loop(count, 2), claim, data=data).bound
    by_numpy = prove_values(maximum(2, count), claim, data=data).bound
    assert by_loop is not None
    assert by_numpy is not None
    assert float(by_loop) == pytest.approx(float(by_numpy), rel=1e-12)


# Exact probabilities.


def by_quadrature(m: int, first: float, each: float, epsilon: float) -> float:
    """Return delta of ``above_threshold`` on bits, by numerical integration."""

    def table(q: tuple[int, ...]) -> list[float]:
        def integral(k: int) -> float:
            def at(t: float) -> float:
                below = math.prod(norm.cdf((t - one) / each) for one in q[:k])
                return float(
                    norm.pdf(t / first) / first * below * (norm.sf((t - q[k]) / each) if k < m else 1)
                )

            return float(quad(at, -12 * first, 12 * first, epsabs=1e-13, limit=200)[0])

        return [integral(k) for k in range(m + 1)]

    tables = {q: table(q) for q in product((0, 1), repeat=m)}
    return max(
        sum(max(a - math.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
        for p in tables.values()
        for q in tables.values()
    )


@pytest.mark.parametrize(("first", "each"), [(2, 4), (1, 1), (0.5, 2)])
def test_the_exact_bound_of_above_threshold_is_its_delta(first: float, each: float) -> None:
    """On bits the bound equals delta by quadrature. The claim above is verified, and the one below is not."""
    program, delta = above_threshold(3, first, each), by_quadrature(3, first, each, 0.25)
    assert delta > 1e-4
    assert float(bound(program, "0.25", bits(3))) == pytest.approx(delta, abs=1e-9)
    for factor, verdict in ((1.001, "verified"), (0.999, "inconclusive")):
        claim = ApproxDP(epsilon="0.25", delta=round(delta * factor, 9))
        assert prove_values(program, claim, data=bits(3)).verdict == verdict


def test_the_exact_bound_of_two_scores_is_attained() -> None:
    """For two scores the argmax on bits has the delta of Bernoulli probabilities."""
    p, q = norm.cdf(1 / math.sqrt(2)), norm.cdf(-1 / math.sqrt(2))
    found = float(bound(maximum_by_loop(2, 1), "0.1", bits(2)))
    assert found == pytest.approx(p - math.exp(0.1) * q, abs=1e-12)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("other", ["gaussian", "laplace"])
def test_integrals_agree_with_quadrature(noise: str, other: str) -> None:
    """Balls of integrals contain the value of numerical integration."""
    rng = np.random.default_rng(3)
    cdf = {
        "gaussian": norm.cdf,
        "laplace": lambda z: np.where(z < 0, np.exp(-abs(z)) / 2, 1 - np.exp(-abs(z)) / 2),
    }
    pdf = {"gaussian": norm.pdf, "laplace": lambda z: np.exp(-abs(z)) / 2}
    for _ in range(8):
        a, b, c, d = (Fraction(int(k), 4) for k in rng.integers(-8, 9, size=4))
        one = Integral(
            noise,
            Fraction(3, 2),
            None if c > 1 else min(c, d) - 1,
            max(c, d),
            (Factor(other, Fraction(2), None, (a, b)), Factor(other, Fraction(1), (b, a), (b, a + 1))),
        )

        def at(t: float, a: float = float(a), b: float = float(b)) -> float:
            second = cdf[other](b * t + a + 1) - cdf[other](b * t + a)
            return float(pdf[noise](t / 1.5) / 1.5 * cdf[other]((a * t + b) / 2) * second)

        low = -60.0 if one.low is None else float(one.low)
        kinks = sorted(
            {low, float(max(c, d)), *(t for t in np.linspace(-60, 60, 121) if low < t < max(c, d))}
        )
        value = sum(quad(at, x, y, epsabs=1e-14)[0] for x, y in pairwise(kinks))
        assert float(enclosed(one).mid()) == pytest.approx(value, abs=1e-7)
        assert float(enclosed(one).rad()) < 1e-15


# The bound by shifts, against exact probabilities.

PROGRAMS = {
    "threshold": above_threshold(3, 1, 1),
    "threshold, wide": above_threshold(4, 2, 4),
    "two above": several_above(3, 2, 1, 2),
    "Laplace queries": mixed_threshold(3, laplace_queries=True),
    "Laplace threshold": mixed_threshold(3, laplace_queries=False),
    "largest": maximum_by_loop(3, 1),
    "smallest": maximum_by_loop(3, 1, largest=False),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("epsilon", ["0", "0.1", "0.5", "1"])
def test_the_bound_by_shifts_is_above_the_exact_delta(name: str, epsilon: str) -> None:
    """Shifts of cells, alone and together, never give less than exact probabilities: two separate rules."""
    width = 4 if "wide" in name else 3
    claim = ApproxDP(epsilon=epsilon, delta="1e-300")
    on_reals = prove_values(PROGRAMS[name], claim, data=Records(UNIT, width=width, size=1))
    assert on_reals.record is not None
    assert "exact" not in on_reals.record
    exact = bound(PROGRAMS[name], epsilon, bits(width))
    assert on_reals.bound is not None
    assert exact <= on_reals.bound


def test_the_sum_over_cells_is_needed() -> None:
    """The losses of one cell alone, mu^2 = D^2/s1^2 + (2D)^2/s2^2, are a wrong bound for many queries.

    With D = s1 = s2 = 1 they would give delta <= 0.28 at epsilon = 3. A million pairs of queries are (0, 0)
    or (1, -1), and the event is that the first answer "above" is to the second query of a pair.
    """

    def chance(one: float, other: float) -> float:
        def at(z: float) -> float:
            a, b = norm.sf(4.5 + z - one), norm.sf(4.5 + z - other)
            none = math.log1p(-a) + math.log1p(-b)
            return float(norm.pdf(z) * (1 - a) * b * math.expm1(10**6 * none) / math.expm1(none))

        return float(quad(at, -8, 8, limit=500, points=[0])[0])

    alone = float(part_of_delta(Fraction(0), Fraction(5), Fraction(3)))
    assert alone == pytest.approx(0.272, abs=1e-3)
    assert chance(0, 0) - math.exp(3) * chance(1, -1) > 0.33


# Names of DiPApprox (Bhusal, Chadha, Sistla, Viswanathan 2025): right and wrong claims.

CASES: list[tuple[str, Any, int, str, str]] = [
    ("SVT-Gauss", above_threshold(5, 4, 8), 5, "0.5", "0.006"),
    ("SVT-Gauss, 2 above", several_above(4, 2, 4, 8), 4, "0.5", "0.006"),
    ("SVT-Mix, Laplace queries", mixed_threshold(3, laplace_queries=True), 3, "0.5", "0.006"),
    ("SVT-Mix, Laplace threshold", mixed_threshold(5, laplace_queries=False), 5, "0.5", "0.006"),
    ("Noisy-Max-Gauss", maximum_by_loop(5, 4), 5, "0.5", "0.08"),
    ("Noisy-Min-Gauss", maximum_by_loop(5, 4, largest=False), 5, "0.5", "0.08"),
    ("m-Range", in_range(4, 8), 4, "0.5", "0.006"),
    *((f"{k}-Min-Max", min_max(5, k, 8), 5, "0.5", "0.006") for k in (2, 3, 4)),
]


@pytest.mark.parametrize(
    ("name", "program", "width", "epsilon", "delta"), CASES, ids=[one[0] for one in CASES]
)
def test_programs_with_gaussian_noise_are_verified_for_all_real_scores(
    name: str, program: Any, width: int, epsilon: str, delta: str
) -> None:
    """Right claims are verified for records of real numbers and every N; a tiny delta is not."""
    data = Records(UNIT, width=width)
    assert prove_values(program, ApproxDP(epsilon=epsilon, delta=delta), data=data).verdict == "verified"
    wrong = prove_values(program, ApproxDP(epsilon="0.01", delta="0.0001"), data=data)
    assert wrong.verdict == "inconclusive"


# Certificates.


def proved(program: Any, claim: Any, data: Records) -> dict[str, Any]:
    found = prove_values(program, claim, data=data)
    assert found.verdict == "verified", found.reason
    return copy.deepcopy(dict(found.certificate or {}))


def delta_of(certificate: dict[str, Any], claim: Any) -> Fraction:
    return derived_bound(guarantee_of_program(check(certificate)), claim)


def is_accepted(certificate: dict[str, Any]) -> bool:
    try:
        check(certificate)
    except ValuesProofError:
        return False
    return True


def test_the_delta_is_the_sum_over_the_losses() -> None:
    """Laplace shifts count as c and Gaussian shifts as mu, by the formula in floats."""
    claim = ApproxDP(epsilon=1, delta="0.00001")
    certificate = proved(mixed_threshold(5, laplace_queries=False), claim, Records(UNIT, width=5))
    losses = check(certificate).losses
    assert len(losses) == 6
    assert any(c for loss in losses for c, _ in loss)
    total = 0.0
    for loss in losses:
        [(pure, mu_squared)] = loss
        c, mu = float(pure), math.sqrt(mu_squared)
        if mu:
            left = 1 - c
            total += math.exp(c) * norm.cdf(mu / 2 - left / mu) - math.e * norm.cdf(-mu / 2 - left / mu)
    assert float(delta_of(certificate, claim)) == pytest.approx(total, rel=1e-6)


def test_forged_groups_and_shifts_are_refused() -> None:
    """A group of cells needs one common shift; cells may not be left out; scales must be recorded."""
    certificate = proved(
        above_threshold(5, 4, 8), ApproxDP(epsilon=1, delta="0.00001"), Records(UNIT, width=5)
    )
    assert len(certificate["groups"]) == 6
    claim = ApproxDP(epsilon=1, delta="0.00001")
    assert delta_of(certificate, claim) <= claim.bound
    forged = []
    one = copy.deepcopy(certificate)
    one["groups"] = [list(range(6))]
    forged.append(one)
    for groups in ([[k] for k in range(5)], [[0], *([k] for k in range(6))], [], None, [[]], [[True]]):
        one = copy.deepcopy(certificate)
        one["groups"] = groups
        forged.append(one)
    one = copy.deepcopy(certificate)
    del one["groups"]
    forged.append(one)
    one = copy.deepcopy(certificate)
    one["cells"] = one["cells"][:-1]
    one["groups"] = one["groups"][:-1]
    forged.append(one)
    one = copy.deepcopy(certificate)
    for key in one["cells"][0]["shifts"]:
        one["cells"][0]["shifts"][key] = ["0"] * 2
    forged.append(one)
    one = copy.deepcopy(certificate)
    one["exact"] = True
    forged.append(one)
    one = copy.deepcopy(certificate)
    for node in one["tree"]:
        if node[0] == "draw":
            node[2] = "100"
    forged.append(one)
    one = copy.deepcopy(certificate)
    del one["groups"]
    one["exact"] = True  # the data are real numbers
    forged.append(one)
    for k, wrong in enumerate(forged):
        assert not is_accepted(wrong), f"forgery {k} was accepted"


def test_the_kernel_derives_a_proof_with_a_delta_again() -> None:
    """``examine_program`` derives both kinds of bounds, needs tier T2, and refuses a smaller bound."""
    for data, delta in ((Records(UNIT, width=3), "0.6"), (bits(3), "0.3")):
        claim = ApproxDP(epsilon="0.1", delta=delta, domain=data.words)
        tight = ApproxDP(epsilon="0.1", delta="1e-300", domain=data.words)
        certificate = copy.deepcopy(prove_values(above_threshold(3, 1, 2), tight, data=data).record)
        assert certificate is not None
        assert ("exact" in certificate) == (data.size == 1)
        bound = delta_of(certificate, claim)
        proof = {
            "evidence": "program-proof", "body": certificate, "quantity": "delta", "bound": str(bound),
            "scope": data.words, "assumptions": list(ASSUMED),
        }  # fmt: skip
        assert examine_program(proof, claim).bound == bound
        assert examine_program(proof, claim).tier == "T2"
        with pytest.raises(CertificateError):
            examine_program({**proof, "bound": str(bound / 2)}, claim)


# Hidden noise beside Gaussian releases.


def threshold_then_sum(data: Any, rng: Any) -> Any:
    q = data.sum(axis=0)
    t = rng.laplace(0, 4)
    for k in range(8):
        if q[k] + rng.laplace(0, 8) >= t:
            return k, q[0] + rng.normal(0, 5)
    return -1, 0.0


def maximum_then_sum(data: Any, rng: Any) -> Any:
    q = data.sum(axis=0)
    best = 0
    top = q[0] + rng.normal(0, 4)
    for k in range(1, 4):
        v = q[k] + rng.normal(0, 4)
        if v > top:
            top = v
            best = k
    return best, q[0] + rng.normal(0, 4)


def test_hidden_noise_composes_with_gaussian_releases() -> None:
    """Laplace: rho = 0.5^2/2 + 1/50. Gaussian: mu^2 = 1/16 + 1/16 for scores that all rise."""
    data = Records(UNIT, width=8)
    found = prove_values(threshold_then_sum, ZeroConcentratedDP(rho="0.145"), data=data)
    assert (found.verdict, found.bound) == ("verified", Fraction(145, 1000))
    assert (
        prove_values(threshold_then_sum, ZeroConcentratedDP(rho="0.144"), data=data).verdict == "inconclusive"
    )
    wide = Records(UNIT, width=4)
    claim = GaussianDP(mu="0.36", adjacency="add-remove")
    both = prove_values(maximum_then_sum, claim, data=wide)
    assert both.verdict == "verified"
    assert both.bound is not None
    assert float(both.bound) ** 2 == pytest.approx(1 / 8, rel=1e-9)
    smaller = GaussianDP(mu="0.35", adjacency="add-remove")
    assert prove_values(maximum_then_sum, smaller, data=wide).verdict == "inconclusive"


# Mutants of the rules.

MUTANTS = [
    (hidden_gaussian, "losses_of", "(shift / scale) ** 2", "(shift / scale) ** 2 * 9 / 10"),
    (exact_cells, "exact_case", "setdefault(_output(cell), [])", "setdefault(0, [])"),
    (exact_cells, "exact_case", "(min if a > 0 else max)", "(max if a > 0 else min)"),
    (exact_cells, "exact_case", "end = -constant / a", "end = constant / a"),
]


def bands(data: Any, rng: Any) -> Any:
    v = data.sum() + rng.normal(0, 1)
    if v > 0.25:
        if v > 0.75:
            return 2
        return 1
    return 0


def contradicted() -> bool:
    """Return whether a bound is not the exact value."""
    bernoulli = [float(norm.cdf(z / math.sqrt(2))) for z in (1, -1)]
    two = bernoulli[0] - math.exp(0.1) * bernoulli[1]
    three = [np.diff([0, norm.cdf(0.25 - q), norm.cdf(0.75 - q), 1]) for q in (0, 1)]
    of_bands = max(np.maximum(p - math.exp(0.1) * q, 0).sum() for p, q in (three, three[::-1]))
    mu = math.sqrt(2)
    normal = norm.cdf(mu / 2 - 0.1 / mu) - math.exp(0.1) * norm.cdf(-mu / 2 - 0.1 / mu)
    pairs = [
        (maximum_by_loop(2, 1), Records(UNIT, width=2), normal),
        (maximum_by_loop(2, 1), bits(2), two),
        (above_threshold(3, 1, 1), bits(3), by_quadrature(3, 1, 1, 0.1)),
        (bands, Records(Integers(0, 1), size=1), of_bands),
    ]
    return any(abs(float(bound(program, "0.1", data)) - value) > 1e-8 for program, data, value in pairs)


def test_the_rules_are_not_contradicted() -> None:
    """The comparison that finds mutants finds nothing in the rules themselves."""
    assert not contradicted()


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{one[1]}: {one[3]}" for one in MUTANTS])
def test_a_wrong_rule_is_contradicted(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact values of two scores and of three queries find each wrong rule."""
    module, name, old, new = mutant
    source = inspect.getsource(module)
    assert source.count(old) == 1
    space = {"__name__": module.__name__}
    exec(compile(source.replace(old, new), name, "exec"), space)
    monkeypatch.setattr(values_check, name, space[name])
    assert contradicted()
