"""Views of claims: joint privacy, trusted and untrusted servers, adaptive data, and selected rows."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpaudit import PrivacyAudit, views
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.data import Anything, Interval, Records
from dpaudit.core.verdicts import judge
from dpaudit.core.views import (
    CHANGED_USER,
    EVERYBODY_ELSE,
    EVERYTHING,
    NOBODY,
    PUBLIC,
    SERVER,
    SHUFFLER_OUTPUT,
    Principal,
    View,
    user,
)
from dpaudit.distributions import Bernoulli, Gaussian, Laplace, NoisyArgmax
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.claim import ASSUMED, require_match
from dpaudit.kernel.values.views import read_view
from dpaudit.prover.values.explain import explained
from dpaudit.prover.values.prove import prove_values
from tests.prover.values.test_evidence import outcome_of

SIZE = 4
DATA = Records(Interval(0, 1), size=SIZE)
ROWS = Records(Interval(-1, 1), size=SIZE, width=3)
USERS = Records(Interval(-1, 1), size=SIZE, width=6)
JOINT = PureDP(epsilon=1, view=EVERYBODY_ELSE)
BUT_THE_SERVER = View.everybody_but(SERVER, CHANGED_USER)
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
ALL_VIEWS = (EVERYBODY_ELSE, View.of(PUBLIC), View.of(SERVER), View.of(SHUFFLER_OUTPUT), View.of(user(3)),
             EVERYTHING, View.everybody_but(user(0)), BUT_THE_SERVER)  # fmt: skip


def total(coins: Any, data: Any, scale: float = 1.0) -> Any:
    return coins.release(data.sum(), Laplace(scale=scale), site="sum")


# Programs that are jointly private, with the claims that they satisfy.


def own_arm(coins: Any, data: Any) -> None:
    known = total(coins, data)
    for i in range(SIZE):
        coins.reveal(known * data[i] > 1, site="arm", to=user(i))


def own_record(coins: Any, data: Any) -> None:
    for i, record in enumerate(data):
        coins.reveal(record, site="own", to=views.user(i))
    total(coins, data)


def own_summary(coins: Any, data: Any) -> Any:
    known = total(coins, data)
    for i in range(SIZE):
        coins.reveal({"here": [data[i], known], "text": "a"}, site="arm", to=[user(i), NOBODY])
    return known


def in_reverse(coins: Any, data: Any) -> Any:
    turned = data[::-1]
    coins.reveal(turned[0], site="last", to=user(SIZE - 1))
    return total(coins, data)


def each_other_in_a_copy(coins: Any, data: Any) -> Any:
    own = [data[i] for i in range(SIZE)]
    coins.reveal(own[2] * 3 - own[2], site="last", to=user(2))
    return total(coins, data)


def items(coins: Any, data: Any, sigma: float = 2.0) -> None:
    known = np.zeros(2)
    for i in range(SIZE):
        arm = np.argmax(FEATURES @ (known + data[i, :2]))
        coins.reveal(arm, site="arm", to=user(i))
        known = known + coins.release(FEATURES[arm], Gaussian(sigma=sigma), site="features")


def clicks(coins: Any, data: Any, scale: float = 2.0) -> None:
    known = np.zeros(3)
    for i in range(SIZE):
        arm = np.argmax(known + data[i])
        coins.reveal((arm, known), site="arm", to=user(i))
        known = known + coins.release(np.eye(3)[arm], Laplace(scale=scale), site="counts")


def unit(x: Any) -> Any:
    return x / np.maximum(1, np.linalg.norm(x))


def optimistic(contexts: Any, known: Any) -> Any:
    inverse = np.linalg.pinv(10 * np.eye(2) + known[:4].reshape(2, 2))
    bonus = np.abs(((contexts @ inverse) * contexts).sum(axis=1)) ** 0.5
    return np.argmax(contexts @ inverse @ known[4:] + bonus)


def linear_ucb(coins: Any, data: Any, sigma: float = 2.5, next_too: int = 0, clipped: bool = True) -> None:
    """Linear UCB by batches of two users (Shariff and Sheffet 2018). A user changes a batch by at most 6."""
    known, played = np.zeros(6), np.zeros(6)
    for i, row in enumerate(data):
        pair = row[:4].reshape(2, 2)
        contexts = np.stack([unit(pair[0]), unit(pair[1])]) if clipped else pair
        rewards = np.clip(row[4:], -1, 1)
        arm = optimistic(contexts, known)
        coins.reveal(arm, site="action", to=[user(j % SIZE) for j in range(i, i + 1 + next_too)])
        x = contexts[arm]
        played = played + np.concatenate([np.outer(x, x).ravel(), rewards[arm] * x])
        if (i + 1) % 2 == 0:
            known = known + coins.release(played, Gaussian(sigma=sigma), site="statistics")
            played = np.zeros(6)


def chosen_features(data: Any, rng: Any, scale: float = 2.0) -> Any:
    """Sum the features that each record selects: at most sqrt(2) far, and nonnegative."""
    return FEATURES[np.argmax(data, axis=1)].sum(axis=0) + rng.normal(scale=scale, size=2)


UCB = GaussianDP(mu=1, view=EVERYBODY_ELSE)

RIGHT: dict[str, tuple[Any, Any, Any]] = {
    "own arm": (own_arm, JOINT, DATA),
    "own record": (own_record, JOINT, DATA),
    "own record, zero out": (own_record, PureDP(epsilon=1, view=EVERYBODY_ELSE, adjacency="zero-out"), DATA),
    "own summary": (own_summary, JOINT, DATA),
    "reverse": (in_reverse, JOINT, DATA),
    "copy": (each_other_in_a_copy, JOINT, DATA),
    "items": (items, GaussianDP(mu=1, view=EVERYBODY_ELSE), ROWS),
    "items, rho": (items, ZeroConcentratedDP(rho="1/4", view=EVERYBODY_ELSE), ROWS),
    "items, delta": (items, ApproxDP(epsilon=2, delta="0.01", view=EVERYBODY_ELSE), ROWS),
    "clicks": (clicks, JOINT, ROWS),
    "adaptive clicks": (clicks, PureDP(epsilon=1, view=EVERYBODY_ELSE, adversary="adaptive"), ROWS),
    "linear UCB": (linear_ucb, UCB, USERS),
    "linear UCB on anything": (linear_ucb, UCB, Records(Anything(), size=SIZE, width=6)),
    "selected features": (chosen_features, GaussianDP(mu=1), Records(Interval(-1, 1), width=3)),
    "server": (total, PureDP(epsilon=1, view=View.of(SERVER)), DATA),
    "every size": (total, PureDP(epsilon=1, view=EVERYBODY_ELSE), Records(Interval(0, 1))),
    "adaptive": (total, PureDP(epsilon=1, adversary="adaptive"), DATA),
    "adaptive mu": (items, GaussianDP(mu=1, view=EVERYBODY_ELSE, adversary="adaptive"), ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_private_programs_are_verified(name: str) -> None:
    """The prover derives the claim, and the kernel confirms it for this claim from the certificate alone."""
    program, claim, data = RIGHT[name]
    found = prove_values(program, claim, data=data)
    assert (found.verdict, found.reason) == ("verified", "")
    confirm(found, claim, data)


def written(found: Any, claim: Any, data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a proof and its claim as a report stores them."""
    quantity = {"pure-dp": "epsilon", "gdp": "mu", "zcdp": "rho", "approx-dp": "delta"}[claim.type]
    proof = {"body": found.certificate, "quantity": quantity, "scope": data.words, "assumptions": [*ASSUMED]}
    about = {**claim.to_json(), "domain": data.words}
    return json.loads(json.dumps({**proof, "bound": str(found.bound)})), json.loads(json.dumps(about))


