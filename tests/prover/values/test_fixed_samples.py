"""Sums over hidden samples of a fixed number of records, with wrong programs and forged certificates."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit import audit
from dpaudit.core.claims import ApproxDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.data import Anything, Interval, Records
from dpaudit.kernel.values import fixed_samples
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.steps import derive
from dpaudit.prover.values.prove import prove_values

TWENTY = Records(Interval(-5, 5), size=20)
CLAIM = ApproxDP(epsilon=1, delta="1/2")


def chosen(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def permuted(data: Any, rng: Any) -> Any:
    index = rng.permutation(len(data))[:2]
    return np.clip(data, -1, 1)[index].mean() + rng.normal(scale=1)


def drawn_rows(data: Any, rng: Any) -> Any:
    batch = rng.choice(data, 2, replace=False)
    return np.clip(batch, -1, 1).sum() / len(batch) + rng.normal(scale=1)


def off_centre(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], 3, 5).sum() * -2 + rng.normal(scale=4)


def distances(data: Any, rng: Any) -> Any:
    batch = np.abs(data[rng.choice(len(data), 2, replace=False)])
    return np.minimum(batch, 2).sum() + rng.normal(scale=2)


def sampled_delta(rate: float, sigma: float, epsilon: float) -> float:
    """Return delta of N(0, sigma^2) with N(2, sigma^2) at ``rate``, by numerical integration."""
    x = np.linspace(-40, 40, 400_001)
    plain = norm.pdf(x, 0, sigma)
    mixture = rate * norm.pdf(x, 2, sigma) + (1 - rate) * plain
    return float(np.maximum(mixture - math.exp(epsilon) * plain, 0).sum() * (x[1] - x[0]))


@pytest.mark.parametrize("program", [chosen, permuted, drawn_rows, off_centre, distances])
@pytest.mark.parametrize("data", [TWENTY, Records(Interval(-5, 5), at_least=20)])
def test_a_sample_costs_its_exact_delta(program: Any, data: Records) -> None:
    """All other rows at -1 and one that moves from -1 to 1 attain the bound, so it is the integral."""
    exact = sampled_delta(0.1, 2, 1)
    right = prove_values(program, ApproxDP(epsilon=1, delta=Fraction(exact * 1.001)), data=data)
    assert right.verdict == "verified"
    assert float(right.bound or 0) == pytest.approx(exact, rel=1e-4)
    wrong = prove_values(program, ApproxDP(epsilon=1, delta=Fraction(exact * 0.999)), data=data)
    assert wrong.verdict == "inconclusive"


def descent(data: Any, rng: Any) -> Any:
    model = np.zeros(3)
    for _ in range(3):
        moves = model - data[rng.choice(len(data), 5, replace=False)]
        moves = moves / np.maximum(1, np.linalg.norm(moves, axis=1, keepdims=True))
        model = model - (moves.sum(axis=0) + rng.normal(scale=4, size=3)) / 50
    return model


def test_steps_of_descent_add_up() -> None:
    """Three steps cost less than three times one, and Renyi divergences are bounded as well."""
    data = Records(Anything(), width=3, size=50)
    found = prove_values(descent, ApproxDP(epsilon=1, delta="1/100"), data=data)
    assert found.verdict == "verified"
    assert sampled_delta(0.1, 4, 1) < float(found.bound or 0) < 0.01
    renyi = prove_values(descent, RenyiDP(order=2, epsilon="1/50"), data=data)
    assert renyi.verdict == "verified"


def laplace(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.laplace(scale=2)


def test_other_noise_costs_as_much_as_without_a_sample() -> None:
    assert prove_values(laplace, PureDP(epsilon=1), data=TWENTY).verdict == "verified"
    assert prove_values(laplace, PureDP(epsilon="99/100"), data=TWENTY).verdict == "inconclusive"


def larger_sample(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 3, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def everybody(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 20, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def half_the_noise(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=1)


def twice_the_range(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -2, 2).sum() + rng.normal(scale=2)


def missing_factor(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -1, 1).mean() + rng.normal(scale=0.5)


def with_replacement(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def by_integers(data: Any, rng: Any) -> Any:
    index = rng.integers(0, len(data), size=2)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def shown(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2), index


def shown_before(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    first = index[0]
    return first, np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def rest_of_the_permutation(data: Any, rng: Any) -> Any:
    order = rng.permutation(len(data))
    index = order[:2]
    return np.clip(data, -1, 1)[index].sum() + rng.normal(scale=2), order[2:]


def two_parts(data: Any, rng: Any) -> Any:
    order = rng.permutation(len(data))
    rows = np.clip(data, -1, 1)
    return [rows[part].sum() + rng.normal(scale=2) for part in (order[:2], order[2:4])]


def used_twice(data: Any, rng: Any) -> Any:
    rows = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1)
    return rows.sum() + rng.normal(scale=2), rows.sum() + rng.normal(scale=2)


def counted_too(data: Any, rng: Any) -> Any:
    rows = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1)
    return rows.sum() + rng.normal(scale=2), (rows > 0).sum() + rng.laplace(scale=100)


def compared_too(data: Any, rng: Any) -> Any:
    total = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1).sum()
    return total + rng.normal(scale=2), (1 if total > rng.laplace(scale=100) else 2)


def a_total_too(data: Any, rng: Any) -> Any:
    rows = np.clip(data, -1, 1)
    index = rng.choice(len(data), 2, replace=False)
    return rows[index].sum() + rng.normal(scale=2), rows.sum() + rng.normal(scale=20)


def two_samples(data: Any, rng: Any) -> Any:
    return chosen(data, rng), chosen(data, rng)


def one_entry(data: Any, rng: Any) -> Any:
    rows = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1)
    return rows[0] + rng.normal(scale=2)


def weighted(data: Any, rng: Any) -> Any:
    rows = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1)
    return (rows * np.array([1, 3])).sum() + rng.normal(scale=2)


def repeated_total(data: Any, rng: Any) -> Any:
    rows = np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1)
    return rows.sum() * np.ones(3) + rng.normal(scale=2, size=3)


def by_the_total(data: Any, rng: Any) -> Any:
    rows = np.clip(data + np.clip(data, 0, 1).sum(), -1, 1)
    return rows[rng.choice(len(data), 2, replace=False)].sum() + rng.normal(scale=2)


def replaced_positions(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 2, replace=False)
    index[0] = 0
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


def same_noise(data: Any, rng: Any) -> Any:
    noise = rng.normal(scale=2)
    return np.clip(data[rng.choice(len(data), 2, replace=False)], -1, 1).sum() + noise, noise


def with_chances(data: Any, rng: Any) -> Any:
    chances = np.ones(20) / 40 + np.eye(20)[0] / 2
    index = rng.choice(len(data), 2, replace=False, p=chances)
    return np.clip(data[index], -1, 1).sum() + rng.normal(scale=2)


WRONG = [
    larger_sample, everybody, half_the_noise, twice_the_range, missing_factor, with_replacement, by_integers,
    shown, shown_before, rest_of_the_permutation, two_parts, used_twice, counted_too, compared_too,
    a_total_too, two_samples, one_entry, weighted, repeated_total, by_the_total,
    replaced_positions, same_noise, with_chances,
]  # fmt: skip


@pytest.mark.parametrize("program", WRONG)
def test_wrong_programs_are_not_verified(program: Any) -> None:
    """Less noise, larger samples, and samples that are shown or used again are not proved with the bound."""
    claim = ApproxDP(epsilon=1, delta=Fraction(sampled_delta(0.1, 2, 1) * 1.0001))
    assert prove_values(chosen, claim, data=TWENTY).verdict == "verified"
    assert prove_values(program, claim, data=TWENTY).verdict == "inconclusive"


def test_a_larger_sample_than_the_data_is_refused() -> None:
    for data in (Records(Interval(-5, 5), size=1), Records(Interval(-5, 5))):
        assert prove_values(chosen, CLAIM, data=data).verdict == "inconclusive"


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out"])
def test_a_sample_needs_records_that_are_replaced(adjacency: Any) -> None:
    claim = ApproxDP(epsilon=1, delta=Fraction(sampled_delta(0.1, 2, 1) * 1.0001), adjacency=adjacency)
    assert prove_values(chosen, claim, data=TWENTY).verdict == "inconclusive"


def test_a_group_of_records_is_not_amplified() -> None:
    claim = ApproxDP(epsilon=1, delta=Fraction(sampled_delta(0.1, 2, 1) * 1.0001), unit="user")
    data = Records(Interval(-5, 5), size=20, group=2)
    assert prove_values(chosen, claim, data=data).verdict == "inconclusive"


def leaky(data: Any, rng: Any) -> Any:
    index = rng.choice(len(data), 1, replace=False)
    return data[index].sum() + rng.normal(scale=0.1)


@pytest.mark.timeout(300)
def test_a_false_claim_is_refuted() -> None:
    """Records from 0 to 9 with noise of 0.1 are attacked by samples."""
    data = Records(Interval(0, 9), size=2)
    assert audit(leaky, ApproxDP(epsilon="1/2", delta="1/100"), data=data).verdict == "refuted"


def loss(left: Any, right: Any, epsilon: float, sigma: float, count: int) -> float:
    """Return delta of the noisy sum over a sample on two datasets of numbers, by numerical integration."""
    x = np.linspace(-30, 30, 20_001)
    p, q = (
        np.mean([norm.pdf(x, sum(some), sigma) for some in itertools.combinations(data, count)], axis=0)
        for data in (left, right)
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0]))


def costs(size: int, count: int, sigma: Fraction) -> Callable[[Fraction], float]:
    """Return the bound on delta of the kernel for rows in [-1, 1]."""

    def program(data: Any, rng: Any) -> Any:
        return data[rng.choice(size, count, replace=False)].sum() + rng.normal(scale=float(sigma))

    def bound(epsilon: Fraction) -> float:
        claim = ApproxDP(epsilon=epsilon, delta=1)
        return float(prove_values(program, claim, data=Records(Interval(-1, 1), size=size)).bound or 0)

    return bound


def test_random_neighbours_stay_below_the_bound() -> None:
    """No neighbours of few records have a larger delta than the kernel's bound, and some attain it."""
    r = random.Random(5)
    for _ in range(6):
        size = r.randint(2, 5)
        count, sigma = r.randint(1, size - 1), r.choice([Fraction(1, 2), Fraction(1), Fraction(2)])
        epsilon = r.choice([Fraction(0), Fraction(1, 2), Fraction(1)])
        bound = costs(size, count, sigma)(epsilon)
        for _ in range(15):
            others = [r.choice([-1.0, 1.0, r.uniform(-1, 1)]) for _ in range(size - 1)]
            ends = [r.choice([-1.0, 1.0, r.uniform(-1, 1)]) for _ in range(2)]
            found = loss([ends[0], *others], [ends[1], *others], float(epsilon), float(sigma), count)
            assert found <= bound * (1 + 1e-6) + 1e-9
        worst = loss([1.0] + [-1.0] * (size - 1), [-1.0] * size, float(epsilon), float(sigma), count)
        assert worst == pytest.approx(bound, rel=1e-4, abs=1e-9)


