"""Encoding, shared noise, parameter sheets, modular sums and the analyzer: exact on small cases."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.blackbox.statistics import fit_log_wealth
from dpaudit.coins import Coins, Sampler, enumerate_view
from dpaudit.core.errors import InvalidParameterError, NotTractableError, UndecidedError
from dpaudit.core.views import EVERYTHING, SERVER, View
from dpaudit.distributions import (
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    LatticeDistribution,
    Polya,
    PolyaDifference,
    Sum,
    SumMod,
)
from dpaudit.kernel.ball import arb, ball, sign_of
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.discrete_gaussian_sum import DiscreteGaussianSum
from dpaudit.reference.mechanisms.fixed_point import encode, encoding_distribution, split_reward
from dpaudit.reference.mechanisms.local_noise import (
    discrete_gaussian_share,
    polya_share,
    skellam_share,
    total_noise,
)
from dpaudit.reference.mechanisms.modular_sum import decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import (
    LAPLACE_SUM_CONSTANT,
    Sheet,
    ceiling,
    central_laplace_sheet,
    discrete_gaussian_sheet,
    local_laplace_sheet,
    polya_sheet,
    rounded_up_root,
    shuffle_sheet,
    skellam_sheet,
)
from dpaudit.reference.mechanisms.wire import bits_per_residue, integer_bits, pack_residues, unpack_residues
from tests.rates import FALSE_FAILURE_RATE

SHEETS = {
    "polya": polya_sheet,
    "skellam": skellam_sheet,
    "discrete gaussian": discrete_gaussian_sheet,
    "central": central_laplace_sheet,
    "local": local_laplace_sheet,
    "shuffle": shuffle_sheet,
}


def small_sheet(share: LatticeDistribution, *, users: int, precision: int, margin: int) -> Sheet:
    """A sheet with a modulus small enough to enumerate."""
    return Sheet(
        trust="distributed",
        users=users,
        precision=precision,
        noise_margin=margin,
        modulus=users * precision + 2 * margin + 1,
        tail_prob=Fraction(1, 2),
        share=share,
    )


# Parameter sheets.


@given(
    factor=st.fractions(min_value="1/1000", max_value=50, max_denominator=1000),
    users=st.integers(1, 10**12),
)
def test_the_precision_is_the_least_integer_above_the_root(factor: Fraction, users: int) -> None:
    """g = ceil(factor sqrt(n)): g² >= factor² n > (g - 1)², in exact arithmetic."""
    g = rounded_up_root(factor, users)
    assert g * g >= factor**2 * users > (g - 1) ** 2


@pytest.mark.parametrize("users", [1, 2, 7, 1024, 2**20])
@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1", "7/2"])
@pytest.mark.parametrize("p", ["1", "1/10", "1/1000000"])
def test_margins_are_the_printed_ones(users: int, epsilon: str, p: str) -> None:
    """τ of every row of the sheet, against the printed formulas in 60 decimal digits."""
    with mpmath.workdps(60):
        e = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        log = mpmath.log(2 * mpmath.mpf(Fraction(p).denominator) / Fraction(p).numerator)
        g = int(mpmath.ceil(e * mpmath.sqrt(users)))
        g3 = int(mpmath.ceil(3 * e * mpmath.sqrt(users)))
        half = int(mpmath.ceil(e / 2 * mpmath.sqrt(users)))
        expected = {
            "polya": (g, g / e * log),
            "central": (g, g / e * log),
            "skellam": (g3, 2 * g3 / e * mpmath.sqrt(log) + mpmath.sqrt(2) * log),
            "discrete gaussian": (g3, g3 / e * mpmath.sqrt(2 * log)),
            "local": (g, mpmath.mpf(8) / 5 * g / e * mpmath.sqrt(2 * users * log)),
            "shuffle": (half, half / (e / 2) * (log + mpmath.log(2))),
        }
        for name, (precision, margin) in expected.items():
            scale = {"scale_factor": 3} if name in ("skellam", "discrete gaussian") else {}
            sheet = SHEETS[name](users=users, epsilon=epsilon, tail_prob=p, **scale)
            assert (sheet.precision, sheet.noise_margin) == (precision, int(mpmath.ceil(margin))), name
            assert sheet.modulus == users * sheet.precision + 2 * sheet.noise_margin + 1


def test_noise_of_the_shuffle_sheet_as_printed_and_repaired() -> None:
    """Theorem 3 prints the ratio e^{-ε/g} where the budget split asks for e^{-ε'/g}; all else is equal."""
    printed, repaired = (
        shuffle_sheet(users=9, epsilon=1, tail_prob="1/8", variant=name) for name in ("printed", "repaired")
    )
    assert printed.share == PolyaDifference(shape="1/9", log_ratio="1/2")
    assert repaired.share == PolyaDifference(shape="1/9", log_ratio="1/4")
    assert printed.precision == repaired.precision == 2
    assert (printed.noise_margin, printed.modulus) == (repaired.noise_margin, repaired.modulus)
    assert printed.tail_prob == Fraction(1, 16)


def test_a_ceiling_is_never_guessed() -> None:
    """A number within the last bit of an integer raises; one a little beside it is decided."""
    with pytest.raises(UndecidedError, match="ceiling must be decided"):
        ceiling(lambda: arb(2).sqrt() ** 2)
    assert ceiling(lambda: arb(2).sqrt() ** 2 + arb(2) ** -300) == 3
    assert ceiling(lambda: arb(2).sqrt() ** 2 - arb(2) ** -300) == 2


def test_the_default_constant_of_lemma_5_is_one_that_holds() -> None:
    """c = 8/5: -log(1 - t²) <= c² t²/2 at t = 1/c, where the ratio of the sides is largest; 1.59 fails."""

    def excess(c: Fraction) -> int:
        return sign_of(lambda: -(1 - ball(1 / c**2)).log() - ball(Fraction(1, 2)))

    assert excess(LAPLACE_SUM_CONSTANT) == -1
    assert excess(Fraction(159, 100)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"users": 4, "epsilon": 0, "tail_prob": "1/2"}, "epsilon must be greater than 0"),
        ({"users": 4, "epsilon": 1, "tail_prob": 0}, "tail_prob must be greater than 0"),
        ({"users": 4, "epsilon": 1, "tail_prob": "3/2"}, "tail_prob must be in"),
        ({"users": 4, "epsilon": 1, "tail_prob": "1/2", "scale_factor": "1/2"}, "scale_factor must be 1"),
        ({"users": 0, "epsilon": 1, "tail_prob": "1/2"}, "users must be an integer from 1 up"),
    ],
)
def test_sheets_refuse_what_the_theorems_do_not_cover(arguments: dict[str, Any], message: str) -> None:
    """A parameter outside its domain is named, with what was received."""
    with pytest.raises(InvalidParameterError, match=message):
        skellam_sheet(**arguments)


