"""Change one thing in a certificate, and run the program that a certificate's tree describes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dpaudit.coins import Coins
from dpaudit.distributions import Categorical, DiscreteLaplace, Exponential, Laplace

__all__ = ["mutated", "tree_program"]

DISTRIBUTIONS: dict[str, Any] = {
    "laplace": Laplace,
    "exponential": Exponential,
    "discrete-laplace": DiscreteLaplace,
}

Place = tuple[Any, Any]


def tree_program(nodes: list[Any]) -> Callable[[Coins, Any], None]:
    """Return the program that walks a certificate's tree. It says so if it reaches a cut branch."""

    def program(coins: Coins, data: Any) -> None:
        noise: list[Any] = []
        at = 0

        def value(form: dict[str, str]) -> Any:
            symbols = {f"x{i}": x for i, x in enumerate(data)} | {f"n{i}": n for i, n in enumerate(noise)}
            total: Any = Fraction(form.get("", "0"))
            for name, factor in form.items():
                if name:
                    total = total + Fraction(factor) * symbols[name]
            return total

        while nodes[at][0] != "end":
            node = nodes[at]
            if node[0] == "draw":
                noise.append(coins.draw(DISTRIBUTIONS[node[1]](scale=Fraction(node[2])), site="noise"))
            elif node[0] == "finite":
                distribution = Categorical(probabilities=[Fraction(p) for p in node[1]])
                at = node[2][coins.draw(distribution, site="choice")]
                continue
            elif node[0] == "show":
                coins.reveal(node[1], site="shown")
            elif node[0] == "form":
                coins.reveal(value(node[1]) + 0, site="shown")
            elif node[0] == "release":
                coins.release(
                    value(node[1]), DISTRIBUTIONS[node[2]](scale=Fraction(node[3])), site="released"
                )
            elif node[0] == "compare":
                form = value(node[1])
                at = node[3] if (form < 0 if node[2] else form <= 0) else node[4]
                continue
            else:
                coins.reveal("cut off", site="cut")
                return
            at = node[-1]

    return program


def numbers(record: Any) -> Iterator[Place]:
    """Yield every place of a nested record that holds an exact number as text."""
    items = (
        record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    )
    for key, item in items:
        if isinstance(item, str) and item.lstrip("-").replace("/", "", 1).isdigit():
            yield record, key
        else:
            yield from numbers(item)


def another(number: str, rng: random.Random) -> str:
    """Return another number: negated, halved, doubled, zero, or changed by 1 or 1/1000."""
    old = Fraction(number)
    new = rng.choice((-old, old / 2, 2 * old, Fraction(0), old + 1, old - 1, old + Fraction(1, 1000)))
    return str(new if new != old else old + 1)


def in_the_tree(tree: list[Any], rng: random.Random) -> str:
    """Change one node of the tree in place. Return a description."""
    at = rng.randrange(len(tree))
    node = tree[at]
    places = list(numbers(node[1:2] if node[0] in ("compare", "form", "release", "finite", "empty") else []))
    what = rng.random()
    if node[0] == "compare" and what < 0.6:
        if what < 0.2:
            node[2] = not node[2]
            return "strict and weak"
        if what < 0.4:
            node[3], node[4] = node[4], node[3]
            return "answers exchanged"
        node[rng.choice((3, 4))] = rng.randrange(len(tree))
        return "an answer that leads elsewhere"
    if node[0] in ("draw", "release") and what < 0.5:
        place = 2 if node[0] == "draw" else 3
        node[place] = another(node[place], rng)
        return "a scale"
    if node[0] == "draw" and what < 0.7:
        node[1] = rng.choice([distribution for distribution in DISTRIBUTIONS if distribution != node[1]])
        return "a distribution"
    if node[0] == "show" and what < 0.8:
        shown = [other[1] for other in tree if other[0] == "show" and other[1] != node[1]]
        node[1] = rng.choice([*shown, "something else"])
        return "a shown text"
    if places and what < 0.9:
        record, key = rng.choice(places)
        record[key] = another(record[key], rng)
        return f"a number of {node[0]!r}"
    tree[at] = rng.choice((["end"], ["empty", {}], ["show", "a", rng.randrange(len(tree))]))
    return "another node"


def in_the_cells(cells: list[Any], rng: random.Random) -> str:
    """Change one cell in place. Return a description."""
    cell = rng.choice(cells)
    what = rng.random()
    if what < 0.15:
        cells.remove(cell)
        return "a cell removed"
    if what < 0.25:
        cell["paths"] = [*cell["paths"], rng.randrange(12)]
        return "a path more"
    if what < 0.35 and cell["shifts"]:
        del cell["shifts"][rng.choice(list(cell["shifts"]))]
        return "a change without shifts"
    if what < 0.45 and len(cells) > 1:
        other = rng.choice([c for c in cells if c is not cell])
        cell["shifts"], other["shifts"] = other["shifts"], cell["shifts"]
        return "shifts exchanged"
    if what < 0.55 and cell.get("rows"):
        place = rng.randrange(len(cell["rows"]))
        del cell["rows"][place]
        for inside in cell["inside"]:
            del inside[place]
        return "a row of a merged cell removed"
    places = list(numbers({key: cell[key] for key in cell if key != "paths"}))
    if not places:
        cell["paths"] = []
        return "no paths"
    record, key = rng.choice(places)
    record[key] = another(record[key], rng)
    return "a number of a cell"


def mutated(certificate: dict[str, Any], rng: random.Random) -> tuple[dict[str, Any], str]:
    """Return a copy with one change, and a description of the change."""
    forged = copy.deepcopy(certificate)
    if rng.random() < 0.45:
        return forged, in_the_tree(forged["tree"], rng)
    return forged, in_the_cells(forged["cells"], rng)
