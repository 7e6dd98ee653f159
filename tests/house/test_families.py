"""Outside of the distributions, nobody asks which family a distribution is: a new family needs one file."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import dpaudit.distributions as room

ROOT = Path(__file__).parents[2]
TOP = ("dpaudit", "audits", "mechanisms", "algorithms")

#: Classes that every family extends, or that mark a kind of object.
GENERAL = {"BaseMeasure", "Distribution", "Image", "Kernel", "LatticeDistribution", "LogConcavity"} | {
    "ScalarDistribution",
    "Support",
}
FAMILIES = {name for name in room.__all__ if name[0].isupper()} - GENERAL

EXACT = "a proof takes the exact class: a program may define a subclass, or replace an attribute"
SHARES = "the paper's protocols add shares of these families, by formulas for any number of users"

#: How often a file may ask, and why.
ALLOWED = {
    "algorithms/mab/distributed_regret.py": (1, SHARES),
    "algorithms/mab/steered_histories.py": (1, "the sites to steer are the sums modulo m"),
    "audits/distributed_mab/lost_messages.py": (1, SHARES),
    "audits/glm_bandits/rows/shuffle_program.py": (1, "the binomial release counts the ones of a message"),
    "dpaudit/coins/equal_shifts.py": (1, "a subclass that a program defines may evaluate otherwise"),
    "dpaudit/coins/prover.py": (1, EXACT),
    "dpaudit/prover/attained.py": (1, EXACT),
    "dpaudit/prover/finite.py": (1, EXACT),
    "dpaudit/prover/values/aggregates.py": (3, EXACT),
    "dpaudit/prover/values/amplification.py": (3, EXACT),
    "dpaudit/prover/values/channels.py": (3, EXACT),
    "dpaudit/replay/shifted_noise.py": (2, "a divergence witness names one of two families of shares"),
    "dpaudit/replay/shuffled_messages.py": (1, "the leaf is randomised response"),
    "dpaudit/suite/mutants.py": (1, "a value without noise stays as it is"),
    "mechanisms/broken_protocols.py": (3, SHARES),
    "mechanisms/decoding_error.py": (1, SHARES),
    "mechanisms/local_noise.py": (3, SHARES),
}


def asked(tree: ast.AST, known: set[str] = FAMILIES) -> Iterator[str]:
    """Each family that a test of an object's class names: ``isinstance``, ``type(x) is``, or a ``match``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASS_TESTS:
            yield from families(node.args[1], known)
        elif isinstance(node, ast.Compare) and any(map(is_type_of, [node.left, *node.comparators])):
            yield from (name for part in [node.left, *node.comparators] for name in families(part, known))
        elif isinstance(node, ast.MatchClass):
            yield from families(node.cls, known)


CLASS_TESTS = ("isinstance", "issubclass")


def is_type_of(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def families(node: ast.AST, known: set[str]) -> Iterator[str]:
    names = (part.id if isinstance(part, ast.Name) else getattr(part, "attr", "") for part in ast.walk(node))
    yield from (name for name in names if name in known)


def own_classes(tree: ast.AST) -> set[str]:
    """The families' names that mean something else in a file: classes of the kernel or of the provers."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("dpaudit.kernel", "dpaudit.prover")
        ):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def counted() -> Counter[str]:
    """How often each file outside of the room asks for a family."""
    found: Counter[str] = Counter()
    for path in (path for top in TOP for path in (ROOT / top).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("dpaudit/distributions/"):
            tree = ast.parse(path.read_text())
            found[name] = sum(family not in own_classes(tree) for family in asked(tree))
    return +found


def test_nobody_asks_for_a_family() -> None:
    """A question that was answered by a method must leave the table of exceptions, too."""
    assert counted() == {name: times for name, (times, _) in ALLOWED.items()}


def test_rules_of_the_kernel_ask_no_part_of_noise_for_its_family() -> None:
    """The table of families is one file, and the rules on tails call its methods."""
    table = ROOT / "dpaudit/kernel/t2/noise.py"
    parts = {node.name for node in ast.parse(table.read_text()).body if isinstance(node, ast.ClassDef)}
    assert {"Laplace", "Skellam", "Binomial"} <= parts
    for path in (path for path in (ROOT / "dpaudit/kernel").rglob("*.py") if path != table):
        tree = ast.parse(path.read_text())
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpaudit.kernel.t")
            for alias in node.names
        }
        assert not set(asked(tree, parts & imported)), path


def test_every_exception_has_a_reason() -> None:
    assert all(reason for _, reason in ALLOWED.values())


def test_a_question_is_noticed() -> None:
    """Each of its forms, and none that is about something else."""
    source = "isinstance(x, Laplace | Gaussian)\ntype(x) is Skellam\nmatch x:\n case Poisson(): pass"
    assert list(asked(ast.parse(source))) == ["Laplace", "Gaussian", "Skellam", "Poisson"]
    assert not list(asked(ast.parse("isinstance(x, Distribution)\nx == Laplace(scale=1)")))
    assert own_classes(ast.parse("from dpaudit.kernel.t2.noise import Laplace")) == {"Laplace"}
    assert not own_classes(ast.parse("from dpaudit.distributions import Laplace"))
