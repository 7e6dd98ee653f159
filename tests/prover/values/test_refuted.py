"""Wrong numpy functions are refuted by exact witnesses, and right ones never are."""

import math

import numpy as np
import pytest

from benchmarks.proof_programs import PROGRAMS
from dpaudit import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP, audit
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.data import EVERY, Anything, Ball, Categories, Integers, Interval, Records, Texts
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.verdicts import VerdictKind
from dpaudit.distributions import Laplace
from tests.prover.values.witnesses import SEARCHED, witness_of

ONE = PureDP(epsilon=1)
REMOVED = PureDP(epsilon=1, adjacency="add-remove")
UNIT = Records(Interval(0, 1), size=6)
WHOLE = Records(Integers(0, 4), size=6)
ANY = Records(Anything(), size=EVERY, at_least=2)


# Right programs with a loss of exactly the claim, or with traps for a careless refutation.
def tight_sum(data, rng):
    return data.sum() + rng.laplace(scale=1)


def tight_pair(data, rng):
    return [data.sum() + rng.laplace(scale=2), (data**2).sum() + rng.laplace(scale=2)]


def scaled_output(data, rng):
    return 7 * (data.sum() + rng.laplace(scale=1)) - 3


def only_a_ratio(data, rng):
    a, b = data.sum() + rng.laplace(scale=2), data.sum() + rng.laplace(scale=2)
    return a / max(b, 1)


def only_the_larger(data, rng):
    return max(data.sum() + rng.laplace(scale=0.6), 1000.0) * 0


def erased(data, rng):
    return 0 * (10 * data.sum() + rng.laplace(scale=1))


def unused(data, rng):
    _kept = 10 * data.sum() + rng.laplace(scale=1)
    return 3


def rounded_away(data, rng):
    # Real numbers: 1e17 cancels, the sum moves by 1. Floats: it moves by 16 or by 0.
    return (data.sum() * 10 + 1e17 - 1e17) / 10 + rng.laplace(scale=1)


def equal_in_reals(data, rng):
    centred = data - data.mean()
    return centred.sum() * 1e3 + rng.laplace(scale=1e-9)


def zero_in_reals(data, rng):
    return data.sum() + rng.laplace(scale=1), (data - data + 0.1) + 0.2 - 0.3


def third(data, rng):
    return (data / 3).sum() * 3 + rng.laplace(scale=1)


def one_of_two(data, rng):
    answers = [data[0] + rng.laplace(scale=1), data[1] + rng.laplace(scale=1)]
    return answers[0] + answers[1]


def summed_noise(data, rng):
    return data.sum() + rng.laplace(scale=1) + rng.laplace(scale=0.1)


def branched(data, rng):
    noisy = data.sum() + rng.laplace(scale=1)
    return noisy if noisy > 2 else 0


def hidden_choice(data, rng):
    scores = np.array([data.sum(), -data.sum(), 0.0])
    p = np.exp(scores - scores.max())
    return rng.choice(3, p=p / p.sum()) < 7


def sparse(data, rng):
    level = 2 + rng.laplace(scale=2)
    for k in range(3):
        if (data > k / 4).sum() + rng.laplace(scale=4) > level:
            return k
    return None


def biggest(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.laplace(scale=2, size=5)))


def smallest(data, rng):
    return int(np.argmin(np.bincount(data, minlength=5) + rng.laplace(scale=2, size=5)))


def chosen(data, rng):
    counts = np.bincount(data, minlength=5)
    p = np.exp(counts / 2)
    return rng.choice(5, p=p / p.sum())


def shown_by_coins(coins, data):
    first = coins.release(sum(data), Laplace(scale=2), site="first")
    return coins.release(sum(data) + 0 * first, Laplace(scale=2), site="second")


def kept_by_coins(coins, data):
    hidden = sum(data) + coins.draw(Laplace(scale=1), site="hidden")
    return hidden - hidden


def answered(data, rng):
    return np.where(rng.random(len(data)) < 0.73, data > 0, data <= 0)


def local_coin(data, rng):
    return 1 if rng.random() < 0.5 else 0