def certificate() -> Any:
    found = prove_values(chosen, CLAIM, data=TWENTY).certificate
    assert found is not None
    return copy.deepcopy(found)


def place(found: Any, op: str) -> int:
    return next(k for k, node in enumerate(found["nodes"]) if node[0] == op)


def smaller_sample(found: Any) -> None:
    found["nodes"][place(found, "sample")][2]["count"] = 0


def no_whole_number(found: Any) -> None:
    found["nodes"][place(found, "sample")][2]["count"] = "1/2"


def too_large(found: Any) -> None:
    found["nodes"][place(found, "sample")][2]["count"] = 20


def other_node(found: Any) -> None:
    [release] = found["releases"]
    release["node"] = place(found, "where")


def total_of_all(found: Any) -> None:
    found["nodes"][place(found, "sum")][1] = [place(found, "minimum")]


def other_rest(found: Any) -> None:
    """Records outside of the sample are 1 instead of 0."""
    zero = found["nodes"][place(found, "where")][1][2]
    found["nodes"][zero][2]["values"] = ["1"]


def exchanged(found: Any) -> None:
    """The records outside of the sample are summed."""
    parts = found["nodes"][place(found, "where")][1]
    parts[1], parts[2] = parts[2], parts[1]


def not_true(found: Any) -> None:
    [release] = found["releases"]
    release["sampled"] = 1


