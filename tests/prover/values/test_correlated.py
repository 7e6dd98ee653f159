"""The matrix mechanism is verified with its exact loss, and wrong versions are not."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import audit
from dpaudit.core.claims import ApproxDP, GaussianDP, ZeroConcentratedDP
from dpaudit.core.data import Anything, Ball, Categories, Interval, Records
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.program_claim import examine_program
from dpaudit.kernel.values import correlated
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.claim import ASSUMED
from dpaudit.kernel.values.correlated import correlated_parts
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.releases import Drawn
from dpaudit.kernel.values.steps import derive
from dpaudit.prover.forms import Form
from dpaudit.prover.values.noise_regions import Noise, enclosed, estimated
from dpaudit.prover.values.prove import ValuesProof, prove_values
from tests.prover.values import correlated_noise as programs
from tests.prover.values.correlated_noise import ADAPTIVE, LINEAR, ONCE, ROWS, SIGMA, WRONG, A, B, C, N

UNIT = Records(Interval(0, 1), size=N)
#: The truth: the largest column norm of C over sigma.
MU = float(np.linalg.norm(C, axis=0).max()) / SIGMA


def of_sums(sums: Any) -> float:
    """Return the loss of ``sums @ x`` with the noise B z, by the columns of the inverse of B times sums."""
    return float(np.linalg.norm(np.linalg.solve(B, sums), axis=0).max()) / SIGMA


def above(number: float) -> Fraction:
    """Return a short rational slightly above a number."""
    return Fraction(math.ceil(number * 10**6 * 1.000001), 10**6)


def proved(program: Callable[..., Any], mu: float = MU, data: Records = UNIT) -> ValuesProof:
    return prove_values(program, GaussianDP(mu=above(mu)), data=data)


def of_adaptive(program: Any) -> Records:
    return Records(Ball(1, width=3) if program is programs.of_vectors else Interval(-1, 1), size=N)


@pytest.mark.parametrize("program", [*ONCE, *ROWS])
def test_continual_sums_have_the_loss_of_a_column(program: Any) -> None:
    """The bound is the largest column norm of C over sigma, and the kernel derives it alone."""
    proof = proved(program)
    assert proof.verdict == "verified", proof.reason
    assert float(proof.bound or 0) == pytest.approx(MU, rel=1e-9)
    found = check(proof.certificate)
    assert found.mu_squared is not None
    assert math.sqrt(found.mu_squared) == pytest.approx(MU, rel=1e-9)
    assert prove_values(program, GaussianDP(mu=above(MU * 0.999)), data=UNIT).verdict == "inconclusive"


class Fixed:
    """A generator that returns zeros, except 1 at one place among all its numbers."""

    def __init__(self, place: int) -> None:
        self.place, self.drawn = place, 0

    def normal(self, scale: float = 1.0, size: Any = ()) -> Any:
        found = np.zeros(size)
        if 0 <= self.place - self.drawn < found.size:
            found.flat[self.place - self.drawn] = scale
        self.drawn += found.size
        return found if found.shape else float(found)

    def standard_normal(self, size: Any) -> Any:
        return self.normal(size=size)


def numbers(output: Any) -> Any:
    return np.concatenate([np.ravel(part) for part in output])


@pytest.mark.parametrize("program", [*ONCE, *ROWS[:4], *LINEAR])
def test_the_bound_is_that_of_the_runs(program: Any) -> None:
    """The truth from runs of the program itself: it is linear in the data and in the noise."""
    source = Fixed(-1)
    start = numbers(program(np.zeros(N), source))
    changes = np.array([numbers(program(row, Fixed(-1))) - start for row in np.eye(N)])
    noise = np.array([numbers(program(np.zeros(N), Fixed(k))) - start for k in range(source.drawn)])
    covariance = noise.T @ noise
    truth = math.sqrt(max(float(c @ np.linalg.solve(covariance, c)) for c in changes))
    proof = proved(program, truth)
    assert proof.verdict == "verified", proof.reason
    assert float(proof.bound or 0) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("program", ADAPTIVE)
def test_sums_that_depend_on_earlier_outputs(program: Any) -> None:
    """A record changes a clipped gradient at one step by at most 2, whatever the model is."""
    data = of_adaptive(program)
    proof = proved(program, 2 * MU, data)
    assert proof.verdict == "verified", proof.reason
    assert float(proof.bound or 0) == pytest.approx(2 * MU, rel=1e-9)
    assert proved(program, 2 * MU * 0.999, data).verdict == "inconclusive"


@pytest.mark.parametrize("n", [32])
def test_thirty_two_steps(n: int) -> None:
    """A factorisation by numpy from a public n, whose product is only nearly the matrix of ones."""
    whole = np.tril(np.ones((n, n)))
    coefficients = np.cumprod([1.0, *((k - 0.5) / k for k in range(1, n))])
    factor = np.array([[coefficients[t - s] if s <= t else 0.0 for s in range(n)] for t in range(n)])
    assert not np.array_equal(factor @ factor, whole)

    def program(x: Any, rng: Any) -> Any:
        return whole @ x + factor @ rng.normal(scale=SIGMA, size=n)

    truth = float(np.linalg.norm(np.linalg.solve(factor, whole), axis=0).max()) / SIGMA
    data = Records(Interval(0, 1), size=n)
    proof = prove_values(program, GaussianDP(mu=above(truth)), data=data)
    assert proof.verdict == "verified"
    assert float(proof.bound or 0) == pytest.approx(truth, rel=1e-9)


def test_other_claims() -> None:
    """The bound on mu gives rho and delta, also for data that are chosen in view of the outputs."""
    rho = ZeroConcentratedDP(rho=above(MU**2 / 2), adversary="adaptive")
    assert prove_values(programs.slices, rho, data=UNIT).verdict == "verified"
    profile = prove_values(programs.slices, ApproxDP(epsilon=1, delta=Fraction(1, 20)), data=UNIT)
    assert profile.verdict == "verified"


def test_records_that_contribute_at_several_steps() -> None:
    """In two epochs of four batches, the columns of both steps of a record add up."""
    columns = np.linalg.solve(B, A)
    truth = max(2 * float(np.linalg.norm(columns[:, t] + columns[:, t + 4])) / SIGMA for t in range(4))
    proof = proved(programs.of_batches, truth, Records(Anything(), width=3, size=16))
    assert proof.verdict == "verified", proof.reason
    assert float(proof.bound or 0) == pytest.approx(truth, rel=1e-9)
    assert (
        proved(programs.of_batches, truth * 0.99, Records(Anything(), width=3, size=16)).bound == proof.bound
    )


@pytest.mark.parametrize(("adjacency", "truth"), [("replace-one", 2), ("add-remove", 1)])
def test_every_number_of_records(adjacency: Any, truth: int) -> None:
    """The second release of the counts has the noise of the first one, so that it adds nothing."""
    claim = ZeroConcentratedDP(rho=Fraction(truth, 2), adjacency=adjacency)
    proof = prove_values(programs.counts_twice, claim, data=Records(Categories(3)))
    assert proof.verdict == "verified"
    assert proof.bound == Fraction(truth, 2)


def test_groups_are_refused() -> None:
    claim = GaussianDP(mu=1000, unit="user")
    proof = prove_values(programs.slices, claim, data=Records(Interval(0, 1), size=N, group=2))
    assert proof.verdict == "inconclusive"
    assert proof.bound is None


def test_zero_out() -> None:
    """A record of [-1, 1] that becomes 0 changes by at most 1."""
    claim = GaussianDP(mu=above(MU), adjacency="zero-out")
    data = Records(Interval(-1, 1), size=N)
    assert prove_values(programs.slices, claim, data=data).verdict == "verified"
    assert proved(programs.slices, MU, data).verdict == "inconclusive"


def test_other_releases_add_their_cost() -> None:
    """A count with noise of its own and correlated sums of the same records."""

    def both(x: Any, rng: Any) -> Any:
        sums = A @ x + B @ (SIGMA * rng.standard_normal(N))
        return sums, x.sum() + rng.normal(scale=1)

    truth = math.sqrt(MU**2 + 1)
    proof = proved(both, truth)
    assert proof.verdict == "verified"
    assert float(proof.bound or 0) == pytest.approx(truth, rel=1e-9)


def test_two_draws_on_one_sum() -> None:
    """The variances of two draws on one number add up."""
    proof = proved(lambda x, rng: x.sum() + rng.normal(scale=3) + rng.normal(scale=4), 0.2)
    assert proof.verdict == "verified"
    assert proof.bound == Fraction(1, 5)


@pytest.mark.parametrize("program", WRONG)
def test_wrong_programs_have_no_bound(program: Any) -> None:
    """Programs that use noise wrongly have an infinite loss, and no claim about them is proved."""
    proof = prove_values(program, GaussianDP(mu=1000), data=UNIT)
    assert proof.verdict == "inconclusive"
    assert proof.bound is None


@pytest.mark.parametrize(
    ("program", "truth"),
    [
        (programs.half_the_noise, 2 * MU),
        (programs.contributes_twice, of_sums(A + np.tril(A, -1))),
    ],
)
def test_less_noise_than_claimed_is_refuted(program: Any, truth: float) -> None:
    """Both bounds are the truth, because a half-space of the joint output attains it."""
    result = audit(program, GaussianDP(mu=above(MU)), data=UNIT)
    assert result.verdict == "refuted"
    assert float(result.upper or 0) == pytest.approx(truth, rel=1e-6)
    assert float(result.lower or 0) == pytest.approx(truth, rel=1e-6)


def test_the_largest_entry_is_not_the_sensitivity() -> None:
    """Noise for the largest entry of C instead of the norm of a column."""
    scale = float(np.abs(C).max())

    def program(x: Any, rng: Any) -> Any:
        return A @ x + B @ rng.normal(scale=scale, size=N)

    result = audit(program, GaussianDP(mu=1), data=UNIT)
    assert result.verdict == "refuted"
    assert float(result.lower or 0) == pytest.approx(MU * SIGMA / scale, rel=1e-6)


@pytest.mark.parametrize("program", [programs.used_in_two_streams, programs.off_by_one])
def test_noise_that_is_missing_or_used_twice_is_refuted(program: Any) -> None:
    result = audit(program, GaussianDP(mu=above(MU)), data=UNIT)
    assert result.verdict == "refuted"
    assert result.lower is None or result.lower > 1


# Forged certificates.


def certificate() -> dict[str, Any]:
    proof = proved(programs.slices)
    assert proof.certificate is not None
    return copy.deepcopy(proof.certificate)


def no_pivot(forged: Any) -> None:
    terms = forged["releases"][3]["terms"]
    forged["releases"][3]["terms"] = [one for one in terms if one[1] != 3]


def zero_pivot(forged: Any) -> None:
    forged["releases"][3]["terms"][-1][2] = "0"


def no_noise(forged: Any) -> None:
    forged["releases"][0]["terms"] = []


def twice_in_a_row(forged: Any) -> None:
    forged["releases"][3]["terms"].append([0, 0, "1"])


def entry_outside(forged: Any) -> None:
    forged["releases"][3]["terms"][-1][1] = N


def other_draw(forged: Any) -> None:
    forged["releases"][3]["terms"][-1][0] = 1


def of_laplace(forged: Any) -> None:
    forged["draws"][0][0] = "laplace"


def negative_scale(forged: Any) -> None:
    forged["draws"][0][1] = ["number", "-2"]


def whole_vector(forged: Any) -> None:
    forged["releases"][3]["node"] = 0


def used_alone(forged: Any) -> None:
    release = forged["releases"][3]
    forged["releases"][3] = {
        "law": "gaussian", "node": release["node"], "draw": 0, "entry": 3, "factor": "1"
    }  # fmt: skip


def hidden_besides(forged: Any) -> None:
    forged["tree"].insert(2, ["show", "hidden 0 7", 3])


@pytest.mark.parametrize(
    "forge",
    [
        no_pivot, zero_pivot, no_noise, twice_in_a_row, entry_outside, other_draw, of_laplace, negative_scale,
        whole_vector, used_alone, hidden_besides,
    ],
)  # fmt: skip
def test_forged_certificates_are_rejected(forge: Callable[[Any], None]) -> None:
    forged = certificate()
    check(forged)
    forge(forged)
    with pytest.raises(ValuesProofError):
        check(forged)


def test_a_report_is_checked_again() -> None:
    """``examine_program`` derives the bound of a program proof, and refuses a smaller one."""
    claim = GaussianDP(mu=above(MU), domain=UNIT.words)
    proof = prove_values(programs.slices, GaussianDP(mu=above(MU)), data=UNIT)
    written = {
        "evidence": "program-proof", "body": proof.certificate, "quantity": "mu", "bound": str(proof.bound),
        "scope": UNIT.words, "assumptions": list(ASSUMED),
    }  # fmt: skip
    assert examine_program(written, claim).bound == proof.bound
    with pytest.raises(CertificateError):
        examine_program({**written, "bound": str((proof.bound or 0) / 2)}, claim)


def test_a_smaller_weight_raises_the_bound() -> None:
    """The kernel derives the bound of the recorded weights, whatever the record claims."""
    forged = certificate()
    before = check(forged).rho or Fraction(0)
    forged["releases"][3]["terms"][-1][2] = "1/2"
    assert (check(forged).rho or 0) > before


def test_nearly_dependent_noise_is_refused() -> None:
    """A pivot of 10^-20 leaves too little for floats."""
    forged = certificate()
    forged["releases"][3]["terms"][-1][2] = "1e-20"
    with pytest.raises(ValuesProofError, match="singular"):
        check(forged)


# The kernel's bound against linear algebra in floats.


def parts_of(rows: Any, changes: Any) -> Fraction:
    """Return the kernel's largest cost of releases ``changes @ x + rows @ z`` of records in [0, 1]."""
    count, width = np.shape(changes)
    s = Setting(size=width)
    one = Poly.of(1)
    data = Info(
        shape=(width,), low=Poly.of(0), high=one, records=1, change1=one, change2=one, change=one,
        norm1=one, norm2=one, support=((0, width, 1),), aligned=(0, None, 1),
    )  # fmt: skip
    nodes: list[Any] = [
        ["data", [], {}],
        ["const", [], {"values": [str(v) for v in np.ravel(changes).tolist()], "shape": (count, width),
                       "kind": "f", "python": False}],
        ["matrix", [1, 0], {"over": True, "vector": False}],
        *(["pick", [2], {"shape": (), "inside": False, "places": [t]}] for t in range(count)),
    ]  # fmt: skip
    infos = [data]
    for op, ids, params in nodes[1:]:
        infos.append(derive(s, op, ids, [infos[k] for k in ids], params))
    releases = [
        {"node": 3 + t, "terms": [[0, k, str(w)] for k, w in enumerate(rows[t].tolist()) if w]}
        for t in range(count)
    ]
    draws = [Drawn("gaussian", Poly.of(Fraction(3, 2)), (np.shape(rows)[1],))]
    parts = correlated_parts(s, nodes, infos, releases, draws)
    return max((part.cost.rho for part in parts), default=Fraction(0))


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_is_the_mahalanobis_distance(seed: int) -> None:
    """For records that each occur as one number, the bound is exact for any full rank, order and sign."""
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    extra = int(rng.integers(0, 3))
    rows = np.round(rng.normal(size=(count, count + extra)), 2)
    rows[rng.random(rows.shape) < 0.3] = 0.0
    changes = np.round(rng.normal(size=(count, width)), 2)
    covariance = rows @ rows.T * 2.25
    if np.linalg.cond(covariance) > 1e8:
        with pytest.raises(RefusedStepError):
            parts_of(rows, changes)
        return
    truth = max(float(c @ np.linalg.solve(covariance, c)) / 2 for c in changes.T)
    assert float(parts_of(rows, changes)) == pytest.approx(truth, rel=1e-9)


