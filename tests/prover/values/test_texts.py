"""Functions of private texts: their rule, their programs, wrong versions, and hostile programs."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit import PureDP, Records, Table, Texts, ZeroConcentratedDP, audit
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.steps import OF_TEXTS, OPERANDS, RULES, derive
from dpaudit.kernel.values.texts import CASES, EXPANSION
from dpaudit.prover.values.prove import ValuesProof, prove_values

SCORES = {"a": 3, "error": 1, 7: 50}
WEIGHTS = {"a": 0.5, "error": -0.25}
GROUP = {"a": 1, "b": 2, "error": 3}
MIXED = {"a": 1, "b": 0.5}
ALLOWED = {"a", "error", 3}
TAGS = ("a", "e")


def of_longest(longest: int | None = 200, size: Any = 5) -> Records:
    return Records(Texts(longest=longest), size=size, container="list")


def proved(
    program: Callable[..., Any],
    data: Records,
    claim: Any = None,
    adjacency: str = "replace-one",
) -> ValuesProof:
    return prove_values(program, claim or PureDP(epsilon=1, adjacency=adjacency), data=data)


# Right programs. Each has the scale of its change divided by epsilon.


def errors(texts, rng, scale=1):
    return sum(1 for t in texts if "error" in t) + rng.laplace(scale=scale)


def clipped_lengths(texts, rng, scale=100):
    return np.clip([len(t) for t in texts], 0, 100).sum() + rng.laplace(scale=scale)


def smaller_lengths(texts, rng, scale=100):
    return sum(min(len(t), 100) for t in texts) + rng.laplace(scale=scale)


def declared_lengths(texts, rng, scale=200):
    return sum(len(t) for t in texts) + rng.laplace(scale=scale)


def upper_lengths(texts, rng, scale=600):
    return sum([len(t.strip().upper()) for t in texts]) + rng.laplace(scale=scale)


def scores(texts, rng, scale=3):
    return sum([SCORES.get(t, 0) for t in texts]) + rng.laplace(scale=scale)


def default_score(texts, rng, scale=5):
    return sum(SCORES.get(t.lower(), 6) for t in texts) + rng.laplace(scale=scale)


def weights(texts, rng, scale=0.75):
    return sum(WEIGHTS.get(t, 0.0) for t in texts) + rng.laplace(scale=scale)


def histogram(texts, rng, scale=2):
    return np.bincount([GROUP.get(t, 0) for t in texts], minlength=4) + rng.laplace(scale=scale, size=4)


def starts(texts, rng, scale=1):
    return sum(t.startswith(TAGS) for t in texts) + rng.laplace(scale=scale)


def spaces(texts, rng, scale=5):
    return sum(min(t.replace("-", " ").count(" "), 5) for t in texts) + rng.laplace(scale=scale)


def pairs_of_letters(texts, rng, scale=100):
    return sum(t.lower().count("ab") for t in texts) + rng.laplace(scale=scale * 3)


def allowed(texts, rng, scale=1):
    return len([t for t in texts if t in ALLOWED or t == "x"]) + rng.laplace(scale=scale)


def branches(texts, rng, scale=2):
    total = 0
    for t in texts:
        if t.casefold().endswith("or") and not t.isdigit():
            total += 1
        elif t != "x" and t not in TAGS:
            total += min(len(t), 2)
    return total + rng.laplace(scale=scale)


def kind_of(t):
    if "error" in t:
        return 2
    return 1 if t.startswith("w") else 0


def helper(texts, rng, scale=2):
    return sum(kind_of(t) for t in texts) + rng.laplace(scale=scale)


RIGHT = [
    errors, clipped_lengths, smaller_lengths, declared_lengths, upper_lengths, scores, default_score, weights,
    histogram, starts, spaces, pairs_of_letters, allowed, branches,
]  # fmt: skip


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
@pytest.mark.parametrize("size", [4, "every"])
@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_right_programs_are_verified(program: Any, size: Any, adjacency: str) -> None:
    """Each program is verified, for a fixed number of texts and for every number."""
    # Under add-remove and zero-out, the change is the value instead of the width of the range.
    scale = {"default_score": 6}.get(program.__name__) if adjacency != "replace-one" else None
    found = proved(given(program, scale), of_longest(size=size), adjacency=adjacency)
    assert found.verdict == "verified", found.reason


def given(program: Any, scale: Any = None) -> Any:
    """Return the program with another scale of its noise."""
    import functools

    return program if scale is None else functools.partial(program, scale=scale)


@pytest.mark.parametrize("size", [4, "every"])
@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_half_the_noise_is_not_verified(program: Any, size: Any) -> None:
    """Half the noise costs twice as much."""
    scale = program.__defaults__[0]
    found = proved(given(program, scale / 2), of_longest(size=size))
    assert (found.verdict, found.bound) == ("inconclusive", 2)


def test_a_helper_with_early_returns_is_followed() -> None:
    """A function of one text with branches is followed for a fixed number of texts."""
    assert proved(helper, of_longest()).verdict == "verified"


def test_the_bound_is_the_change_over_the_scale() -> None:
    """The bound is the width of the derived range over the scale, also for larger groups."""
    assert proved(weights, of_longest()).bound == 1
    assert proved(default_score, of_longest()).bound == 1
    data = Records(Texts(longest=200), size=5, container="list", group=2)
    assert prove_values(clipped_lengths, PureDP(epsilon=3, unit="user"), data=data).bound == 2
    claim = PureDP(epsilon=3, unit="user")
    assert prove_values(errors, claim, data=data).bound == 2
    claim = ZeroConcentratedDP(rho=1)

    def noisy(texts, rng):
        return sum(1 for t in texts if "error" in t) + rng.normal(scale=1)

    assert proved(noisy, of_longest(), claim).bound == Fraction(1, 2)


# Wrong and hostile programs.


def no_clip(texts, rng):
    return sum(len(t) for t in texts) + rng.laplace(scale=100)


def long_table(texts, rng):
    return sum(SCORES.get(t, -5) for t in texts) + rng.laplace(scale=3)


def key_error(texts, rng):
    return sum(SCORES[t] for t in texts) + rng.laplace(scale=3)


def guarded_key(texts, rng):
    return sum(SCORES[t] for t in texts if t in SCORES) + rng.laplace(scale=3)


def none_default(texts, rng):
    return sum(1 for t in texts if SCORES.get(t) is None) + rng.laplace()


def shown_text(texts, rng):
    return texts[0]


def shown_in_list(texts, rng):
    return [*texts, rng.laplace()]


def printed(texts, rng):
    print(texts[0])  # noqa: T201
    return 0


def formatted(texts, rng):
    return f"{texts[0]} {rng.laplace()}"


def percent(texts, rng):
    return "%s" % texts[0]  # noqa: UP031


def joined_text(texts, rng):
    return ",".join(texts)


def as_string(texts, rng):
    return str(texts[0])


def branch(texts, rng):
    if "error" in texts[0]:
        return rng.laplace()
    return 5


def raised(texts, rng):
    raise ValueError(texts[0])


def asserted(texts, rng):
    assert "error" not in texts[0]
    return 0


def truthy(texts, rng):
    return 1 if texts[0] else 0


def key_of_result(texts, rng):
    return {t: rng.laplace() for t in texts}


def stored_key(texts, rng):
    found = {}
    for t in texts:
        found[t] = 1
    return len(found) + rng.laplace()


def distinct(texts, rng):
    return len(set(texts)) + rng.laplace()


def first_letter(texts, rng):
    return sum(1 for t in texts if t[0] == "a") + rng.laplace()


def ordered(texts, rng):
    return sorted(texts)[0]


def longest_text(texts, rng):
    return max(texts, key=len)


def glued(texts, rng):
    return sum(len(t + "x") for t in texts) + rng.laplace(scale=200)


def repeated(texts, rng):
    return sum(len(t * 9) for t in texts) + rng.laplace(scale=200)


def compared(texts, rng):
    return sum(1 for t in texts if t < "m") + rng.laplace()


def among_each_other(texts, rng):
    return sum(1 for t in texts if t == texts[0]) + rng.laplace()


def inside_the_list(texts, rng):
    return ("a" in texts) + rng.laplace()


def counted_in_list(texts, rng):
    return texts.count("a") + rng.laplace()


def position(texts, rng):
    return texts[0].index("a") + rng.laplace(scale=200)


def number_in_text(texts, rng):
    return sum(min(int(t), 5) for t in texts) + rng.laplace(scale=5)


def split_text(texts, rng):
    return sum(len(t.split()) for t in texts) + rng.laplace(scale=200)


def encoded(texts, rng):
    return sum(len(t.encode()) for t in texts) + rng.laplace(scale=200)


def longer(texts, rng):
    return sum(len(t.upper()) for t in texts) + rng.laplace(scale=200)


def inserted(texts, rng):
    return sum(len(t.replace("", "xx")) for t in texts) + rng.laplace(scale=200)


def blanks(texts, rng):
    return sum(t.count("") for t in texts) + rng.laplace(scale=200)


def mixed_types(texts, rng):
    return sum(MIXED.get(t, 0) for t in texts) + rng.laplace()


def changed_table(texts, rng):
    table = {"a": 1}
    table["b"] = 9
    return sum(table.get(t, 0) for t in texts) + rng.laplace()


def private_table(texts, rng):
    table = {"a": len(texts[0])}
    return sum(table.get(t, 0) for t in texts) + rng.laplace()


def shared_noise(texts, rng):
    noise = rng.laplace()
    count = sum(1 for t in texts if "a" in t)
    return count + noise, 2 * count + noise


def two_releases(texts, rng):
    return [sum(1 for t in texts if w in t) + rng.laplace() for w in ("a", "b")]


def unfollowed(texts, rng):
    return np.clip([hash(t) for t in texts], 0, 1).sum() + rng.laplace()


def text_by_branch(texts, rng):
    word = "x"
    if "a" in texts[0]:
        word = texts[0]
    return word


def chosen_text(texts, rng):
    return sum(1 for t in texts if (t if "a" in t else "b") == "b") + rng.laplace()


def changed_list(texts, rng):
    texts.append("x")
    return len(texts)


def stops_early(texts, rng):
    for t in texts:
        if t == "stop":
            break
    return rng.laplace()


def scaled_by_text(texts, rng):
    return rng.laplace(scale=1 + len(texts[0]))


def noise_by_text(texts, rng):
    return rng.laplace() if texts[0] == "a" else 1 + rng.laplace()


def shown_change(texts, rng):
    return texts[0].lower()


def shadowed(texts, rng):
    len = max
    return sum(len(t) for t in texts) + rng.laplace(scale=200)


def running(texts, rng):
    total = 0
    for t in texts:
        if total < 1 and "a" in t:
            total += 1
        total = total * 2
    return total + rng.laplace()


def yields(texts, rng):
    for t in texts:
        yield t.lower()


def multiplied_list(texts, rng):
    return sum([len(t) for t in texts] * 2) + rng.laplace(scale=200)


def starts_from(texts, rng):
    return sum(t.startswith("a", 1) for t in texts) + rng.laplace(scale=0.5)


HOSTILE = [
    long_table, key_error, guarded_key, none_default, shown_text, shown_in_list, printed, formatted, percent,
    joined_text, as_string, branch, raised, asserted, truthy, key_of_result, stored_key, distinct,
    first_letter, ordered, longest_text, glued, repeated, compared, among_each_other, inside_the_list,
    counted_in_list, position, number_in_text, split_text, encoded, longer, inserted, blanks, mixed_types,
    changed_table, private_table, shared_noise, two_releases, unfollowed, text_by_branch, chosen_text,
    changed_list, stops_early, scaled_by_text, noise_by_text, shown_change, shadowed, running, yields,
    multiplied_list, starts_from,
]  # fmt: skip


@pytest.mark.parametrize("size", [3, "every"])
@pytest.mark.parametrize("program", HOSTILE, ids=lambda p: p.__name__)
def test_wrong_programs_are_not_verified(program: Any, size: Any) -> None:
    """A program that shows a text, may raise, or adds too little noise is not verified."""
    for adjacency in ("replace-one", "add-remove"):
        claim = PureDP(epsilon=Fraction(99, 100), adjacency=adjacency)
        assert prove_values(program, claim, data=of_longest(size=size)).verdict == "inconclusive"


@pytest.mark.parametrize("size", [3, "every"])
@pytest.mark.parametrize("program", [no_clip, declared_lengths], ids=lambda p: p.__name__)
def test_lengths_without_a_limit_are_not_verified(program: Any, size: Any) -> None:
    """A sum of lengths requires a declared limit or a clip. A clip suffices."""
    assert proved(program, of_longest(None, size)).verdict == "inconclusive"
    assert proved(smaller_lengths, of_longest(None, size)).verdict == "verified"
    assert proved(clipped_lengths, of_longest(None, size)).verdict == "verified"


# The declaration.


def test_texts_are_declared_in_lists() -> None:
    """Other containers, widths and lengths are refused, and different declarations have different words."""
    for make in (
        lambda: Records(Texts(), size=3),
        lambda: Table({"a": Texts()}),
        lambda: of_longest(-1),
        lambda: of_longest(2.5),  # type: ignore[arg-type]
        lambda: Records(Texts(), size=3, container="list", width=2),
    ):
        with pytest.raises(InvalidParameterError):
            make()
    assert of_longest(7, 3).words == "texts of length at most 7, 3 records in a list"
    assert of_longest(None).words == "texts, 5 records in a list"


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
def test_neighbours_are_lists_of_texts_within_the_limit(adjacency: str) -> None:
    """Pairs of neighbours are lists of str that differ in one text."""
    found = list(of_longest(4).pairs(adjacency))
    assert found
    for pair in found:
        for side in (pair.left, pair.right):
            assert type(side) is list
            assert all(type(text) is str and len(text) <= 4 for text in side)
        if adjacency != "add-remove":
            assert sum(a != b for a, b in zip(pair.left, pair.right, strict=True)) <= 1


def test_an_audit_refutes_a_wrong_program() -> None:
    """The audit runs the real function on texts. Half the noise is refuted by sampling or exactly."""
    result = audit(given(errors, 0.25), PureDP(epsilon=1), data=of_longest(20, 3), max_samples=20_000)
    assert result.verdict == "refuted"
    assert (result.lower or 0) > 1
    assert audit(errors, PureDP(epsilon=1), data=of_longest(20, 3)).verdict == "verified"


# The rule.


def text(longest: int | None, setting: Setting) -> Info:
    high = None if longest is None else str(longest)
    params = {"kind": "t", "shape": (3,), "low": None, "high": high, "ball": None}
    return derive(setting, "data", (), [], params)


def test_every_rule_refuses_texts() -> None:
    """No rule except functions of one text and the number of records accepts a text."""
    s = Setting(size=3)
    column, number = (
        text(5, s),
        derive(s, "const", (), [], {"values": ["1"] * 3, "shape": (3,), "kind": "i", "python": False}),
    )
    for op in set(RULES) - set(OF_TEXTS) - {"data", "const", "public"}:
        count = OPERANDS[op]
        for infos in itertools.product([column, number], repeat=2 if count is None else count):
            if column in infos:
                with pytest.raises(RefusedStepError, match="private text"):
                    derive(s, op, tuple(range(len(infos))), list(infos), {"axes": (0,), "kind": "f"})


LETTERS = "aB\u0130\u0390"


def test_functions_stay_in_their_range() -> None:
    """All texts of at most three letters keep the derived range, after every chain of two changes."""
    s = Setting(size=3)
    texts = ["".join(letters) for k in range(4) for letters in itertools.product(LETTERS, repeat=k)]
    changes = [[name] for name in CASES] + [["strip"], ["replace", "a", "bcd"], ["replace", "", "xy"]]
    chains = [[], *([one] for one in changes), *map(list, itertools.product(changes, repeat=2))]
    for chain in chains:
        after = texts
        for name, *parts in chain:
            after = [getattr(one, name)(*parts) for one in after]
        for function, parts, real in (
            ("len", [], len),
            ("count", [""], lambda t: t.count("")),
            ("count", ["bc"], lambda t: t.count("bc")),
        ):
            params = {"function": function, "arguments": parts, "changes": chain}
            info = derive(s, "of_text", (0,), [text(3, s)], params)
            values = [real(one) for one in after]
            assert info.high is not None
            assert info.high.number is not None
            assert 0 <= min(values) <= max(values) <= info.high.number


def test_no_change_of_case_expands_a_letter_to_more_than_three() -> None:
    """The bound on the length after a change of case holds for every code point of Python's Unicode."""
    for name in CASES:
        change = getattr(str, name)
        assert max(len(change(chr(k))) for k in range(sys.maxunicode + 1)) <= EXPANSION