# Encoding.


@pytest.mark.parametrize("precision", [1, 2, 3, 7, 64])
def test_the_encoding_is_unbiased_with_error_below_one(precision: int) -> None:
    """E[x̂] = x g exactly, |x̂ - x g| < 1, and 1 becomes g without a coin."""
    for reward in (0.0, 0.125, 0.3, 0.5, 1 / 3, 0.999, 1.0):
        whole, rest = split_reward(reward, precision=precision)
        assert whole + rest == Fraction(reward) * precision
        distribution = encoding_distribution(reward, precision=precision)
        assert sum(p * int(k) for k, p in distribution.atoms()).overlaps(ball(Fraction(reward) * precision))
        assert all(abs(int(k) - Fraction(reward) * precision) < 1 for k, _ in distribution.atoms())
    assert split_reward(1.0, precision=precision) == (precision, 0)


def test_encoding_through_the_coins_has_the_encoding_distribution() -> None:
    """Enumerating the program gives the distribution of each encoding; nobody sees the coins."""

    def program(coins: Coins, rewards: Any) -> list[int]:
        return encode(coins, rewards, precision=3)

    found = enumerate_view(program, [0.5, 1.0], view=View.of(SERVER))
    chances = {seen[-1][0]: found.probabilities[key] for key, seen in found.transcripts.items()}
    assert all(p.overlaps(arb("0.5")) for p in chances.values())
    assert set(chances) == {1, 2}
    assert all(seen[-1][1] == 3 and len(seen) == 1 for seen in found.transcripts.values())


def test_a_declared_grid_needs_no_coins_and_is_enforced() -> None:
    """On the grid nothing is drawn; off it the reward is refused; a grid that g misses draws all the same."""
    coins = Sampler(np.random.default_rng(1))
    before = coins.rng.bit_generator.state
    assert encode(coins, [0.0, 0.5, 1.0], precision=4, grid=2) == [0, 2, 4]
    assert coins.rng.bit_generator.state == before
    with pytest.raises(InvalidParameterError, match="multiples of 1/2"):
        encode(coins, [0.25], precision=2, grid=2)
    assert encode(coins, [0.5], precision=3, grid=2)[0] in (1, 2)
    with pytest.raises(InvalidParameterError, match=r"in \[0, 1\]"):
        encode(coins, [1.5], precision=2)


