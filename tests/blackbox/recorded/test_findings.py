"""What a recording finds, and what it leaves alone; costs against closed forms; ports that run."""

from __future__ import annotations

import math
import os

import numpy as np
import pandas as pd
import pytest

import dpaudit.distributions
from dpaudit import ApproxDP, GaussianDP, Profile, PureDP, RenyiDP, check, record_draws
from dpaudit.blackbox import Inputs, corners
from dpaudit.blackbox.recorded.noise import mixtures
from dpaudit.coins import record, replay
from dpaudit.core.errors import InvalidParameterError
from tests.errors import raises

ONE = PureDP(epsilon=1)
PAIR = ([0, 0, 0, 1], [1, 0, 0, 1])


def noisy_sum(data, rng):
    return sum(data) + rng.laplace(0, 1)


def shared(data, rng):
    noise = rng.laplace(0, 2)
    return [x + noise for x in data]


def one_form_more(data, rng):
    noisy = sum(data) + rng.laplace(0, 1)
    return {"value": noisy, "twice": 2 * noisy}


def polya_sum(inverted, epsilon=1.0, precision=4):
    """A sum under Polya shares of all users: discrete Laplace noise of scale precision / epsilon, or with
    the odds of the ratio upside down."""

    def run(data, rng):
        ratio = math.exp(-epsilon / precision)
        scale = (1 - ratio) / ratio if inverted else ratio / (1 - ratio)
        shape = 1 / len(data)
        noise = [rng.poisson(rng.gamma(shape, scale)) - rng.poisson(rng.gamma(shape, scale)) for _ in data]
        return int(precision * sum(data)) + sum(noise)

    return run


def histogram(data, rng):
    return np.bincount(data, minlength=2) + rng.laplace(0, 1, 2)


def table(data, rng):
    counts = pd.Series(np.bincount(data, minlength=2), index=["no", "yes"])
    return counts + rng.laplace(0, 1, 2)


def seeded(data, rng):
    return sum(data) + np.random.default_rng(7).laplace(0, 1)


def seeded_by_draw(data, rng):
    return sum(data) + np.random.default_rng(int(rng.integers(2**31))).laplace(0, 1)


def seeded_by_system(data, rng):
    return sum(data) + np.random.default_rng(int.from_bytes(os.urandom(8), "big")).laplace(0, 1)


def seeded_legacy(data, rng):
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002  what such code does
    return sum(data) + np.random.laplace(0, 1)  # noqa: NPY002  what such code does


@pytest.mark.parametrize("function", [seeded_by_draw, seeded_by_system, seeded_legacy])
def test_a_seed_that_is_drawn_is_no_fixed_seed(function):
    """Neither a seed of the given generator nor one of the system is called known to everybody; what the
    noise costs is not told, since a drawn seed may have few values."""
    recorded = record_draws(function, PAIR, claim=ONE)
    assert recorded.findings == []
    assert recorded.cost is None
    assert "draws the seed of a generator" in str(recorded)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda data, rng: sum(data) - np.log(rng.random()), "not just added to the output"),
        (lambda data, rng: sum(data), "no draw was recorded"),
        (
            lambda data, rng: [sum(data), rng.laplace(0, 1)],
            "an output changes with the data and holds no noise",
        ),
        (
            lambda data, rng: sum(data) + rng.laplace(0, 1 + sum(data)),
            "the noise distribution depends on the data",
        ),
        (lambda data, rng: sum(data) + rng.gumbel(0, 1), "neither Laplace nor normal"),
        (lambda data, rng: len(data) + rng.laplace(0, 1), "both inputs give the same output"),
        (lambda data, rng: [0] * sum(data) + [rng.laplace(0, 1)], "differ in form"),
        (shared, "a combination of outputs holds no noise"),
        (seeded, "chooses the seed of a generator"),
    ],
    ids=["logarithm", "none", "bare", "scale", "gumbel", "unmoved", "shapes", "shared", "seeded"],
)
def test_what_has_no_cost_says_why(function, said):
    """Where a recording gives no cost, printing it says the reason."""
    recorded = record_draws(function, PAIR)
    assert recorded.cost is None
    assert said in str(recorded)


