"""`audit` tries a proof, then an attack, and returns one result with both bounds."""

import numpy as np
import pytest

from dpaudit import ApproxDP, PureDP, audit
from dpaudit.core.data import Interval, Records
from dpaudit.core.errors import BrokenHarnessError, RefutedError
from dpaudit.core.verdicts import VerdictKind
from dpaudit.prover.values.prove import prove_values

DATA = Records(Interval(0, 1), size=3)


def noisy_sum(data, rng):
    """A clipped sum with Laplace noise of scale 1."""
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def bare_sum(data, rng):
    """The exact sum, with a draw that is not used."""
    rng.laplace(scale=1.0)
    return data.sum()


def test_proof_and_attack_give_both_bounds():
    """A verified claim has its upper bound, and a lower bound below it."""
    found = audit(noisy_sum, PureDP(epsilon=1), data=DATA)
    assert found.verdict is VerdictKind.VERIFIED
    assert found.upper == 1
    assert found.lower is None or found.lower <= 1
    assert found.attack is not None
    assert not found.not_attacked


def test_a_wrong_program_is_refuted():
    """Runs refute a sum without noise, and raise_if_refuted raises."""
    found = audit(bare_sum, PureDP(epsilon=1), data=DATA)
    assert found.verdict is VerdictKind.REFUTED
    with pytest.raises(RefutedError):
        found.raise_if_refuted()


def test_a_proof_is_kept_where_no_run_could_refute():
    """A claim that runs cannot refute is still proved, and the result states that there was no attack."""
    found = audit(noisy_sum, PureDP(epsilon=50), data=DATA)
    assert (found.verdict, found.attack) == (VerdictKind.VERIFIED, None)
    assert found.not_attacked
    assert found.to_dict()["not_attacked"] == found.not_attacked


def rarely_bare(data, rng):
    """The exact sum, but only if a draw is large."""
    return data.sum() if rng.laplace(scale=1.0) > 9 else None


def test_no_proof_and_no_attack_is_inconclusive():
    """Without a proof and a counterexample, a claim that runs cannot refute is inconclusive, not an error."""
    found = audit(rarely_bare, PureDP(epsilon=50), data=DATA)
    assert (found.verdict, found.attack) == (VerdictKind.INCONCLUSIVE, None)
    assert found.not_attacked


def test_without_attack_there_is_only_the_proof():
    """`attack=False` runs nothing and gives no reason."""
    found = audit(noisy_sum, ApproxDP(epsilon=1, delta="1/1000"), data=DATA, attack=False)
    assert (found.verdict, found.attack, found.not_attacked) == (VerdictKind.VERIFIED, None, "")


def test_a_contradiction_is_a_bug_of_ours(monkeypatch):
    """Runs that refute a proved claim raise BrokenHarnessError, never a verdict."""
    from dpaudit import auditing

    honest = audit(noisy_sum, PureDP(epsilon=1), data=DATA, attack=False).proof
    monkeypatch.setattr(auditing, "prove_values", lambda *args, **options: honest)
    with pytest.raises(BrokenHarnessError):
        audit(bare_sum, PureDP(epsilon=1), data=DATA)


def one_place(data, rng):
    """Noise for a change of 1 in each record except the eighth."""
    return np.clip(data, 0, 1).sum() + 4 * data[7] + rng.laplace(scale=1.0)


def one_window(data, rng):
    """A count of records in a narrow window, with noise for a third of its change."""
    return ((data > 0.3) & (data < 0.32)).sum() + rng.laplace(scale=1 / 3)


def one_branch(data, rng):
    """A frequent path releases the last record again, with little noise."""
    first = data.sum() + rng.laplace(scale=4.0)
    if first > 2:
        return first, data[9] + rng.laplace(scale=0.25)
    return first, 0.0


def released_then_refused(data, rng):
    """A wrong release of the last record, followed by an operation without a rule."""
    shown = 5 * data[9] + rng.laplace(scale=1.0)
    return shown, float(np.round(shown, 40)) + float(np.fft.fft(np.ones(4))[0].real)


@pytest.mark.parametrize("program", [one_place, one_window, one_branch, released_then_refused])
def test_the_attack_aims_at_what_the_proof_found_expensive(program):
    """The aim at the most expensive path refutes programs that no corner pair of the first record does."""
    found = audit(program, PureDP(epsilon=1), data=Records(Interval(0, 1), size=10))
    assert found.verdict is VerdictKind.REFUTED
    assert found.aim.startswith("test_audit.py:")
    assert found.upper is None or found.lower <= found.upper


def test_a_proved_claim_is_attacked_at_corners():
    """There is no aim if no release is too expensive."""
    assert audit(noisy_sum, PureDP(epsilon=1), data=DATA).aim == ""


def test_a_domain_of_one_value_is_proved_and_not_attacked():
    """Without different neighbours the proof stands, and the result states that there was no attack."""
    found = audit(noisy_sum, PureDP(epsilon=1), data=Records(Interval(0, 0), size=3))
    assert (found.verdict, found.upper) == (VerdictKind.VERIFIED, 0)
    assert found.not_attacked


def first_sum(data, rng):
    return data[0].sum() + rng.laplace()


def second_mean(data, rng):
    return data[True].mean() + rng.laplace()


def noisy_sum_of_one(data, rng):
    return (data[0] + rng.laplace()).sum()


def shape_of_one(data, rng):
    return data[0].shape, rng.laplace()


@pytest.mark.parametrize("program", [first_sum, second_mean, noisy_sum_of_one, shape_of_one])
def test_numbers_of_a_list_have_no_methods_of_numpy(program):
    """Items of a list are Python numbers, so numpy methods and attributes are refused by name."""
    data = Records(Interval(0, 1), size=5, container="list")
    proof = prove_values(program, PureDP(epsilon=1), data=data)
    assert proof.verdict == "inconclusive"
    assert "a Python number has no attribute" in proof.reason


def hardly_any_noise(data, rng):
    return data.sum() + rng.laplace(scale=1e-320)


def test_a_bound_above_all_floats_is_printed():
    """A derived bound of 1e+320 can be printed."""
    proof = prove_values(hardly_any_noise, PureDP(epsilon=1), data=Records(Interval(0, 1), size=5))
    assert proof.verdict == "inconclusive"
    assert "1e+320" in str(proof)