# Shares and their totals.


@pytest.mark.parametrize("users", [1, 2, 5])
def test_totals_are_the_sums_of_shares(users: int) -> None:
    """The closed form of n shares is the distribution that aggregating them gives, also when some are
    missing."""
    for share in (
        polya_share(users=3, epsilon="1/2", precision=2),
        skellam_share(users=3, epsilon="1/2", precision=2),
    ):
        assert total_noise(share, users=users) == Sum().image_distribution([share] * users)


def test_pólya_shares_of_all_users_are_discrete_laplace() -> None:
    """Fact 1 by brute convolution: 2n Pólya(1/n, e^{-1/b}) variables, to 1e-10 in relative terms."""
    rate, size = Fraction(1, 2), 400
    for users in (1, 2, 7, 64):
        assert total_noise(
            polya_share(users=users, epsilon=rate, precision=1), users=users
        ) == DiscreteLaplace(scale=1 / rate)
        part = np.exp(Polya(shape=Fraction(1, users), log_ratio=rate).logp(np.arange(size)))
        one_side = np.ones(1)
        for _ in range(users):
            one_side = np.convolve(one_side, part)[:size]
        difference = np.convolve(one_side, one_side[::-1])[size - 1 : size + 30]
        np.testing.assert_allclose(
            difference, np.exp(DiscreteLaplace(scale=1 / rate).logp(np.arange(31))), rtol=1e-10
        )


@pytest.mark.parametrize(("sigma2", "terms"), [("1/4", 1), ("1/4", 3), ("1", 8), ("9/4", 5), ("100", 4)])
def test_the_table_of_gaussian_sums_is_the_convolution(sigma2: str, terms: int) -> None:
    """Probabilities from Poisson's formula agree with repeated convolution of the exact ones."""
    part = np.exp(DiscreteGaussian(sigma2=sigma2).logp(np.arange(-400, 401)))
    total = np.ones(1)
    for _ in range(terms):
        total = np.convolve(total, part)
    table = DiscreteGaussianSum(sigma2=sigma2, terms=terms)
    middle = len(total) // 2
    expected = total[middle - table.reach : middle + table.reach + 1]
    np.testing.assert_allclose(table.probabilities, expected, atol=1e-15)
    assert table.probabilities.sum() == pytest.approx(1, abs=1e-13)


def distribution_of_table(table: DiscreteGaussianSum) -> Distribution:
    return Categorical.of_floats(table.probabilities).shift(-table.reach)


def test_gaussian_sums_are_sampled_like_their_parts() -> None:
    """Both routes fit the table; a single discrete Gaussian of the summed parameter does not fit σ² = 1/8."""
    sigma2, terms, size = Fraction(1, 8), 3, 20_000
    table, threshold = DiscreteGaussianSum(sigma2=sigma2, terms=terms), -math.log(FALSE_FAILURE_RATE)
    rng = np.random.default_rng(5)
    parts = DiscreteGaussian(sigma2=sigma2).sample(rng, (terms, size)).sum(axis=0)
    for draws in (parts, table.sample(rng, (size,))):
        assert fit_log_wealth(draws, distribution_of_table(table), rng=rng).total.max() < threshold
    wrong = DiscreteGaussian(sigma2=sigma2 * terms)
    assert fit_log_wealth(parts, wrong, rng=rng).total.max() > threshold
    with pytest.raises(NotTractableError, match="no closed form"):
        total_noise(discrete_gaussian_share(users=3, epsilon=1, precision=1), users=3)


# Aggregates.


@pytest.mark.parametrize("name", ["polya", "skellam", "shuffle"])
@pytest.mark.parametrize("present", [1, 3, 4])
def test_the_fast_aggregate_is_the_per_user_one(name: str, present: int) -> None:
    """ŷ's distribution from the users' distributions and from the total are one and the same object,
    drop-outs included."""
    sheet = SHEETS[name](users=4, epsilon="1/2", tail_prob="1/8")
    encoded = [0, 1, 1, 0][:present]
    per_user = SumMod(sheet.modulus).image_distribution([sheet.share.shift(x) for x in encoded])
    assert per_user == sheet.aggregate_distribution(sum(encoded), present=present)