def test_a_table_costs_what_its_numbers_do():
    """Values of a pandas series are numbers like those of an array, and named as one reaches them."""
    recorded = record_draws(table, PAIR, claim=ONE)
    assert recorded.cost is not None
    assert recorded.cost.epsilon == pytest.approx(2)
    assert any("output.iloc[0]" in text for text in recorded.findings)


def found(function, claim=ONE, pair=PAIR) -> str:
    return "\n".join(record_draws(function, pair, claim=claim).findings)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (shared, "the noise cancels in output[0] - output[1], which changes by 1"),
        (shared, "feeds 4 returned values"),
        (
            lambda data, rng: sum(data) + rng.binomial(0.6122, 0.25),
            "n = 0.6122 is truncated to 0, so it adds no noise",
        ),
        (lambda data, rng: sum(data) + rng.binomial(9.7, 0.25), "n = 9.7 is truncated to 9"),
        (lambda data, rng: sum(data) + rng.normal(0, 0), "its scale is 0"),
        (lambda data, rng: sum(data) + np.random.default_rng(7).laplace(), "default_rng(7)"),
        (
            lambda data, rng: [sum(data), rng.laplace()],
            "output[0] changes with the data, and no drawn number affects it",
        ),
        (lambda data, rng: sum(data), "no draw was recorded, and the same input gives the same output"),
        (lambda data, rng: rng.laplace(0, 1 + sum(data)), "depends on the data: laplace"),
        (lambda data, rng: sum(data) + rng.normal(), "normal noise is not pure"),
        (
            polya_sum(True),
            "the ratio of the shares may be inverted: with its reciprocal, this pair would have epsilon 1",
        ),
        (
            lambda data, rng: sum(data) + rng.laplace(0, 0.5),
            "so this pair has epsilon 2, above the claimed 1",
        ),
        (histogram, "a histogram with noise of scale 1/epsilon"),
    ],
)
def test_defects_are_named(function, says: str) -> None:
    """Each defect in one recording."""
    assert says in found(function)


@pytest.mark.parametrize(
    ("function", "claim"),
    [
        (noisy_sum, ONE),
        (one_form_more, ONE),
        (polya_sum(False), ONE),
        (histogram, PureDP(epsilon=2)),
        (lambda data, rng: int(np.argmax(np.asarray(data) + rng.laplace(0, 2, len(data)))), ONE),
        (lambda data, rng: bool(sum(data) + rng.laplace(0, 4) >= 1 + rng.laplace(0, 2)), ONE),
        (lambda data, rng: sum(data) + rng.geometric(0.7) - rng.geometric(0.7), PureDP(epsilon="1.21")),
        (lambda data, rng: sum(data) + rng.normal(0, 1), GaussianDP(mu=1)),
        (lambda data, rng: data[0] if rng.random() < 0.73 else 1 - data[0], ONE),
        (lambda data, rng: int(rng.binomial(1, 0.73 if data[0] else 0.27)), ONE),
        (lambda data, rng: [x for x in data if x + rng.laplace(0, 4) < 9 + rng.laplace(0, 2)], ONE),
    ],
)
def test_right_mechanisms_give_no_findings(function, claim) -> None:
    """Negative controls: nothing is said of what is right."""
    assert found(function, claim) == ""


@pytest.mark.parametrize("scale", [0.25, 1, 3])
@pytest.mark.parametrize("users", [1, 4, 9])
def test_costs_are_those_of_the_closed_forms(scale, users) -> None:
    """Laplace: shift / scale; shares of all users: precision log(1/ratio); normal: shift / deviation."""
    pair = ([0] * users, [1] + [0] * (users - 1))
    laplace = record_draws(lambda data, rng: 3 * (sum(data) + rng.laplace(0, scale)), pair).cost
    assert laplace.epsilon == pytest.approx(1 / scale, rel=1e-9)
    shares = record_draws(polya_sum(False, epsilon=1 / scale), pair).cost
    assert shares.epsilon == pytest.approx(1 / scale, rel=1e-9)
    normal = record_draws(lambda data, rng: sum(data) + rng.normal(0, scale, 4).sum(), pair).cost
    assert normal.mu == pytest.approx(1 / (2 * scale), rel=1e-9)


def scaled_sum(data, rng):
    return 5 - 0.5 * (sum(data) + rng.laplace(scale=2))


def named_noise(data, rng):
    total = sum(data)
    noise = rng.laplace(0, 2)
    return {"half": (total + noise) / 2}