def confirm(found: Any, claim: Any, data: Any) -> Fraction:
    proof, about = written(found, claim, data)
    return require_match(proof, about, check(proof["body"]))


# Wrong programs. Replays refute those with a name in REFUTED.


def shown_to_the_next(coins: Any, data: Any) -> None:
    known = total(coins, data)
    for i in range(SIZE):
        coins.reveal(known * data[i] > 1, site="arm", to=user((i + 1) % SIZE))


def shown_to_both(coins: Any, data: Any) -> None:
    total(coins, data)
    coins.reveal(data[0], site="own", to=[user(0), user(1)])


def shown_to_the_public(coins: Any, data: Any) -> None:
    total(coins, data)
    coins.reveal(data[0], site="own")


def shown_to_the_public_too(coins: Any, data: Any) -> None:
    total(coins, data)
    coins.reveal(data[0], site="own", to=(user(0), PUBLIC))


def shown_to_the_server(coins: Any, data: Any) -> None:
    total(coins, data)
    coins.reveal(data[0], site="own", to=(user(0), SERVER))


def returned_too(coins: Any, data: Any) -> Any:
    total(coins, data)
    return coins.reveal(data[0], site="own", to=user(0))


def released_bare(coins: Any, data: Any) -> Any:
    own = coins.reveal(data[0], site="own", to=user(0))
    coins.release(own, Laplace(scale=0.5), site="own")