@pytest.mark.parametrize("name", ["polya", "skellam", "discrete gaussian"])
def test_clipping_every_user_first_changes_nothing(name: str) -> None:
    """((a mod m) + (b mod m)) mod m: the enumerated distribution of two clipped messages added up is that of
    ŷ."""
    share = SHEETS[name](users=2, epsilon=1, tail_prob="1/2").share
    sheet = small_sheet(share, users=2, precision=2, margin=2)
    parts = [SumMod(sheet.modulus).image_distribution([share.shift(x)]) for x in (2, 1)]
    added = [arb(0)] * sheet.modulus
    for (a, p), (b, q) in itertools.product(*(list(part.atoms()) for part in parts)):
        added[(int(a) + int(b)) % sheet.modulus] += p * q
    if name == "discrete gaussian":  # no closed form: by convolution of a wide window
        window = np.exp(share.logp(np.arange(-60, 61)))
        total = np.convolve(window, window)
        expected = [
            sum(total[j] for j in range(241) if (j - 120 + 3 - y) % sheet.modulus == 0)
            for y in range(sheet.modulus)
        ]
        np.testing.assert_allclose([float(p) for p in added], expected, rtol=1e-12)
    else:
        distribution = sheet.aggregate_distribution(3)
        for y, p in distribution.atoms():
            assert added[int(y)].overlaps(p)


def test_aggregates_of_many_users_drawn_both_ways_fit_the_same_distribution() -> None:
    """128 users, user by user and in one draw; a distribution with a quarter more noise is told apart."""
    sheet = polya_sheet(users=128, epsilon="1/2", tail_prob="1/1000")
    distributions = [sheet.share.shift(k % 3) for k in range(sheet.users)]
    total, size = sum(k % 3 for k in range(sheet.users)), 4000
    exact_distribution = sheet.total_noise().shift(total)  # no noisy sum reaches the wrap here
    threshold = -math.log(FALSE_FAILURE_RATE)
    for per_user in (False, True):
        coins = Sampler(np.random.default_rng(7), replicates=size, per_user=per_user)
        draws = secure_sum(coins, distributions, sheet)
        assert fit_log_wealth(draws, exact_distribution, rng=coins.rng).total.max() < threshold
        wider = DiscreteLaplace(scale=sheet.precision / Fraction(2, 5)).shift(total)
        assert fit_log_wealth(draws, wider, rng=coins.rng).total.max() > threshold


# The analyzer.


@pytest.mark.parametrize(("users", "precision", "margin"), [(1, 1, 0), (2, 3, 4), (5, 2, 7), (16, 4, 40)])
def test_the_analyzer_undoes_every_wrap_within_the_margin(users: int, precision: int, margin: int) -> None:
    """Cases 1 and 2: all noisy sums in [-τ, n g + τ] are decoded exactly, and their residues are all of
    Z_m; one step beyond either end is decoded to the other end.
    """
    sheet = small_sheet(DiscreteLaplace(scale=1), users=users, precision=precision, margin=margin)
    sums = np.arange(-margin, users * precision + margin + 1)
    np.testing.assert_array_equal(decoded_sum(sums % sheet.modulus, sheet), sums / precision)
    assert len(sums) == sheet.modulus
    ends = {int(sums[0]) - 1: sums[-1], int(sums[-1]) + 1: sums[0]}
    for noisy, decoded in ends.items():
        assert decoded_sum(noisy % sheet.modulus, sheet) == decoded / precision


def test_the_analyzer_refuses_what_no_aggregate_can_be() -> None:
    """A number outside Z_m is a fault of the protocol, not a sum."""
    sheet = small_sheet(DiscreteLaplace(scale=1), users=2, precision=1, margin=1)
    for wrong in (-1, sheet.modulus):
        with pytest.raises(InvalidParameterError, match="aggregate must be in"):
            decoded_sum(wrong, sheet)


# Central and local protocols.


def view_distribution(protocol: BatchProtocol, rewards: Any) -> dict[tuple[Any, ...], Any]:
    """The exact distribution of what the server sees of one batch, its own decoded sum left out."""
    found = enumerate_view(lambda coins, data: protocol(coins, data), rewards, view=View.of(SERVER))
    distribution: dict[tuple[Any, ...], Any] = {}
    for key, seen in found.transcripts.items():
        shown = tuple(np.asarray(x).tolist() if np.ndim(x) else x for x in seen[:-1])
        distribution[repr(shown),] = found.probabilities[key]
    assert sum(distribution.values()).overlaps(arb(1))
    return distribution


def largest_ratio(left: dict[Any, Any], right: dict[Any, Any]) -> Any:
    assert left.keys() == right.keys()
    return max((left[key] / right[key]).log() for key in left)


