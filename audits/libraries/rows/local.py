"""Local privacy: pure-ldp, multi-freq-ldpy, ldp-toolbox, trasgodp. The data are one user's value. Any two
values are neighbours."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

from audits.libraries.released import released, seeding
from audits.libraries.second_routes import event
from dpaudit.core.claims import PureDP
from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball

__all__ = ["rows"]

rows = Group("Local privacy")

VALUE = PureDP(epsilon=1, domain="one user's value")
TUPLE = PureDP(epsilon=1, domain="one user's values of three attributes")

MADDOCK = {"package": "pure-ldp", "version": "1.2.0"}
ARCOLEZI = {"package": "multi-freq-ldpy", "version": "0.2.5"}
TOOLBOX = {"package": "ldp-toolbox", "version": "0.1.3"}
TRASGO = {"package": "trasgodp", "version": "2.1.0"}

Found = tuple[Any, list[tuple[Any, Any]]]


def _interpreted() -> None:
    """Switch numba's compiler off before it is imported. The same source then runs with numpy's own
    generator, which can be seeded, and no row has to compile it again."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"


@released(rows, "pure-ldp/direct-encoding", claim=VALUE, **MADDOCK)
def direct_encoding() -> Found:
    """DEClient.privatise is ε-LDP, ε = 1, 4 values (ideal)"""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client = DEClient(1.0, 4, index_mapper=int)
    return seeding(client.privatise), [(0, 3), (1, 2)]


@released(
    rows, "pure-ldp/unary-encoding", claim=VALUE, options={"name": "symmetric", "use_oue": False}, **MADDOCK
)
@released(
    rows, "pure-ldp/optimised-unary", claim=VALUE, options={"name": "optimised", "use_oue": True}, **MADDOCK
)
def unary_encoding(name: str, use_oue: bool) -> Found:
    """UEClient.privatise ({name}) is ε-LDP, ε = 1, 4 values (ideal)"""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    client = UEClient(1.0, 4, use_oue=use_oue, index_mapper=int)
    return seeding(client.privatise), [(0, 3)]


@released(rows, "pure-ldp/histogram-encoding", claim=VALUE, **MADDOCK)
def histogram_encoding() -> Found:
    """HEClient.privatise is ε-LDP, ε = 1, 3 values (ideal)"""
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    client = HEClient(1.0, 3, index_mapper=int)
    return seeding(client.privatise), [(0, 2)]


@released(rows, "pure-ldp/hadamard-response", claim=VALUE, **MADDOCK)
def hadamard_response() -> Found:
    """HadamardResponseClient.privatise is ε-LDP, ε = 1, 4 values (ideal)"""
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient

    client = HadamardResponseClient(1.0, 4, hash_funcs=None, index_mapper=int)
    return seeding(client.privatise), [(0, 3), (1, 2)]


@released(rows, "pure-ldp/hadamard", claim=VALUE, **MADDOCK)
def hadamard_values() -> Found:
    """HadamardMechClient.privatise, as the pairs that it contains, is ε-LDP, ε = 1, 4 values (ideal)"""
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client = HadamardMechClient(1.0, 4, 1, index_mapper=int)
    return seeding(lambda value: list(client.privatise(value))), [(0, 3)]


@released(
    rows,
    "pure-ldp/hadamard/object",
    claim=VALUE,
    role="what-if",
    second=event(
        "a list with the pair (3, 1) is returned",
        inputs=(0, 1),
        p=lambda: ball(1).exp() / (ball(1).exp() + 1) / 4,
        q=lambda: Fraction(0),
    ),
    **MADDOCK,
)
def hadamard_object() -> Found:
    """HadamardMechClient.privatise, as the object that it returns, is ε-LDP, ε = 1, 4 values (ideal)

    Refuted: The type of the object reveals whether the answer is true: privatise returns the list of true
    coefficients as a list, and a changed list as a zip object. The pairs in both are private (the other row
    on this client), and a user who sends only the pairs loses nothing, so this row is a what-if.
    list(zip(...)) repairs it.
    """
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client = HadamardMechClient(1.0, 4, 1, index_mapper=int)

    def shown(value: int) -> tuple[str, Any]:
        returned = client.privatise(value)
        return type(returned).__name__, list(returned)

    return seeding(shown), [(0, 1)]