def forked_on(coins: Any, data: Any) -> Any:
    if coins.reveal(data[0] > 0.5, site="own", to=user(0)):
        return total(coins, data)
    return 0.0


def of_two_records(coins: Any, data: Any) -> None:
    coins.reveal(data[0] + data[1], site="own", to=user(0))


def of_two_records_minus_one(coins: Any, data: Any) -> None:
    coins.reveal(data.sum() - data[1:].sum(), site="own", to=user(0))


def of_a_maximum(coins: Any, data: Any) -> None:
    coins.reveal(data.max(), site="own", to=user(0))


def of_the_table(coins: Any, data: Any) -> None:
    coins.reveal(data, site="own", to=user(0))


def of_a_slice(coins: Any, data: Any) -> None:
    coins.reveal(data[1:3], site="own", to=user(1))


def off_by_one(coins: Any, data: Any) -> None:
    for i in range(1, SIZE):
        coins.reveal(data[i], site="own", to=user(i - 1))


def reversed_wrongly(coins: Any, data: Any) -> None:
    turned = data[::-1]
    for i in range(SIZE):
        coins.reveal(turned[i], site="own", to=user(i))


def sorted_first(coins: Any, data: Any) -> None:
    ranked = np.sort(data)
    for i in range(SIZE):
        coins.reveal(ranked[i], site="own", to=user(i))


def to_a_user_that_does_not_exist(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=user(SIZE))


def to_another_spelling(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=OTHER)


OTHER = Principal("user-00")


def to_the_changed_user(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=CHANGED_USER)


def through_a_selected_row(coins: Any, data: Any) -> None:
    place = np.argmax(data[0])
    coins.reveal(np.stack([data[1], data[2], data[3]])[place], site="own", to=user(0))


def by_a_place_of_another(coins: Any, data: Any) -> None:
    place = np.argmax(data[1])
    coins.reveal(data[0][place], site="own", to=user(0))


def halved(coins: Any, data: Any) -> None:
    own_arm(coins, data)
    total(coins, data)