def beside_a_scale(found: Any) -> None:
    [release] = found["releases"]
    release["by"] = release["node"]


def added_and_removed(found: Any) -> None:
    found["adjacency"]["kind"] = "add-remove"


def zeroed_out(found: Any) -> None:
    found["adjacency"]["kind"] = "zero-out"


def two_records(found: Any) -> None:
    found["adjacency"]["group"] = 2


def laplace_noise(found: Any) -> None:
    found["draws"][0][0] = found["releases"][0]["law"] = "laplace"


FORGED = [
    smaller_sample, no_whole_number, too_large, other_node, total_of_all, other_rest, exchanged, not_true,
    beside_a_scale, added_and_removed, zeroed_out, two_records, laplace_noise,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGED)
def test_forged_certificates_are_rejected(forge: Callable[[Any], None]) -> None:
    found = certificate()
    assert check(found).mechanisms
    forge(found)
    with pytest.raises(ValuesProofError):
        check(found)


def test_a_sample_in_two_releases_is_rejected() -> None:
    """A second release of a step that uses the sample, of any law, is no longer a single use."""
    proof = prove_values(a_total_too, CLAIM, data=TWENTY)
    assert proof.certificate is not None
    found = copy.deepcopy(proof.certificate)
    assert check(found).mechanisms
    sampled, other = sorted(found["releases"], key=lambda one: "sampled" not in one)
    other["node"] = sampled["node"]
    with pytest.raises(ValuesProofError, match="used twice"):
        check(found)