def added_in_place(data, rng):
    total = 3 + sum(data)
    total += rng.laplace(0, 2)
    return 3 * total


def added_to_its_centre(data, rng):
    return sum(data) + rng.laplace(1, 2)


@pytest.mark.parametrize(
    "function", [noisy_sum, scaled_sum, named_noise, added_in_place, added_to_its_centre]
)
def test_the_cost_is_the_loss_that_the_rewrite_attains(function) -> None:
    """The largest exact loss of the rewrite over drawn histories is the cost of the recording."""
    recorded = record_draws(function, PAIR)
    assert "to do" not in recorded.rewrite
    names = {**vars(dpaudit.distributions)}
    exec(recorded.rewrite, names)
    rewritten = names[function.__name__]
    replays = [
        replay(rewritten, PAIR[1], record(rewritten, PAIR[0], rng=rng))
        for rng in map(np.random.default_rng, range(20))
    ]
    assert not any(item.leaks for item in replays)
    assert max(abs(float(item.loss())) for item in replays) == pytest.approx(recorded.cost.epsilon)


def taken_away(data, rng):
    return sum(data) - 0.5 * rng.laplace(0, 2)


def added_here_or_there(data, rng):
    noise = rng.laplace(0, 2)
    if sum(data) > 1:
        return sum(data) + noise
    return noise


@pytest.mark.parametrize("function", [taken_away, added_here_or_there])
def test_a_rewrite_says_where_shown_noise_is_not_placed(function) -> None:
    """Noise that is shown stays hidden in the text only with a line that says what is left to do; by itself
    it is never released."""
    rewrite = record_draws(function, PAIR).rewrite
    assert "# to do: the noise of line 2 is returned" in rewrite
    assert "coins.draw(Laplace(scale=2)" in rewrite
    assert "release(0" not in rewrite


def sampled(data, rng):
    chosen = [x for x in data if rng.random() < 0.5]
    return sum(chosen) + rng.laplace(0, 0.7)


def reordered(data, rng):
    return [sum(np.asarray(data)[rng.permutation(len(data))[:2]]) + rng.laplace(0, 0.7)]


@pytest.mark.parametrize("function", [sampled, reordered])
def test_a_sampled_record_has_no_cost(function) -> None:
    """Given the sample a record costs 1/0.7; over all samples less: the recording does not say."""
    for pair in (([0, 0, 0], [1, 0, 0]), ([1, 0, 1], [1, 0, 0]), ([1, 1, 1], [1, 1, 0])):
        recorded = record_draws(function, pair, claim=ONE)
        assert recorded.cost is None
        assert recorded.findings == []


def sparse(data, rng):
    level = 1 + rng.laplace(0, 2)
    shown = []
    for x in data:
        shown.append(bool(x + rng.laplace(scale=4) >= level))
        if shown[-1]:
            break
    return shown


def test_a_rewrite_hides_what_is_not_shown() -> None:
    """Noise that only a comparison sees is drawn, not released; every place becomes a site."""
    rewrite = record_draws(sparse, PAIR).rewrite
    assert "1 + coins.draw(Laplace(scale=2), site='sparse-2')" in rewrite
    assert "x + coins.draw(Laplace(scale=4), site='sparse-5')" in rewrite
    assert "def sparse(coins, data):" in rewrite
    assert "rng" not in rewrite.split("def ")[1]


def with_numpy(data, generator, sigma=2):
    noise = generator.normal(0, sigma, size=len(data))
    return float(max(np.asarray(data) + noise))


def test_a_rewrite_of_arrays_and_other_names() -> None:
    """The generator goes whatever its name, options stay; hidden arrays are drawn as arrays, and it runs."""
    rewrite = record_draws(with_numpy, PAIR).rewrite
    assert "def with_numpy(coins, data, sigma=2):" in rewrite
    assert "coins.draw(Gaussian(sigma=sigma).shift(np.zeros(len(data))), site='with_numpy-2')" in rewrite
    names = {"np": np}
    exec(rewrite, names)
    recording = record(names["with_numpy"], PAIR[0], rng=np.random.default_rng(0))
    assert np.shape(recording.sites[0].value) == (4,)