WRONG: dict[str, tuple[Any, Any, Any]] = {
    **{
        program.__name__: (program, JOINT, DATA)
        for program in (
            shown_to_the_next, shown_to_both, shown_to_the_public, shown_to_the_public_too,
            shown_to_the_server, returned_too, released_bare, forked_on, of_two_records,
            of_a_maximum, of_the_table, of_a_slice,
            off_by_one, reversed_wrongly, sorted_first, to_a_user_that_does_not_exist, to_another_spelling,
            to_the_changed_user, halved,
        )
    },
    "selected": (through_a_selected_row, JOINT, ROWS),
    "selected by another": (by_a_place_of_another, JOINT, ROWS),
    "too little noise": (partial(total, scale=0.5), JOINT, DATA),
    "items": (partial(items, sigma=1.4), GaussianDP(mu=1, view=EVERYBODY_ELSE), ROWS),
    "clicks": (partial(clicks, scale=1.9), JOINT, ROWS),
    "UCB": (partial(linear_ucb, next_too=1), UCB, USERS),
    "UCB, noise": (partial(linear_ucb, sigma=2.1), UCB, USERS),
    "UCB, lengths": (partial(linear_ucb, clipped=False), UCB, USERS),
    "features": (partial(chosen_features, scale=1.4), GaussianDP(mu=1), Records(Interval(-1, 1), width=3)),
    "features, add-remove": (
        partial(chosen_features, scale=0.99),
        GaussianDP(mu=1, adjacency="add-remove"),
        Records(Interval(-1, 1), width=3),
    ),
    "add-remove": (own_record, PureDP(epsilon=1, view=EVERYBODY_ELSE, adjacency="add-remove"), DATA),
    "group": (
        own_record,
        PureDP(epsilon=9, view=EVERYBODY_ELSE, unit="user"),
        Records(Interval(0, 1), size=SIZE, group=2),
    ),
    "public server": (shown_to_the_server, PureDP(epsilon=1, view=View.of(SERVER)), DATA),
    "own view": (own_record, PureDP(epsilon=1, view=View.of(user(3))), DATA),
    "everything": (own_record, PureDP(epsilon=1, view=EVERYTHING), DATA),
    "one user": (own_record, PureDP(epsilon=1, view=View.everybody_but(user(0))), DATA),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_not_verified(name: str) -> None:
    """Values in the view, values of two records, too little noise, and groups of records are not verified."""
    program, claim, data = WRONG[name]
    assert prove_values(program, claim, data=data).verdict == "inconclusive"


def test_a_value_that_cancels_is_not_trusted() -> None:
    """A sum minus the other records depends on all of them by its support, although the numbers agree."""
    assert prove_values(of_two_records_minus_one, JOINT, data=DATA).verdict == "inconclusive"


REPLAYED = ["own arm", "own record", "own summary", "reverse"]


@pytest.mark.parametrize("name", REPLAYED)
def test_replays_agree_with_the_proof(name: str) -> None:
    """Replays in the same view find no violation, and the row is verified."""
    program, claim, data = RIGHT[name]
    claimed, outcome, _ = outcome_of(PrivacyAudit(claim=claim, program=program, data=data))
    assert judge(claimed, outcome.evidence, unmet=outcome.unmet, alpha=0.05).verdict == "verified"


@pytest.mark.parametrize(
    "name", ["shown_to_the_next", "shown_to_both", "shown_to_the_server", "of_two_records", "off_by_one"]
)
def test_replays_refute_what_another_user_sees(name: str) -> None:
    """Replays refute a value that another user sees, so the program is not private."""
    program, claim, data = WRONG[name]
    claimed, outcome, _ = outcome_of(PrivacyAudit(claim=claim, program=program, data=data))
    assert judge(claimed, outcome.evidence, unmet=outcome.unmet, alpha=0.05).verdict == "refuted"


# Views and audiences.


def trusted(coins: Any, data: Any) -> Any:
    coins.reveal(data, site="raw", to=SERVER)
    return total(coins, data)


def test_a_trusted_server_sees_the_data() -> None:
    """What only the server sees is outside the public view, and inside the view of the server."""
    verdicts = {
        view: prove_values(trusted, PureDP(epsilon=1, view=view), data=DATA).verdict for view in ALL_VIEWS
    }
    unseen = (View.of(PUBLIC), View.of(SHUFFLER_OUTPUT), View.of(user(3)), BUT_THE_SERVER)
    assert verdicts == {view: "verified" if view in unseen else "inconclusive" for view in ALL_VIEWS}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
def test_a_fixed_view_does_not_need_the_positions_of_users(adjacency: str) -> None:
    """What a view never sees is free for every adjacency and every number of records."""
    claim = PureDP(epsilon=1, view=View.of(SHUFFLER_OUTPUT), adjacency=adjacency)
    assert prove_values(trusted, claim, data=Records(Interval(0, 1))).verdict == "verified"


def to_some(coins: Any, data: Any) -> Any:
    coins.release(data.sum(), Laplace(scale=2), site="sum", to=[SERVER, user(2)])
    return coins.observe(NoisyArgmax(data[:2], Laplace(scale=4)), site="place", to=(SERVER,))


def test_releases_to_others_are_charged() -> None:
    """A release that a view does not see is charged all the same: the bound is 3/4 in every view."""
    for view in ALL_VIEWS:
        found = prove_values(to_some, PureDP(epsilon="0.8", view=view), data=DATA)
        assert (found.verdict, found.bound) == ("verified", Fraction(3, 4))
        assert prove_values(to_some, PureDP(epsilon="0.7", view=view), data=DATA).verdict == "inconclusive"


PEOPLE = [PUBLIC, SERVER, NOBODY, SHUFFLER_OUTPUT, *(user(k) for k in range(4)), CHANGED_USER, OTHER]
SUPPORTS: list[Any] = [(), ((0, 1, 1),), ((1, 3, 1),), ((2, 3, 1),), ((0, 4, 3),), ((3, None, 1),), None]


@pytest.mark.parametrize("complement", [True, False])
def test_the_kernel_never_misses_what_a_view_sees(complement: bool) -> None:
    """If the kernel calls a value free, no changed user in its support has a view that sees it."""
    free = 0
    for size in (1, 2, 3):
        for principals in itertools.combinations(PEOPLE, size):
            view = View(frozenset(principals), complement)
            mine = read_view(view.to_json())
            for people in itertools.chain(*(itertools.combinations(PEOPLE, n) for n in (1, 2))):
                for support in SUPPORTS:
                    names = [one.name for one in people]
                    if not mine.misses(names, support, one_user_per_record=True):
                        continue
                    free += 1
                    parts = ((0, None, 1),) if support is None else support
                    records = {k for a, b, by in parts for k in range(a, 9 if b is None else b, by)}
                    assert not any(view.for_user(k).sees(frozenset(people)) for k in records)
                    fixed = CHANGED_USER not in principals
                    assert mine.misses(names, None, one_user_per_record=False) or not fixed
    assert free > 1_000


# Adaptive data.


def hidden_comparison(coins: Any, data: Any) -> bool:
    """The sparse vector technique: at most 1 with hidden noise, and 3/2 if all noisy sums are released."""
    threshold = 1 + coins.draw(Laplace(scale=2), site="threshold")
    for _ in range(6):  # noqa: SIM110 (an unrolled any() reads worse)
        if data.sum() + coins.draw(Laplace(scale=4), site="noise") > threshold:
            return True
    return False


def test_hidden_noise_does_not_cover_adaptive_data() -> None:
    """A comparison of hidden noise is verified for data fixed in advance only."""
    assert prove_values(hidden_comparison, PureDP(epsilon=1), data=DATA).verdict == "verified"
    adaptive = PureDP(epsilon=1, adversary="adaptive")
    assert prove_values(hidden_comparison, adaptive, data=DATA).verdict == "inconclusive"
    found = prove_values(hidden_comparison, PureDP(epsilon=1), data=DATA)
    assert not check(found.certificate).adaptive
    with pytest.raises(CertificateError):
        confirm(found, adaptive, DATA)


def hidden_and_own(coins: Any, data: Any) -> bool:
    """Stay private, but combine what the rules do not."""
    coins.reveal(data[0], site="own", to=user(0))
    return hidden_comparison(coins, data)


def test_hidden_noise_and_own_values_are_not_combined() -> None:
    """The proof of free values fixes all outcomes, and hidden noise has none."""
    assert prove_values(hidden_and_own, JOINT, data=DATA).verdict == "inconclusive"


# Certificates.


@pytest.mark.parametrize("view", ALL_VIEWS)
def test_a_certificate_confirms_its_own_view_only(view: View) -> None:
    """A claim with another view than the certificate's is refused, in both directions."""
    found = prove_values(total, PureDP(epsilon=1, view=view), data=DATA)
    for other in ALL_VIEWS:
        claim = PureDP(epsilon=1, view=other)
        if other == view:
            assert confirm(found, claim, DATA) == 1
        else:
            with pytest.raises(CertificateError):
                confirm(found, claim, DATA)


FORGED: dict[str, Any] = {
    "no view": lambda body: body.pop("view"),
    "view as text": lambda body: body.update(view="public"),
    "unsorted": lambda body: body["view"].update(principals=["user-1", "public"]),
    "extra key": lambda body: body["view"].update(more=1),
    "complement as number": lambda body: body["view"].update(complement=1),
    "public view": lambda body: body.update(view={"principals": ["public", "user-0"], "complement": False}),
    "everybody": lambda body: body.update(view={"principals": [], "complement": True}),
    "other user": lambda body: body["releases"][-1].update(to=["user-1"]),
    "also the server": lambda body: body["releases"][-1].update(to=["server", "user-0"]),
    "no audience": lambda body: body["releases"][-1].update(to=[]),
    "audience as text": lambda body: body["releases"][-1].update(to="user-0"),
    "other value": lambda body: body["releases"][-1].update(node=0),
    "missing value": lambda body: body["releases"][-1].update(node=10**6),
    "group": lambda body: body["adjacency"].update(group=2),
    "add-remove": lambda body: body["adjacency"].update(kind="add-remove"),
}


@pytest.mark.parametrize("name", FORGED)
def test_edited_certificates_are_refused(name: str) -> None:
    """The kernel derives again that the view does not see the value."""

    def one(coins: Any, data: Any) -> None:
        total(coins, data)
        coins.reveal(data[0], site="own", to=user(0))

    found = prove_values(one, JOINT, data=DATA)
    body = json.loads(json.dumps(found.certificate))
    assert check(body).epsilon == 1
    FORGED[name](body)
    with pytest.raises(ValuesProofError):
        check(body)


def test_the_table_of_a_proof_shows_free_values() -> None:
    """The table lists a revealed value with the law ``reveal``."""
    found = prove_values(own_record, JOINT, data=DATA)
    assert explained(found).count(": reveal") == SIZE


# Hostile uses of users, audiences and selected rows.


def user_by_data(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=user(int(data[0])))


def user_by_outcome(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=user(int(coins.observe(Bernoulli(p=0.5), site="coin"))))


def user_by_truth(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=user(True))


def user_below_zero(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=user(-1))


def audience_of_none(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=[])


def audience_of_names(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to="user-0")


def audience_of_a_dict(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to={user(0): 1})


def audience_changed_later(coins: Any, data: Any) -> None:
    people = [user(0)]
    for _ in range(2):
        coins.reveal(data[0], site="own", to=people)
        people.append(SERVER)


def audience_by_data(coins: Any, data: Any) -> None:
    coins.reveal(data[0], site="own", to=[user(0), user(1)][int(data[0] > 0.5)])


def order_by_data(coins: Any, data: Any) -> None:
    for i in np.argsort(data):
        coins.reveal(data[0], site="own", to=user(int(i)))


def filtered_by_data(coins: Any, data: Any) -> None:
    coins.reveal(data[data > 0.5], site="own", to=user(0))


def bare_table(coins: Any, data: Any) -> None:
    coins.reveal(data.T, site="own", to=user(0))


def noise_kept(coins: Any, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(data[0] + noise, site="own", to=user(0))
    coins.reveal(data.sum() + noise, site="sum")


def noise_told(coins: Any, data: Any) -> None:
    noise = coins.draw(Laplace(scale=1), site="noise")
    coins.reveal(noise, site="noise", to=user(1))
    coins.reveal(data.sum() + noise, site="sum")


def into_a_list(coins: Any, data: Any) -> Any:
    seen = []
    seen.append(coins.reveal(data[0], site="own", to=user(0)))
    return seen


def into_text(coins: Any, data: Any) -> Any:
    return f"{coins.reveal(data[0], site='own', to=user(0))}"


def printed(coins: Any, data: Any) -> None:
    print(coins.reveal(data[0], site="own", to=user(0)))  # noqa: T201


def raised(coins: Any, data: Any) -> None:
    raise ValueError(coins.reveal(data[0], site="own", to=user(0)))


def changed_in_place(coins: Any, data: Any) -> None:
    own = data[:1] * 1
    coins.reveal(own, site="own", to=user(0))
    own += data[1:2]
    coins.reveal(own, site="own", to=user(0))


def place_of(data: Any, count: int) -> Any:
    """Return the place of the largest number of user 0."""
    return np.argmax(data[0, :count])


def changed_row(coins: Any, data: Any) -> Any:
    table = np.zeros((2, 2))
    row = table[place_of(data, 2)]
    row += 1000.0
    return coins.release(table.sum(), Laplace(scale=1), site="sum")


def changed_table(coins: Any, data: Any) -> Any:
    table = np.zeros((2, 2))
    row = table[place_of(data, 2)]
    table += 1000.0
    return coins.release(row, Laplace(scale=1), site="sum")


def index_below_zero(coins: Any, data: Any) -> Any:
    return coins.release(np.array([0.0, 9.0])[-place_of(data, 3)], Laplace(scale=9), site="x")


def index_beyond(coins: Any, data: Any) -> Any:
    return coins.release(np.array([0.0, 0.5])[place_of(data, 3)], Laplace(scale=1), site="x")


def index_of_a_truth(coins: Any, data: Any) -> Any:
    return coins.release(np.array([0.0, 1.0])[data[0, 0] > 0.5], Laplace(scale=1), site="x")


def index_of_a_list(coins: Any, data: Any) -> Any:
    return coins.release([0.0, 1.0][place_of(data, 2)], Laplace(scale=0.5), site="x")


def far_apart(coins: Any, data: Any) -> Any:
    return coins.release(np.array([-1.0, 1.0])[place_of(data, 2)], Laplace(scale=1), site="x")


def twice(coins: Any, data: Any) -> Any:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    return coins.release(rows[place_of(data, 2)], Laplace(scale=1), site="x")


def of_the_places(coins: Any, data: Any) -> Any:
    return coins.release(np.array([0, 1, 3])[place_of(data, 3)], Laplace(scale=2), site="x")


def selected_unbounded(coins: Any, data: Any) -> Any:
    known = np.zeros(2) + coins.release(data[0, :2], Laplace(scale=8), site="a")
    return coins.release(known[place_of(data, 2)], Laplace(scale=2), site="b")


def tables_of_all(coins: Any, data: Any) -> Any:
    stacked = np.stack([data[0], data[2]])
    return coins.release(stacked[place_of(data, 2)], Laplace(scale=1), site="b")


HOSTILE = [
    user_by_data, user_by_outcome, user_by_truth, user_below_zero, audience_of_none, audience_of_names,
    audience_of_a_dict, audience_changed_later, audience_by_data, order_by_data, filtered_by_data, bare_table,
    noise_kept, noise_told, into_a_list, into_text, printed, raised, changed_in_place,
]  # fmt: skip

SELECTING = [
    changed_row, changed_table, index_below_zero, index_beyond, index_of_a_truth, index_of_a_list,
    far_apart, twice, of_the_places,
    selected_unbounded, tables_of_all,
]  # fmt: skip


@pytest.mark.parametrize("program", HOSTILE, ids=lambda program: program.__name__)
def test_hostile_programs_are_not_verified(program: Any) -> None:
    """Audiences that data decide, shared noise, changed tables and wide tables are not verified."""
    assert prove_values(program, JOINT, data=DATA).verdict == "inconclusive"


@pytest.mark.parametrize("program", SELECTING, ids=lambda program: program.__name__)
def test_hostile_selections_are_not_verified(program: Any) -> None:
    """Selected rows that alias a table, places outside it, and wide tables are not verified."""
    assert prove_values(program, JOINT, data=ROWS).verdict == "inconclusive"


def bounded(coins: Any, data: Any) -> Any:
    return coins.release(np.array([0.0, 0.25, 1.0])[place_of(data, 3)], Laplace(scale=1), site="x")


def test_the_bound_of_a_selected_number_is_the_width_of_the_table() -> None:
    """The table spans [0, 1], so the bound is 1."""
    found = prove_values(bounded, JOINT, data=ROWS)
    assert (found.verdict, found.bound) == ("verified", 1)


def by_eigenvalues(coins: Any, data: Any) -> None:
    shown = coins.release(data[0, :4], Gaussian(sigma=10), site="first").reshape(2, 2)
    values, vectors = np.linalg.eigh(shown)
    inverse = np.linalg.inv(np.array([[float(values[0]), 0.0], [float(vectors[0, 0]), 1.0]]))
    coins.release(np.clip((data[1, :2] @ inverse).sum(), 0, 1), Gaussian(sigma=10), site="second")


def by_logarithm(coins: Any, data: Any) -> None:
    shown = coins.release(data[0, :4], Gaussian(sigma=10), site="first").reshape(2, 2)
    size = float(np.linalg.slogdet(shown)[1])
    inverse = np.linalg.inv(np.array([[size, 0.0], [0.0, 1.0]]))
    coins.release(np.clip((data[1, :2] @ inverse).sum(), 0, 1), Gaussian(sigma=10), site="second")


@pytest.mark.parametrize(
    ("program", "verdict"), [(by_eigenvalues, "verified"), (by_logarithm, "inconclusive")]
)
def test_functions_of_released_matrices(program: Any, verdict: str) -> None:
    """Eigenvalues of released numbers are finite. The logarithm of a determinant may be -inf."""
    found = prove_values(program, GaussianDP(mu=10), data=Records(Interval(-1, 1), size=SIZE, width=6))
    assert found.verdict == verdict, found.reason
    assert verdict == "verified" or "infinite" in found.reason