def test_rows_that_depend_on_a_sample_are_rejected() -> None:
    """A row may not depend on any sample."""
    proof = prove_values(chosen, CLAIM, data=TWENTY)
    assert proof.certificate is not None
    found = copy.deepcopy(proof.certificate)
    inside = place(found, "where")
    last = len(found["nodes"])
    mask, _, zero = found["nodes"][inside][1]
    found["nodes"] += [["where", [mask, inside, zero], {}], ["sum", [last], {"axes": [0]}]]
    found["releases"][0]["node"] = last + 1
    with pytest.raises(ValuesProofError, match="used twice"):
        check(found)


def test_a_mask_of_columns_is_no_sample_of_rows() -> None:
    """For 3 records of width 3 a vector of Booleans would apply to the columns."""
    s = Setting(size=3)
    column = {"name": "", "kind": "f", "low": "-1", "high": "1", "ball": None, "shape": (3, 3)}
    rows, mask = derive(s, "data", [], [], column), derive(s, "sample", [], [], {"count": 1, "number": 1})
    zero = derive(s, "const", [], [], {"values": ["0"], "shape": (), "kind": "f", "python": True})
    try:
        found = derive(s, "where", [1, 0, 2], [mask, rows, zero], {})
    except RefusedStepError:
        return
    assert "sampled" not in found.facts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Fraction(count, _fewest(s))", "Fraction(count, 2 * _fewest(s))"),
        ("width and width / 2", "width and width / 4"),
        ("abs(number) if op", "Fraction(1) if op"),
        ("same = found.shape == infos[place].shape", "same = True"),
        ("sum(number in behind[node] for node in used) == 1", "True"),
        ("and not behind[rows]", ""),
        ("and s.group == 1", ""),
        ("return min(bounds, default=None)", "return max(bounds, default=None)"),
    ],
)
def test_mutants_change_a_verdict(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any of its conditions, the rule gives another bound to a program or accepts a forgery."""
    from dpaudit.kernel.values import check as checker
    from dpaudit.kernel.values import releases, steps

    def verdicts() -> list[Any]:
        found: list[Any] = [
            prove_values(program, CLAIM, data=TWENTY).bound
            for program in (chosen, off_centre, repeated_total, counted_too)
        ]
        for forge in (rows_of_the_sample, zeroed_out):
            forged = certificate()
            forge(forged)
            try:
                found.append(check(forged).costs)
            except ValuesProofError:
                found.append(None)
        for s in (Setting(size=20, group=2), Setting(size=20)):
            info = Info(facts={"sampled_sum": (1, 2, Fraction(1), 0)})
            try:
                found.append(str(cost(s, info, "gaussian", Poly.of(2))))
            except RefusedStepError:
                found.append(None)
        return found

    cost = fixed_samples.sampled_cost
    before = verdicts()
    source = inspect.getsource(fixed_samples)
    assert old in source
    module: dict[str, Any] = {"__name__": fixed_samples.__name__}
    exec(compile(source.replace(old, new, 1), "mutant", "exec"), module)
    cost = module["sampled_cost"]
    monkeypatch.setattr(releases, "sampled_cost", cost)
    monkeypatch.setattr(steps, "sampled_facts", module["sampled_facts"])
    monkeypatch.setattr(checker, "require_single_use", module["require_single_use"])
    assert verdicts() != before


def rows_of_the_sample(found: Any) -> None:
    """Let each row be 0 outside of the sample, before the sample selects it."""
    inside, last = place(found, "where"), len(found["nodes"])
    mask, _, zero = found["nodes"][inside][1]
    found["nodes"] += [["where", [mask, inside, zero], {}], ["sum", [last], {"axes": [0]}]]
    found["releases"][0]["node"] = last + 1


def test_concentrated_claims_use_the_bound_without_a_sample() -> None:
    assert prove_values(chosen, ZeroConcentratedDP(rho="1/2"), data=TWENTY).verdict == "verified"
    assert prove_values(chosen, ZeroConcentratedDP(rho="1/10"), data=TWENTY).verdict == "inconclusive"
