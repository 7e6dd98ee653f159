"""Every forgery of a small certificate of each checker of programs is refused, or proves nothing false.

A certificate describes a program and the data, and proves a bound of it. A forgery that leaves the program
as it was may be accepted with the bound of the honest certificate or a larger one: the honest bounds here
are the losses that the programs attain. A forgery that describes another program is accepted only where
``other`` lists its place and change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.data import Interval, Records
from dpaudit.distributions import Bernoulli, Gaussian, Laplace
from dpaudit.kernel import branches_t0, finite_t0, gaussian_t0, program_t0, ray_t0, step_t0
from dpaudit.kernel.values import check as values
from dpaudit.prover import EVERY, EachMoves, OneReplaced, Symbols, prove
from dpaudit.prover.values.prove import prove_values
from dpaudit.reference.mechanisms.proved_programs import PROVED_PROGRAMS
from dpaudit.reference.mechanisms.sparse_vector_programs import sparse_vector
from tests.forgeries import forgeries

Check = Callable[[Any], Any]

#: Another description of the data or of the neighbours; of noise, factors and constants in a tree.
NUMBER = "(up|down|half|double|tiny|huge|sign|zero|the other)$"
CLAIM = r"^claim(\.\w+)?: (is|without)"
#: More data or smaller changes than the certificate covers, and a claim that is none.
NEVER = (
    rf"{CLAIM}|^data\.high: (up|double|huge)$|^data\.low: down$|^data\.size: zero$"
    r"|^adjacency\.by: (zero|half|tiny|sign)$"
)
DATA = rf"^(data|adjacency)\..*{NUMBER}"
NOISE = "(up|down|half|double|tiny|huge)$"

#: Changes of the form in what no checker reads: names, words that are shown, nodes that no path enters, and
#: truth values that are taken as Python takes them.
UNREAD = (
    ": an entry more$",
    "^data: without '(width|low|high|integers)'$",
    r"^(data\.integers|adjacency\.at_most|apart): is ",
    "^adjacency: without 'at_most'$",
    r"^(tree|trees\.\d+|before|states\.\d+\.(step|exit)): (without entry|entry \d+ twice|a text more)",
    r"^(tree|states\.\d+\.(step|exit))\.\d+\.1: is '",
    r"^(tree|states\.\d+\.step)\.\d+\.2: is (True|False)$",
    r"^states(: entry|\.\d+: without 'names'|\.\d+\.names[.:])",
    r"^(before|states\.\d+\.step)\.\d+(: (is \[\[\]\]|entry 0 twice|a text more)|\.0: is )",  # an end
    r"^states\.\d+\.step\.\d+\.[12]: is \{\}$",
)
#: The checker of private values reads numbers in every spelling of Python, and True as 1.
SPELT = r"(is (True|False|'1_0'|'\u0661')$)"
VALUES = (
    rf"^nodes\.\d+\.2\.values\.\d+: ({NUMBER}|{SPELT})",
    rf"^draws\.\d+\.1\.\d+: ({NOISE}|{SPELT})",
    rf"^releases\.\d+\.factor: ({NOISE}|{SPELT})",
    # A program that does not show a release.
    r"^tree: (without entry|entries \d+ and \d+ swapped)",
    r"^tree\.\d+\.2: up$",
    r"^tree\.\d+\.1: is '",
)


@dataclass(frozen=True)
class Case:
    """``make`` proves a small program. ``bound`` returns what a checked certificate derives: the larger, the
    weaker. ``other``: the forgeries that may describe another program, by patterns of place and change.
    ``never``: those that must be refused, whatever they prove. ``strict``: so must changes of the form that
    are not in ``UNREAD``. ``least``: so many of a hundred are refused.
    """

    make: Callable[[], Any]
    bound: Check
    refusal: type[Exception]
    other: tuple[str, ...]
    never: str = NEVER
    strict: bool = True
    least: int = 85


def clips(coins: Any, data: Any) -> None:
    coins.release(max(data[0], 0), Laplace(scale=6), site="first")


def chooses(coins: Any, data: Any) -> None:
    seen = coins.release(data[0] - 3, Gaussian(sigma=2), site="first")
    if seen > 0:
        coins.release(data[1] + seen, Gaussian(sigma=1), site="second")
    else:
        coins.release(2 * data[0] - data[1], Gaussian(sigma="1/2"), site="second")
        coins.reveal(2 * seen - 3, site="seen")


def bits(coins: Any, data: Any) -> list[int]:
    return [bit if coins.draw(Bernoulli(p="3/4"), site="keep") else 1 - bit for bit in data]


def two_sums(data: Any, rng: Any) -> Any:
    clipped = np.clip(data, 0, 1)
    return clipped.sum() + rng.laplace(scale=2), clipped.sum() + rng.laplace(scale=2)


def larger(data: Any, rng: Any) -> Any:
    sums, noise = data.sum(axis=0), rng.exponential(8, 2)
    return 1 if sums[1] + noise[1] > sums[0] + noise[0] else 0


def correlated(data: Any, rng: Any) -> Any:
    z = rng.normal(scale=2, size=3)
    return [data[: t + 1].sum() + z[: t + 1].sum() for t in range(3)]


def of_symbols(program: Any, claim: Any, data: Symbols, adjacency: Any) -> Any:
    return prove(program, claim, data=data, adjacency=adjacency).certificate


def of_ray() -> Any:
    row = next(row for row in PROVED_PROGRAMS if row.name == "noisy max, scale 1")
    return (
        prove(row.program, PureDP(epsilon=row.claim), data=row.data, adjacency=row.adjacency).witness or {}
    )["certificate"]


SVT = sparse_vector(threshold=2, query=4)
REPLACED, MOVES, E9 = OneReplaced(), EachMoves(), PureDP(epsilon=9)
CASES: dict[str, Case] = {
    "own regions": Case(
        lambda: of_symbols(SVT, PureDP(epsilon=1), Symbols(2), MOVES),
        lambda c: program_t0.check(c).epsilon,
        program_t0.ProgramProofError,
        (DATA, rf"^tree\.\d+\.2: {NOISE}", rf"^tree\.\d+\.1\.\w+: {NUMBER}"),
    ),
    "data branches": Case(
        lambda: of_symbols(clips, E9, Symbols(1, low=-2, high=3), REPLACED),
        lambda c: branches_t0.check(c).cost,
        program_t0.ProgramProofError,
        (
            DATA,
            rf"^tree\.\d+\.3: {NOISE}",
            rf"^tree\.\d+\.1\.\w+: {NUMBER}",
            "^tree: (without entry 0|entries 0 and 1 swapped)$",  # no comparison: a path that shows nothing
        ),
    ),
    "Gaussian releases": Case(
        lambda: of_symbols(chooses, ZeroConcentratedDP(rho=19), Symbols(2, low=0, high=1), REPLACED),
        lambda c: gaussian_t0.check(c).rho,
        gaussian_t0.GaussianProofError,
        (
            rf"^tree\.\d+\.3: {NOISE}",
            rf"^tree\.\d+\.1\.\w*: {NUMBER}",
            r"^tree\.\d+\.1: (is \{\}|without '\w*')",
        ),
    ),
    "exact distributions": Case(
        lambda: of_symbols(bits, PureDP(epsilon="11/10"), Symbols(1, low=0, high=1, integers=True), REPLACED),
        lambda c: finite_t0.check(c).ratio,
        finite_t0.FiniteProofError,
        (r"^trees\.\d+\.0\.[12]: entries 0 and 1 swapped$",),  # one side's chances exchanged
        never=rf"{NEVER}|^data\.(size|low|high|integers): (is|without|{NUMBER})",
    ),
    "generic step": Case(
        lambda: of_symbols(SVT, PureDP(epsilon=1), Symbols(EVERY), MOVES),
        lambda c: step_t0.check(c).epsilon,
        step_t0.StepProofError,
        (rf"^(before|states\.\d+\.step)\.\d+\.2: {NOISE}",),
    ),
    "ray": Case(
        of_ray,
        lambda c: -ray_t0.check(c),  # a loss that is reached: the smaller, the weaker
        program_t0.ProgramProofError,
        (DATA, rf"^tree\.\d+\.(2|1\.\w+): {NUMBER}"),
        strict=False,
        never="^(data|adjacency): is",  # it reads no claim: a ray has a loss of its own
    ),
    "sums": Case(
        lambda: prove_values(two_sums, PureDP(epsilon=1), data=Records(Interval(0, 10), size=6)).certificate,
        lambda c: values.check(c).epsilon,
        values.ValuesProofError,
        (DATA, *VALUES),
        strict=False,
    ),
    "hidden noise": Case(
        lambda: prove_values(larger, E9, data=Records(Interval(0, 1), size=3, width=2)).certificate,
        lambda c: values.check(c).epsilon,
        values.ValuesProofError,
        (DATA, *VALUES),
        strict=False,
    ),
    "correlated noise": Case(
        lambda: prove_values(correlated, GaussianDP(mu=1), data=Records(Interval(0, 1), size=3)).certificate,
        lambda c: values.check(c).rho,
        values.ValuesProofError,
        (DATA, *VALUES),
        strict=False,
    ),
}


@cache
def honest(name: str) -> str:
    return json.dumps(CASES[name].make())


@pytest.mark.parametrize("name", CASES)
def test_a_forgery_is_refused_or_proves_nothing_false(name: str) -> None:
    case, certificate = CASES[name], json.loads(honest(name))
    least, count, refused, false = case.bound(certificate), 0, 0, list[tuple[str, Any]]()
    for forgery in forgeries(certificate):
        count += 1
        try:
            bound = case.bound(forgery.certificate)
        except case.refusal:
            refused += 1
            continue
        text = str(forgery)
        lower = bound is None or bound < least
        known = case.other if lower else (*case.other, *UNREAD)
        suspect = lower or (case.strict and forgery.kind == "form")
        if re.search(case.never, text) or (suspect and not any(re.search(one, text) for one in known)):
            false.append((text, bound))
    assert not false, "\n".join(f"{text} derives {bound}" for text, bound in false)
    assert 100 * refused >= case.least * count, (refused, count)