def _bits(value: Any) -> int:
    """Hash a value for the Bloom filter and the sketch. Two values with different digits never collide."""
    return int(value)


def _other_bits(value: Any) -> int:
    return 2 + int(value)


@released(rows, "pure-ldp/count-mean-sketch", claim=VALUE, options={"name": "", "hadamard": False}, **MADDOCK)
@released(
    rows,
    "pure-ldp/count-mean-sketch/hadamard",
    claim=VALUE,
    options={"name": " (Hadamard)", "hadamard": True},
    **MADDOCK,
)
def count_mean_sketch(name: str, hadamard: bool) -> Found:
    """CMSClient.privatise{name} is ε-LDP, ε = 1, one hash function (ideal)"""
    from pure_ldp.frequency_oracles.apple_cms import CMSClient

    client = CMSClient(1.0, [_bits], 4, is_hadamard=hadamard)
    return seeding(client.privatise), [(0, 1)]


@released(
    rows,
    "pure-ldp/rappor",
    claim=VALUE,
    needs=("sklearn",),
    second=event(
        "both bits of the first value are 1 and both bits of the other are 0",
        inputs=(0, 1),
        p=lambda: Fraction(62, 100) ** 4,
        q=lambda: Fraction(38, 100) ** 4,
    ),
    **MADDOCK,
)
def rappor() -> Found:
    """RAPPORClient with f = convert_eps_to_f(1) and two hash functions is ε-LDP, ε = 1 (ideal)

    Refuted: The method convert_eps_to_f solves ε = 2 ln((1 - f/2) / (f/2)), which is correct for one hash
    function. With k hash functions 2k bits differ, and the cost is k ε (1.958 here, since f is rounded to
    0.76), in agreement with convert_f_to_eps of the same class and the server's own epsilon. Solving for ε/k
    repairs it. The rounding to two digits alone costs 3.033 for ε = 3, and from ε = 12 on it gives f = 0,
    which is no noise.
    """
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    client = RAPPORClient(0.5, 4, [[_bits, _other_bits]], num_of_cohorts=1, index_mapper=int)
    client.update_params(f=client.convert_eps_to_f(1.0), hash_funcs=[[_bits, _other_bits]])
    return seeding(client.privatise), [(0, 1)]


@released(rows, "multi-freq-ldpy/grr", claim=VALUE, **ARCOLEZI)
def grr() -> Found:
    """GRR_Client is ε-LDP, ε = 1, 4 values (ideal)"""
    _interpreted()
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return seeding(lambda value: GRR_Client(value, 4, 1.0)), [(0, 3)]


@released(rows, "multi-freq-ldpy/unary-encoding", claim=VALUE, **ARCOLEZI)
def optimal_unary() -> Found:
    """UE_Client (optimal) is ε-LDP, ε = 1, 4 values (ideal)"""
    _interpreted()
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return seeding(lambda value: UE_Client(value, 4, 1.0, True)), [(0, 3)]


def _subset_first() -> tuple[arb, arb]:
    """Return P(the first entry is v) in a subset of 3 out of 10 values, if v is the user's value and if it is
    not."""
    kept = 3 * ball(1).exp() / (3 * ball(1).exp() + 7)
    return kept, (1 - kept) / 9


@released(
    rows,
    "multi-freq-ldpy/subset",
    claim=VALUE,
    second=event(
        "the first entry is 0", inputs=(0, 1), p=lambda: _subset_first()[0], q=lambda: _subset_first()[1]
    ),
    **ARCOLEZI,
)
def subset() -> Found:
    """SS_Client, as the array that it returns, is ε-LDP, ε = 1, 10 values (ideal)

    Refuted: If the subset contains the user's value, it is written into sub_set[0], and the array is returned
    unshuffled. Otherwise its order is random. The first entry is the value with e^ε · 27/7 times the
    probability under another value: ε = 2.35 for a claim of 1. The docstring promises a set, which is private
    (the other row on this client). Shuffling the array repairs it, as the newer SubsetSelection of
    ldp-toolbox does.
    """
    _interpreted()
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return seeding(lambda value: SS_Client(value, 10, 1.0)), [(0, 1)]


