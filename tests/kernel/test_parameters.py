"""Every parameter of every rule of every tier has a name and a domain: what is no value of it is refused.

The rules come from the kernel's own tables, their parameters from the trees that the enumeration builds.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from dpaudit.certify.decide import NoiseSum, TailEvent, decide_tail, proxy_proof
from dpaudit.core.claims import TailBound
from dpaudit.core.errors import BrokenReportError, CertificateError
from dpaudit.core.evidence import Certificate
from dpaudit.kernel import check as kernel
from dpaudit.kernel import kernel_t0
from dpaudit.kernel.kernel_t0 import Parameters, Setting
from dpaudit.kernel.t1.rules import T1
from dpaudit.kernel.t2.rules import T2
from dpaudit.report.file.strict import require_readable
from tests.forgeries import NO_NUMBER, Path, at, places, put, same
from tests.kernel.enumeration import test_every_rule
from tests.kernel.enumeration.cases import GENERATORS, claims_in, stream
from tests.kernel.enumeration.data import SITUATIONS

assert test_every_rule.MODULES  # importing them registered their generators

TIERS = {"T0": kernel_t0.RULES, "T1": T1.rules, "T2": T2.rules}
#: Names and values that a number, a choice or a text may not have.
ZERO_WIDTH, CONFUSABLE = "\u200b", "\u0455"  # the second looks like the letter s
FOREIGN = ("perfect secrecy", "", True, False, None, 1, 1.0, "2/2", "+1", "01", " 1", "1e3", "\uff11",
           "\u0661", ZERO_WIDTH, CONFUSABLE, [], {}, ["perfect secrecy"], {"note": "1"})  # fmt: skip
#: Values that no text that people read may have either.
NO_TEXT = ("", True, False, None, 1, 1.0, ZERO_WIDTH, [], {})

Tree = dict[str, Any]
Example = tuple[Tree, Setting]


@cache
def examples(rule: str) -> list[Example]:
    """Trees that hold a node of the rule and are derived, one for each of its generators."""
    noise = NoiseSum(({"law": {"law": "binomial", "trials": "4", "p": "1/2"}, "count": "1"},), Fraction(0))
    if rule == "tail":
        event = TailEvent(noise=noise, factor=Fraction(3), side="above")
        found = decide_tail(TailBound(probability=1, event=event.name), event)
        assert isinstance(found, Certificate)
        return [(found.to_json()["tree"]["premises"][0], Setting())]
    if rule == "cumulant":
        return [(proxy_proof(noise.centred(), Fraction(2), reach=Fraction(1)).to_json(), Setting())]
    trees = []
    for name, generator in GENERATORS.items():
        if name.partition(":")[0] != rule:
            continue
        for situation, index in ((s, i) for s in SITUATIONS if generator.holds(s) for i in range(4)):
            setting = Setting.of(next(claims_in(situation)).to_json())
            try:
                tree = generator.make(stream(name, index), situation).proof().to_json()
                kernel.derive_in(tree, setting)
            except CertificateError:
                continue
            trees.append((tree, setting))
            break
    return trees


def nodes(tree: Tree, rule: str, path: Path = ()) -> Iterator[Path]:
    """The places of the nodes of a rule."""
    if tree["rule"] == rule:
        yield path
    for place, premise in enumerate(tree["premises"]):
        yield from nodes(premise, rule, (*path, "premises", place))


def refused(tree: Tree, setting: Setting, tier: str) -> bool:
    """Whether the tier refuses the tree; whatever else is raised fails the test."""
    try:
        kernel_t0.derive(tree, setting, TIERS[tier])
    except CertificateError:
        return True
    return False


@cache
def all_names() -> frozenset[str]:
    """The names of all parameters of all rules."""
    names: set[str] = {"extra", "bound", "assumptions", "epsilon"}
    for rule in kernel.known_rules():
        for tree, _ in examples(rule):
            names |= {name for path in nodes(tree, rule) for name in at(tree, path)["parameters"]}
    return frozenset(names)


def of_every_rule_and_tier() -> list[tuple[str, str]]:
    """Each rule with each tier that knows it."""
    return [(rule, tier) for tier, rules in TIERS.items() for rule in sorted(rules)]


@pytest.mark.parametrize(("rule", "tier"), of_every_rule_and_tier())
def test_no_junk_stands_in_a_parameter(rule: str, tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter of another rule, a text, a bool, another spelling, or what cannot be read, is refused."""
    read: set[str] = set()
    plain = Parameters.text

    def text(self: Parameters, name: str, value: Any = None) -> str:
        found = plain(self, name, value)
        read.add(found)
        return found

    monkeypatch.setattr(Parameters, "text", text)
    assert examples(rule)
    for tree, setting in examples(rule):
        read.clear()
        if refused(tree, setting, tier):  # it stands on a rule of a higher tier
            assert tier != "T2"
            continue
        texts = frozenset(read)
        place = next(nodes(tree, rule))
        parameters = at(tree, place)["parameters"]
        for name in sorted(all_names() - parameters.keys()):
            for junk in ("perfect secrecy", True, ZERO_WIDTH):
                edited = put(tree, (*place, "parameters", name), junk)
                assert refused(edited, setting, tier), (name, junk)
        for leaf in places(parameters, first=2):
            path, value = (*place, "parameters", *leaf), at(parameters, leaf)
            if isinstance(value, dict):
                assert refused(put(tree, (*path, "note"), "1"), setting, tier), (leaf, "an extra entry")
            if isinstance(value, list):
                assert refused(put(tree, path, [*value, "perfect secrecy"]), setting, tier), leaf
            is_text = isinstance(value, str) and value in texts
            for junk in NO_TEXT if is_text else (*FOREIGN, *NO_NUMBER):
                is_sum = junk == [] and isinstance(value, list)  # a sum without terms is the number 0
                if not same(junk, value) and not is_sum:
                    assert refused(put(tree, path, junk), setting, tier), (leaf, junk)
            if isinstance(value, str):
                for junk in (value + ZERO_WIDTH, ZERO_WIDTH + value, value + "\u202e", value + "\n\x1b[A"):
                    assert refused(put(tree, path, junk), setting, tier), (leaf, junk)
            if is_text:
                with pytest.raises(BrokenReportError):
                    require_readable(put(tree, path, f"one {CONFUSABLE}um"))