@pytest.mark.parametrize(
    "params",
    [
        {"function": "hash", "arguments": [], "changes": []},
        {"function": "len", "arguments": ["a"], "changes": []},
        {"function": "count", "arguments": [], "changes": []},
        {"function": "len", "arguments": [], "changes": [["join", "a"]]},
        {"function": "len", "arguments": [], "changes": [["replace", "a"]]},
        {"function": "len", "arguments": [], "changes": [["upper", "a"]]},
        {"function": "len", "arguments": [], "changes": [], "high": "1"},
        {"function": "lookup", "arguments": ["i", "1/2", []], "changes": []},
        {"function": "lookup", "arguments": ["b", "0", [["a", "2"]]], "changes": []},
        {"function": "lookup", "arguments": ["t", "0", []], "changes": []},
        {"function": "lookup", "arguments": ["i", "0", [["a", str(2**63)]]], "changes": []},
    ],
)
def test_malformed_functions_of_texts_are_refused(params: dict[str, Any]) -> None:
    """A record cannot state a function that has no rule, or a range of its own."""
    s = Setting(size=3)
    with pytest.raises((RefusedStepError, ValueError)):
        derive(s, "of_text", (0,), [text(3, s)], params)


def test_a_changed_certificate_is_refused_or_costs_more() -> None:
    """A certificate cannot claim another limit, release a text, or declare a constant as text."""
    proof = proved(declared_lengths, of_longest())
    assert proof.record is not None
    body = proof.record
    assert check(body).epsilon == 1

    def edited(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        import copy

        found = copy.deepcopy(body)
        change(found)
        return found

    place = next(k for k, node in enumerate(body["nodes"]) if node[0] == "data")

    def shorter(found: dict[str, Any]) -> None:
        found["nodes"][place][2]["high"] = "1"

    def released(found: dict[str, Any]) -> None:
        found["releases"][0]["node"] = place

    def constant(found: dict[str, Any]) -> None:
        found["nodes"].append(["const", [], {"values": ["0"], "shape": [1], "kind": "t", "python": False}])

    for change in (shorter, released, constant):
        with pytest.raises(ValuesProofError):
            check(edited(change))