@released(rows, "multi-freq-ldpy/subset/as-a-set", claim=VALUE, **ARCOLEZI)
def subset_as_set() -> Found:
    """SS_Client, as a set, is ε-LDP, ε = 1, 10 values (ideal)"""
    _interpreted()
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return seeding(lambda value: tuple(sorted(SS_Client(value, 10, 1.0).tolist()))), [(0, 1)]


@released(rows, "multi-freq-ldpy/longitudinal-osue", claim=VALUE, **ARCOLEZI)
def longitudinal() -> Found:
    """One report of L_OSUE_Client is ε-LDP with eps_1 = ε = 1, eps_perm = 2, 4 values (ideal)"""
    _interpreted()
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client

    return seeding(lambda value: L_OSUE_Client(value, 4, 2.0, 1.0)), [(0, 3)]


def _sampled(same: bool) -> arb:
    """Return P(the report is the tuple 0, 0, 0) by RS+FD with 3 binary attributes, for a user with 0, 0, 0 or
    with 1, 1, 1. One attribute is reported with ln(3 (e^ε - 1) + 1), the others are fair coins."""
    odds = 3 * (ball(1).exp() - 1) + 1
    return (odds if same else arb(1)) / (odds + 1) / 4


@released(
    rows,
    "multi-freq-ldpy/sampled-and-fake",
    claim=TUPLE,
    second=event(
        "the report is 0, 0, 0",
        inputs=((0, 0, 0), (1, 1, 1)),
        p=lambda: _sampled(True),
        q=lambda: _sampled(False),
    ),
    **ARCOLEZI,
)
def sampled_and_fake() -> Found:
    """RSpFD_GRR_Client is ε-LDP for tuples, ε = 1, three binary attributes (ideal)

    Refuted: One attribute is drawn and reported with the larger budget ln(d (e^ε - 1) + 1), the others are
    fake. Sampling amplifies if the inputs differ in one attribute, and then ε is right (the other row on this
    client). Two users who differ in all attributes differ in the drawn attribute, whichever it is, so the
    loss is the larger budget, ln(3 (e - 1) + 1) = 1.817. Local privacy is about any two users' tuples.
    Reporting the drawn attribute with ε repairs it.
    """
    _interpreted()
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

    return seeding(lambda values: RSpFD_GRR_Client(values, [2, 2, 2], 3, 1.0)), [((0, 0, 0), (1, 1, 1))]


@released(rows, "multi-freq-ldpy/sampled-and-fake/one-attribute", claim=TUPLE, **ARCOLEZI)
def sampled_and_fake_one() -> Found:
    """RSpFD_GRR_Client is ε-LDP for tuples that differ in one attribute, ε = 1 (ideal)"""
    _interpreted()
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

    return seeding(lambda values: RSpFD_GRR_Client(values, [2, 2, 2], 3, 1.0)), [((0, 0, 0), (1, 0, 0))]


@released(rows, "ldp-toolbox/subset", claim=VALUE, **TOOLBOX)
def toolbox_subset() -> Found:
    """SubsetSelection.obfuscate is ε-LDP, ε = 1, 10 values (ideal)"""
    _interpreted()
    from ldp_toolbox.protocols.frequency.ss import SubsetSelection

    protocol = SubsetSelection(10, 1.0)
    return seeding(lambda value: protocol.obfuscate(value)), [(0, 1)]


@released(rows, "ldp-toolbox/unary-encoding", claim=VALUE, **TOOLBOX)
def toolbox_unary() -> Found:
    """UnaryEncoding.obfuscate is ε-LDP, ε = 1, 4 values (ideal)"""
    _interpreted()
    from ldp_toolbox.protocols.frequency.ue import UnaryEncoding

    protocol = UnaryEncoding(4, 1.0)
    return seeding(lambda value: protocol.obfuscate(value)), [(0, 3)]