@pytest.mark.parametrize("name", ["polya", "central", "local"])
def test_the_server_learns_at_most_epsilon_about_one_reward(name: str) -> None:
    """The exact log-ratio of the view for 1 against 0: at most ε, and near it, in all three trust models."""
    sheet = SHEETS[name](users=2, epsilon=1, tail_prob="1/4")
    protocol = BatchProtocol(sheet=sheet, grid=1)
    left, right = view_distribution(protocol, [1.0, 0.0]), view_distribution(protocol, [0.0, 0.0])
    for a, b in ((left, right), (right, left)):
        assert largest_ratio(a, b) <= 1
        assert largest_ratio(a, b) > 0.95


def test_fewer_users_than_planned_make_less_noise_than_promised() -> None:
    """Half of four users present: the view's exact log-ratio exceeds ε; with all of them it does not."""
    protocol = BatchProtocol(sheet=polya_sheet(users=4, epsilon=1, tail_prob="1/4"), grid=1)
    for present, exceeds in ((4, False), (2, True), (1, True)):
        rest = [0.0] * (present - 1)
        ratio = largest_ratio(
            view_distribution(protocol, [1.0, *rest]), view_distribution(protocol, [0.0, *rest])
        )
        assert bool(ratio > 1) == exceeds
    for wrong in ([], [0.0] * 5):
        with pytest.raises(InvalidParameterError, match="1 to 4 users present"):
            protocol(Sampler(np.random.default_rng(1)), wrong)


@pytest.mark.parametrize("name", SHEETS)
def test_one_batch_of_all_replicates_at_once(name: str) -> None:
    """With replicates the decoded sums come as one array, with the mean of the rewards' sum."""
    sheet = SHEETS[name](users=4, epsilon=2, tail_prob="1/1000000")
    coins = Sampler(np.random.default_rng(3), replicates=4000)
    sums = BatchProtocol(sheet=sheet)(coins, [0.5, 0.25, 1.0, 0.3])
    assert sums.shape == (4000,)
    assert abs(sums.mean() - 2.05) < 6 * sums.std() / math.sqrt(4000)


# Messages as bits.


@given(modulus=st.integers(1, 10**9), data=st.data(), count=st.integers(0, 30))
def test_messages_survive_the_wire(modulus: int, data: st.DataObject, count: int) -> None:
    """Packing is invertible and takes ceil(log2 m) bits a message, rounded up to a byte in all."""
    messages = data.draw(st.lists(st.integers(0, modulus - 1), min_size=count, max_size=count))
    packed = pack_residues(messages, modulus=modulus)
    assert unpack_residues(packed, modulus=modulus, count=count) == messages
    assert len(packed) == -(-count * bits_per_residue(modulus) // 8)
    assert (
        2 ** bits_per_residue(modulus) >= modulus > 2 ** (bits_per_residue(modulus) - 1) // 1 - (modulus == 1)
    )


def test_real_messages_take_the_printed_number_of_bits() -> None:
    """Bits per user of messages actually drawn, packed: ceil(log2(n g + 2τ + 1)) for every variant."""
    rng = np.random.default_rng(2)
    for name in ("polya", "skellam", "discrete gaussian", "local"):
        sheet = SHEETS[name](users=256, epsilon="1/2", tail_prob="1/1000")
        messages = (
            rng.integers(sheet.precision + 1, size=256) + sheet.share.sample(rng, (256,))
        ) % sheet.modulus
        packed = pack_residues(messages.tolist(), modulus=sheet.modulus)
        assert 8 * len(packed) / 256 == math.ceil(math.log2(sheet.modulus)), name


def test_integers_have_a_prefix_code() -> None:
    """Distinct integers have codes of which none begins another."""
    codes = [integer_bits(k) for k in range(-40, 41)]
    assert len(set(codes)) == 81
    assert not any(a != b and b.startswith(a) for a in codes for b in codes)
    assert integer_bits(0) == "1"


def test_the_view_of_a_batch_holds_nothing_but_the_aggregate() -> None:
    """Everything that anybody sees of a perfect run is ŷ and the decoded sum."""
    sheet = small_sheet(polya_share(users=2, epsilon=1, precision=1), users=2, precision=1, margin=1)
    protocol = BatchProtocol(sheet=sheet)
    found = enumerate_view(lambda coins, x: protocol(coins, x), [0.5, 1.0], view=EVERYTHING)
    assert {len(seen) for seen in found.transcripts.values()} == {2}
    assert len(found.transcripts) == sheet.modulus
