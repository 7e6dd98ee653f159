"""`audit`: a proof first, then an attack, and one result with both bounds."""

import numpy as np
import pytest

from dpaudit import ApproxDP, PureDP, audit
from dpaudit.data import Interval, Records
from dpaudit.errors import BrokenHarnessError, RefutedError
from dpaudit.verdicts import VerdictKind

DATA = Records(Interval(0, 1), size=3)


def noisy_sum(data, rng):
    """A clipped sum with Laplace noise of scale 1."""
    return np.clip(data, 0, 1).sum() + rng.laplace(scale=1.0)


def bare_sum(data, rng):
    """The sum itself, beside a draw that nobody sees."""
    rng.laplace(scale=1.0)
    return data.sum()


def test_proof_and_attack_give_both_bounds():
    """A proved claim shows its upper bound, and a lower bound below it."""
    found = audit(noisy_sum, PureDP(epsilon=1), data=DATA)
    assert found.verdict is VerdictKind.VERIFIED
    assert found.upper == 1
    assert found.lower is None or found.lower <= 1
    assert found.attack is not None
    assert not found.not_attacked


def test_a_wrong_program_is_refuted():
    """Runs refute a sum without noise; raise_if_refuted raises."""
    found = audit(bare_sum, PureDP(epsilon=1), data=DATA)
    assert found.verdict is VerdictKind.REFUTED
    with pytest.raises(RefutedError):
        found.raise_if_refuted()


def test_a_proof_is_kept_where_no_run_could_refute():
    """A claim beyond what runs can refute is still proved; the result says that nothing attacked."""
    found = audit(noisy_sum, PureDP(epsilon=50), data=DATA)
    assert (found.verdict, found.attack) == (VerdictKind.VERIFIED, None)
    assert found.not_attacked
    assert found.to_dict()["not_attacked"] == found.not_attacked


def test_no_proof_and_no_attack_is_inconclusive():
    """A sum without noise under a claim that no run could refute is neither verified nor an error."""
    found = audit(bare_sum, PureDP(epsilon=50), data=DATA)
    assert (found.verdict, found.attack) == (VerdictKind.INCONCLUSIVE, None)
    assert found.not_attacked


def test_without_attack_there_is_only_the_proof():
    """`attack=False` runs nothing, and says nothing of why."""
    found = audit(noisy_sum, ApproxDP(epsilon=1, delta="1/1000"), data=DATA, attack=False)
    assert (found.verdict, found.attack, found.not_attacked) == (VerdictKind.VERIFIED, None, "")


def test_a_contradiction_is_a_bug_of_ours(monkeypatch):
    """Runs that refute a proved claim raise BrokenHarnessError, never a verdict."""
    from dpaudit import auditing

    honest = audit(noisy_sum, PureDP(epsilon=1), data=DATA, attack=False).proof
    monkeypatch.setattr(auditing, "prove_values", lambda *args, **options: honest)
    with pytest.raises(BrokenHarnessError):
        audit(bare_sum, PureDP(epsilon=1), data=DATA)