def _letter_shown(stays: arb, moves: arb) -> arb:
    """Return P(the output has the letter d) for 4 rows, one of which is d: unless that row changes and no
    other becomes d."""
    return 1 - (1 - stays) * (1 - moves) ** 3


@released(
    rows,
    "trasgodp/k-ary-response",
    claim=VALUE,
    second=event(
        "d is shown",
        inputs=(["a", "b", "c", "d"], ["a", "b", "c", "c"]),
        p=lambda: _letter_shown(ball(1).exp() / (ball(1).exp() + 3), 1 / (ball(1).exp() + 3)),
        q=lambda: Fraction(0),
    ),
    **TRASGO,
)
def k_ary_response() -> Found:
    """dp_randomized_response_kary_array is ε-LDP for each entry, ε = 1 (ideal)

    Refuted: The function draws replacement values from np.unique(data), the categories that occur. If a
    category occurs once, changing that entry removes it from the possible outputs (and with two categories
    left the function raises). For public categories the probabilities are right, so passing the categories
    repairs it. dp_randomized_response_binary_array does the same.
    """
    from trasgodp.categorical import dp_randomized_response_kary_array

    mechanism = seeding(lambda data: dp_randomized_response_kary_array(data, 1.0).tolist())
    return mechanism, [(["a", "b", "c", "d"], ["a", "b", "c", "c"])]


def _half_exponential() -> tuple[arb, arb]:
    total = ball(Fraction(1, 2)).exp() + 3
    return ball(Fraction(1, 2)).exp() / total, 1 / total


@released(
    rows,
    "trasgodp/exponential",
    claim=VALUE,
    second=event(
        "d is shown",
        inputs=(["a", "b", "c", "d"], ["a", "b", "c", "c"]),
        p=lambda: _letter_shown(*_half_exponential()),
        q=lambda: Fraction(0),
    ),
    **TRASGO,
)
def exponential() -> Found:
    """dp_exponential_array is ε-LDP for each entry, ε = 1 (ideal)

    Refuted: As in the k-ary response, the categories are np.unique(data). A category that occurs once is no
    longer a possible output when that entry changes. Passing the categories repairs it.
    """
    from trasgodp.categorical import dp_exponential_array

    mechanism = seeding(lambda data: dp_exponential_array(data, 1.0).tolist())
    return mechanism, [(["a", "b", "c", "d"], ["a", "b", "c", "c"])]


@released(rows, "trasgodp/laplace", claim=PureDP(epsilon=1, domain="a number in [0, 1]"), **TRASGO)
def clipped_laplace() -> Found:
    """dp_clip_laplace_array is ε-LDP for each entry, ε = 1 (ideal)"""
    from trasgodp.numerical import dp_clip_laplace_array

    mechanism = seeding(lambda data: dp_clip_laplace_array(data, 1.0, 0.0, 1.0))
    return mechanism, [([0.0, 0.5], [1.0, 0.5])]


@released(
    rows,
    "trasgodp/metric-privacy",
    claim=PureDP(epsilon="1.112", domain="a location; neighbours are 111.2 metres apart"),
    second=event(
        "the output is the first location with the noise of seed 42",
        inputs=((40.0, 0.0), (40.001, 0.0)),
        p=lambda: Fraction(1),
        q=lambda: Fraction(0),
    ),
    runs=(2_000, 4_000),
    **TRASGO,
)
def metric_privacy() -> Found:
    """metric_privacy with its default arguments is ε d-private at a distance d, ε = 1/100 per metre (ideal)

    Refuted: The parameter seed is 42 by default and goes to np.random.seed in each call, so everybody knows
    the noise and can subtract it. seed=None repairs only this part: the result also has the column radius_m,
    the true distance between the location and the published location, which the pure mechanism does not
    output.
    """
    import pandas as pd
    from trasgodp.geoindis import metric_privacy as shown

    def mechanism(data: tuple[float, float], rng: Any) -> list[float]:
        frame = pd.DataFrame({"lat": [data[0]], "lon": [data[1]]})
        released_frame = shown(frame, "lat", "lon", 0.01)
        return [float(number) for number in released_frame.to_numpy()[0]]

    return mechanism, [((40.0, 0.0), (40.001, 0.0))]