def test_a_bad_decorrelation_only_makes_the_bound_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix that the kernel finds in floats is not trusted."""
    rows, changes = np.array([[1.0, 0.0], [0.5, 1.0]]), np.eye(2)
    exact = parts_of(rows, changes)
    correlated._decorrelated.cache_clear()
    real = correlated._decorrelating

    def worse(table: Any) -> Any:
        found = real(table)
        found[1][0] += 1 << (correlated.BITS - 4)
        return found

    monkeypatch.setattr(correlated, "_decorrelating", worse)
    assert exact < parts_of(rows, changes) < 2 * exact
    correlated._decorrelated.cache_clear()
    monkeypatch.setattr(
        correlated, "_decorrelating", lambda table: [[1 << correlated.BITS], [0, 1 << correlated.BITS]]
    )
    with pytest.raises(RefusedStepError):
        parts_of(np.array([[1.0, 0.0], [0.9, 0.1]]), changes)


def test_two_changes_of_one_record_are_bounded_jointly() -> None:
    """A record that changes two clipped numbers by up to 1 each may change them in the worst directions."""

    def program(x: Any, rng: Any) -> Any:
        z = rng.normal(size=2)
        one, other = np.clip(x, 0, 1).sum(), np.clip(-x, -1, 0).sum()
        return one + z[0], other + z[0] + z[1]

    proof = proved(program, 3)
    # d = (a, b) with |a|, |b| <= 1 costs a^2 + (b - a)^2, at most 5 for opposite signs.
    assert proof.bound is not None
    assert float(proof.bound) == pytest.approx(math.sqrt(5), rel=1e-9)


# Events of normal outputs.


def test_combinations_of_gaussian_noise_are_normal() -> None:
    """The probability of a half-space is a normal probability, in floats and enclosed."""
    noise = {
        "n0": Noise("gaussian", Fraction(1)),
        "n1": Noise("gaussian", Fraction(2)),
        "n2": Noise("gaussian", Fraction(1)),
    }
    rows = [
        Form({"n0": Fraction(2), "n1": Fraction(2), "n2": Fraction(4)}, Fraction(-6)),
        Form({"n0": Fraction(-1), "n1": Fraction(-1), "n2": Fraction(-2)}, Fraction(-1)),
    ]
    scale = 3.0  # n0 + n1 + 2 n2 has variance 1 + 4 + 4
    truth = math.erf(3 / scale / math.sqrt(2)) / 2 + math.erf(1 / scale / math.sqrt(2)) / 2
    assert estimated(rows, noise) == pytest.approx(truth, rel=1e-12)
    ends = enclosed(rows, noise)
    assert ends is not None
    assert float(ends[0]) == pytest.approx(truth, rel=1e-12)
    assert ends[1] - ends[0] < Fraction(1, 10**40)
    assert enclosed([*rows, Form({"n0": Fraction(1), "n1": Fraction(1), "n2": Fraction(1)})], noise) is None