def test_a_gaussian_claim_is_held_against_its_curve() -> None:
    """(epsilon, delta) of normal noise: the exact delta, above and below the claim."""
    run = lambda data, rng: sum(data) + rng.normal(0, 1)  # noqa: E731
    assert found(run, ApproxDP(epsilon=1, delta="0.127")) == ""
    assert "delta 0.1269" in found(run, ApproxDP(epsilon=1, delta="0.126"))
    profile = [(0, "0.5"), (1, "0.127")]
    assert found(run, Profile(points=profile)) == ""
    assert "delta 0.1269 at epsilon 1" in found(run, Profile(points=[*profile[:1], (1, "0.126")]))
    assert found(run, RenyiDP(order=4, epsilon=2)) == ""  # 4 mu^2 / 2
    assert "order-4 Rényi divergence 2, above the claimed 1.99" in found(
        run, RenyiDP(order=4, epsilon="1.99")
    )


def test_a_list_of_pairs_and_claims_of_another_type() -> None:
    """A list of pairs is recorded like corners, and an object that is not a claim is an error."""
    run = lambda data, rng: sum(data) + rng.laplace(scale=0.5)  # noqa: E731
    one, listed = (record_draws(run, pairs, claim=PureDP(epsilon=1)).findings for pairs in (PAIR, [PAIR]))
    assert one == listed
    assert any("has epsilon 2" in text for text in one)
    for claim in (1, "x"):
        with raises(InvalidParameterError, code="E-CLAIM-NOT-PRIVACY"):
            record_draws(run, PAIR, claim=claim)


def test_a_poisson_of_a_gamma_variate_is_one_distribution() -> None:
    """Also where the mean is a multiple, and only then."""
    draws = record_draws(
        lambda data, rng: rng.poisson(3 * rng.gamma(2, 1, 2)).sum(), PAIR
    ).recording.first.draws
    assert mixtures(draws) == {1: (0, pytest.approx(3))}
    for size in (None, 2):
        apart = record_draws(lambda data, rng, n=size: np.sum(rng.gamma(2, 1, n)) + rng.poisson(3), PAIR)
        assert mixtures(apart.recording.first.draws) == {}


def test_coins_of_somebody_else_are_not_taken_for_no_noise() -> None:
    """Unrecorded randomness with few outcomes is reported as such, not as missing noise."""
    values = iter(np.random.default_rng(1).random(1000).tolist())
    for _ in range(5):
        text = found(lambda data, rng: (next(values) < 0.3) ^ bool(sum(data)))
        assert "source that is not recorded" in text


def test_the_number_of_draws_is_told() -> None:
    """Where it depends on the data, as in a loop that stops: a fact, no finding."""
    recorded = record_draws(lambda data, rng: float(rng.laplace(size=1 + sum(data)).sum()), PAIR, claim=ONE)
    assert recorded.findings == []
    assert "2 numbers drawn (3 on the second input), 1 value returned" in str(recorded)


def test_the_pair_with_most_findings_is_returned() -> None:
    """Noise that is used twice shows only where a middle record changes: the pair that shows it is given."""

    def running(data, rng):
        noise = rng.laplace(0, 1, 2)
        return [sum(data[: t + 1]) + noise[min(t, 1)] for t in range(len(data))]

    assert record_draws(running, ([0, 0, 0], [1, 0, 0])).findings == []
    assert "output[1] - output[2]" in "\n".join(record_draws(running, Inputs([0, 1], size=3)).findings)
    with raises(InvalidParameterError, code="E-NEIGHBOURS-TYPE", match="got int"):
        record_draws(running, 3)


def test_check_reports_recorded_draws() -> None:
    """Notes beside the verdict; they never refute: the same check ends open where bets say nothing."""
    claim = PureDP(epsilon=1)
    result = check(noisy_sum, claim, neighbours=corners([0, 2], 2), max_samples=150)
    assert result.verdict == "inconclusive"
    assert any("so this pair has epsilon 2, above the claimed 1" in note for note in result.notes)
    assert result.heard[-1] == "1 number drawn, 1 value returned"
    assert result.to_dict()["heard"] == list(result.heard)
    without = check(noisy_sum, claim, neighbours=corners([0, 2], 2), max_samples=150, record_draws=False)
    assert without.evidence == result.evidence
    assert without.heard == ()
    assert set(without.notes) < set(result.notes)