def bounded_length(data, rng):
    return np.histogram(data, bins=4, range=(0, 1))[0] + rng.laplace(scale=2, size=4)


def disjoint(data, rng):
    return data[:3].sum() + rng.laplace(scale=1), data[3:].sum() + rng.laplace(scale=1)


def clipped_any(data, rng):
    return np.clip(data, -0.5, 0.5).sum() + rng.laplace(scale=1)


def counted(data, rng):
    return len(data) + rng.laplace(scale=1)


def text_of_noise(data, rng):
    return f"{data.sum() + rng.laplace(scale=1):.1f}"


RIGHT = [
    *[
        (function, ONE, UNIT)
        for function in (
            *(tight_sum, tight_pair, scaled_output, only_a_ratio, only_the_larger, erased, unused),
            *(rounded_away, equal_in_reals, zero_in_reals, third, one_of_two, summed_noise, branched),
            *(hidden_choice, sparse, shown_by_coins, kept_by_coins, answered, local_coin, bounded_length),
            *(disjoint, text_of_noise),
        )
    ],
    *[(function, ONE, WHOLE) for function in (biggest, smallest, chosen)],
    (clipped_any, ONE, ANY),
    (counted, REMOVED, ANY),
    (tight_sum, REMOVED, Records(Interval("-1", "0.3"), size=5)),
    (tight_sum, ONE, Records(Interval("0.1", "1.1"), size=EVERY)),
    (tight_sum, PureDP(epsilon=1, adjacency="zero-out"), Records(Interval(-1, 1), size=5)),
    (tight_sum, PureDP(epsilon=2, unit="user"), Records(Interval(0, 1), size=5, group=2)),
]


@pytest.mark.parametrize("seconds", SEARCHED)
@pytest.mark.sample(12, each=("seconds",))
@pytest.mark.parametrize(
    ("function", "claim", "data"), RIGHT, ids=[f"{f.__name__}-{k}" for k, (f, _, _) in enumerate(RIGHT)]
)
def test_a_right_program_has_no_witness(function, claim, data, seconds):
    """Programs whose loss is at most the claim, some of them exactly, have no witness."""
    assert witness_of(function, claim, data, seconds=seconds) is None


def halved(data, rng):
    return data.sum() + rng.laplace(scale=0.5)


def lengths(data, rng):
    return len(data), data.sum() + rng.laplace(scale=1)


def edges(data, rng):
    counts, ends = np.histogram(data, bins=3)
    return counts + rng.laplace(scale=2, size=3), ends


def at_one_place(data, rng):
    return data.sum() + 4 * data[3] + rng.laplace(scale=1)


def normal_sum(data, rng):
    return data.sum() + rng.normal(scale=1)


def normal_rows(data, rng):
    return data.sum(axis=0) + rng.normal(scale=1, size=3)


def weighted(data, rng):
    return (data @ np.array([1.0, -2.0, 0.5])).sum() + rng.laplace(scale=2)


def chosen_too_well(data, rng):
    p = np.exp(np.bincount(data, minlength=5))
    return rng.choice(5, p=p / p.sum())


def biggest_too_well(data, rng):
    return int(np.argmax(np.bincount(data, minlength=5) + rng.gumbel(scale=1, size=5)))


def two_steps(coins, data):
    first = coins.release(sum(data), Laplace(scale=1), site="first")
    return coins.release(sum(data) + first, Laplace(scale=1), site="second")


WRONG = [
    (halved, ONE, UNIT, 2),
    (halved, REMOVED, Records(Interval(0, 1)), 2),
    (lengths, REMOVED, ANY, math.inf),
    (edges, ONE, UNIT, math.inf),
    (at_one_place, ONE, UNIT, 1.001),
    (normal_sum, ZeroConcentratedDP(rho="0.4"), UNIT, 0.5),
    (normal_sum, GaussianDP(mu="0.9"), UNIT, 1),
    (normal_sum, ApproxDP(epsilon=1, delta="1/10"), UNIT, 0.126),
    (normal_sum, ONE, UNIT, 1.5),
    (normal_rows, ZeroConcentratedDP(rho=1), Records(Ball(1, width=3)), 1.9),
    (weighted, ONE, Records(Ball(1, width=3), size=9), 1.001),
    (chosen_too_well, ONE, WHOLE, 1.5),
    (biggest_too_well, ONE, WHOLE, 1.5),
    (two_steps, ONE, UNIT, 2),
    (tight_sum, ONE, Records(Interval(0, 1), size=5, group=2), 2),
]


@pytest.mark.parametrize(
    ("function", "claim", "data", "least"), WRONG, ids=[f"{w[0].__name__}-{k}" for k, w in enumerate(WRONG)]
)
def test_a_wrong_program_has_a_witness_that_can_be_checked(function, claim, data, least):
    """The witness from a file gives its bound again, and the bound is near the true loss."""
    if data.group > 1:
        claim = PureDP(epsilon=1, unit="user")
    found = witness_of(function, claim, data)
    assert found is not None
    read = evidence_from_json(found.to_json())
    again = recompute(read, claim)
    if found.bound is None:
        assert again is None or claim.quantity == "delta"
    else:
        assert again >= found.bound > claim.bound
    assert (math.inf if found.bound is None else float(found.bound)) >= least * (1 - 1e-3)


def test_audit_shows_the_witness():
    """An audit is refuted by the witness, with its bound below the proved bound, and without sampling."""
    found = audit(halved, ONE, data=UNIT)
    assert (found.verdict, found.attack, found.upper) == (VerdictKind.REFUTED, None, 2)
    assert found.lower == pytest.approx(2)
    assert found.witness.bound <= found.upper
    assert found.to_dict()["witness"]["form"] == "transcript"
    assert audit(halved, ONE, data=UNIT, attack=False).witness is None


def test_an_infinite_loss_has_no_number_in_a_file():
    """If the output identifies the dataset, the lower bound is infinite, and none in a file."""
    found = audit(lengths, REMOVED, data=ANY)
    assert (found.verdict, found.lower) == (VerdictKind.REFUTED, math.inf)
    assert found.to_dict()["lower"] is None


def test_a_forged_witness_is_refused():
    """A witness that states a larger loss than its distributions give is refused."""
    written = witness_of(halved, ONE, UNIT).to_json()
    with pytest.raises(CertificateError):
        recompute(evidence_from_json({**written, "bound": "3"}), ONE)


@pytest.mark.parametrize("seconds", SEARCHED)
def test_no_right_program_of_the_benchmark_is_refuted(seconds):
    """The benchmark's right programs have no witness, of which the fast ones are tried here."""
    some = [p for p in PROGRAMS if p.right and p.list == "ordinary"][::5]
    assert some
    found = {p.name: witness_of(p.function, p.claim, p.sizes["N"], seconds=seconds) for p in some}
    assert [name for name, witness in found.items() if witness is not None] == []


def normal_maximum(data, rng):
    return np.argmax(np.bincount(data, minlength=5) + rng.normal(scale=1.0, size=5))


@pytest.mark.parametrize(
    "claim", [PureDP(epsilon=5), ZeroConcentratedDP(rho="1/8"), ApproxDP(epsilon="1/10", delta="1/100000")]
)
def test_a_noisy_maximum_with_normal_noise_is_refuted(claim):
    """The exact law of the largest of noisy counts refutes claims that are too small."""
    assert audit(normal_maximum, claim, data=Records(Categories(5))).verdict is VerdictKind.REFUTED


def any_secret(texts, rng):
    return any("secret" in text for text in texts)


def little_noise(texts, rng):
    return sum(text == "refund" for text in texts) + rng.laplace(scale=0.25)


def occurrences(texts, rng):
    return sum(text.count("error") for text in texts) + rng.laplace(scale=1)


@pytest.mark.parametrize("function", [any_secret, little_noise, occurrences])
def test_the_search_tries_the_texts_of_a_program(function):
    """Texts in a program are tried as records, alone and repeated."""
    data = Records(Texts(longest=200), container="list")
    assert audit(function, PureDP(epsilon=1), data=data).verdict is VerdictKind.REFUTED
