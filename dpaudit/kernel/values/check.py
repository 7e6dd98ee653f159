"""The checker: derive the privacy cost of a recorded program from its record alone.

    python -m dpaudit.kernel.values.check certificate.json     (or a report)

The record has ``nodes``, the steps of the program over private data; ``draws``, the distributions of its
noise;
``releases``; and ``tree``, the complete tree of its public questions and hidden comparisons, with ``cells``
as ``program_t0`` reads them. No bound is read from it: every step is derived again.

Statement. For all data of the declaration, all neighbours and all outcomes, the joint distribution of all
that is
released, revealed, returned or yielded satisfies the derived bound. On one path both sides make the same
releases of equal distributions. Given earlier outcomes, a release of cost c changes the density of its
outcome by at
most e^c (or is c-zCDP), so costs add along a path (adaptive composition); a record that a release does not
touch adds nothing (parallel composition). Hidden noise moves within its cell (``program_t0``), for changes of
its symbols within the derived boxes; that cost adds to the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.kernel import program_t0
from dpaudit.kernel.values.claim import PROOF, run
from dpaudit.kernel.values.declaration import require_declared
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting, need
from dpaudit.kernel.values.polynomials import Poly
from dpaudit.kernel.values.releases import Drawn, cost_of, most_expensive, scale_of
from dpaudit.kernel.values.steps import derive

__all__ = [
    "PROOF",
    "Checked",
    "ValuesProofError",
    "boxes_of",
    "check",
    "concluded",
    "main",
    "path_costs",
    "read_extent",
    "setting_of",
]

PARTS = {"proof", "data", "adjacency", "nodes", "draws", "releases", "tree", "cells"}
MAX_NODES = 200_000
EVENT = re.compile(r"(draw|hidden|release) (\d{1,9})(?: (\d{1,9}))?", re.ASCII)
HUGE = re.compile(r"\s*[-+]?[\d_.]*[eE][-+]?[\d_]{4,}\s*", re.ASCII)
SYMBOL = re.compile(r"x(\d{1,9})", re.ASCII)

Cost = tuple[Fraction, Fraction]


class ValuesProofError(Exception):
    """The certificate is malformed, or a step does not follow."""


@dataclass(frozen=True)
class Checked:
    """What the record proves for all neighbours. ``epsilon`` is None where there is Gaussian noise, and
    ``mu_squared`` where there is any other noise; ``rho`` bounds all of it."""

    epsilon: Fraction | None
    rho: Fraction
    mu_squared: Fraction | None
    paths: int


def setting_of(data: Any, adjacency: Any) -> Setting:
    """The neighbours that a certificate is about."""
    size, least, group = data.get("size"), data.get("at_least"), adjacency.get("group")
    need(size is None or (type(size) is int and size >= 1), "a size is a positive number or every size")
    need(type(least) is int and least >= 1, "the least size is a positive number")
    need(type(group) is int and group >= 1, "a group has at least one record")
    kind = adjacency.get("kind")
    need(kind in ("replace-one", "add-remove", "zero-out"), "an adjacency that is known")
    return Setting(adjacency=kind, size=size, at_least=least, group=group)


def read_extent(written: Any) -> int | Poly:
    """An extent of a shape: a number, or ``{"N": [[coefficient, power], ...]}``."""
    if type(written) is int:
        need(written >= 0, "an extent is not negative")
        return written
    terms: dict[tuple[tuple[str, int], ...], Fraction] = {
        (("N", power),) if power else (): Fraction(value) for value, power in written["N"]
    }
    need(all(type(power) is int for _, power in written["N"]), "a power of N is a whole number")
    found = Poly(terms)
    number = found.number
    return int(number) if number is not None and number.denominator == 1 else found


def _params(written: Any) -> dict[str, Any]:
    need(isinstance(written, dict), "the parameters of a step are a table")
    need(written.get("kind", "f") in ("b", "i", "f"), "a kind of numbers is b, i or f")
    need(type(written.get("python", True)) is bool, "python is true or false")
    return {
        key: (
            tuple(read_extent(n) for n in value)
            if key == "shape"
            else tuple(value)
            if key == "axes"
            else value
        )
        for key, value in written.items()
    }


def derived(s: Setting, nodes: Sequence[Any]) -> list[Info]:
    """The bounds of every node."""
    need(isinstance(nodes, list) and len(nodes) <= MAX_NODES, f"a record has at most {MAX_NODES} steps")
    infos: list[Info] = []
    for op, ids, params in nodes:
        need(
            all(type(k) is int and 0 <= k < len(infos) for k in ids), "a step uses one that is not there yet"
        )
        infos.append(derive(s, op, ids, [infos[k] for k in ids], _params(params)))
    return infos


def boxes_of(
    s: Setting, infos: Sequence[Info], names: Sequence[str]
) -> tuple[dict[str, tuple[Fraction, Fraction]], ...]:
    """By how much each symbol of a hidden comparison may change: under add-remove, values that never fall
    when a record is added all move one way."""
    ways = (1, -1) if s.length_is_private else (0,)
    boxes = []
    for way in ways:
        box = {}
        for name in names:
            info = infos[int(name[1:])]
            need(info.shape == () and not info.records, "a symbol of a comparison is one number")
            change = s.largest(info.change)
            need(change is not None, "a hidden comparison of a value whose change has no bound (clip it)")
            d = change or Fraction(0)
            one_way = info.rises and way
            box[name] = ((Fraction(0), d) if way == 1 else (-d, Fraction(0))) if one_way else (-d, d)
        boxes.append(box)
    return tuple(boxes)


def path_costs(s: Setting, infos: Sequence[Info], events: Sequence[Any], tables: Any) -> list[Cost]:
    """The costs of what a path releases. Each entry of each draw serves once, or is hidden."""
    draws: list[Drawn] = []
    releases: list[dict[str, Any]] = []
    hidden: set[tuple[int, int]] = set()
    for event in events:
        found = EVENT.fullmatch(event[1]) if event[0] == "show" else None
        if found is None:
            continue
        kind, number, second = found.group(1), int(found.group(2)), found.group(3)
        if kind == "draw":
            need(second is not None and number == len(draws), "the draws of a path are numbered")
            distribution, scale, shape = tables["draws"][int(second or 0)]
            draws.append(Drawn(distribution, scale_of(s, scale), tuple(read_extent(n) for n in shape)))
        elif kind == "hidden":
            need(second is not None and number < len(draws), "a hidden draw that was not made")
            hidden.add((number, int(second or 0)))
        else:
            releases.append(tables["releases"][number])
    _require_once(releases, hidden, draws)
    return most_expensive(s, cost_of(s, infos, releases, draws))


def _require_once(
    releases: Sequence[dict[str, Any]], hidden: set[tuple[int, int]], draws: Sequence[Drawn]
) -> None:
    used: set[tuple[int, int | None]] = set(hidden)
    for release in releases:
        number = release.get("draw")
        if number is None:
            need(release["law"] in ("choice", "response", "bernoulli"), "a release needs noise")
            continue
        need(type(number) is int and 0 <= number < len(draws), "noise that was not drawn")
        entry = release["entry"]
        if entry is None:
            need(not any(other == number for other, _ in used), "one draw of noise serves twice")
        else:
            shape = draws[number].shape
            need(
                type(entry) is int and len(shape) == 1 and type(shape[0]) is int and 0 <= entry < shape[0],
                "such an entry",
            )
            need((number, None) not in used and (number, entry) not in used, "one draw of noise serves twice")
        used.add((number, entry))


def check(certificate: Any) -> Checked:
    """Derive the bound of a certificate.

    Raises
    ------
    ValuesProofError
        A step does not follow, or the certificate is malformed.
    """
    try:
        return _check(certificate)
    except (RefusedStepError, program_t0.ProgramProofError) as error:
        raise ValuesProofError(str(error)) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValuesProofError(f"the certificate is malformed: {type(error).__name__}: {error}") from error


def _require_small(certificate: Any) -> None:
    """Refuse floats, and powers of ten that would take all memory to write out."""
    rest = [certificate]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            rest += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            rest += item
        elif isinstance(item, str):
            need(HUGE.fullmatch(item) is None, "a number has an exponent of more than three digits")
        else:
            need(item is None or isinstance(item, int), "numbers are exact strings or integers")


def _check(certificate: Any) -> Checked:
    _require_small(certificate)
    need(certificate.get("proof") == PROOF, "the certificate is of another kind")
    need(certificate.keys() == PARTS, f"a certificate has the parts {sorted(PARTS)} and no others")
    require_declared(certificate["data"], certificate["adjacency"], certificate["nodes"])
    s = setting_of(certificate["data"], certificate["adjacency"])
    infos = derived(s, certificate["nodes"])
    used = sorted({int(name[1:]) for node in certificate["tree"] for name in _symbols(node)})
    names = tuple(f"x{k}" for k in used)
    data = program_t0.Data(names, False, {}, boxes_of(s, infos, names))
    tree = program_t0.Tree(certificate["tree"], data)
    paths = tree.paths()
    members = [k for cell in certificate["cells"] for k in cell["paths"]]
    need(all(type(k) is int for k in members), "the paths of a cell are numbers")
    need(sorted(members) == list(range(len(paths))), "each path must be in exactly one cell")
    points: list[Cost] = []
    for written in certificate["cells"]:
        cell = tree.cell(written, paths)
        costs = path_costs(s, infos, cell.path.events, certificate)
        hidden = tree.cost(cell) if cell.path.draws else Fraction(0)
        _require_hidden(cell.path, certificate)
        points += [(epsilon + hidden, rho) for epsilon, rho in costs]
        need(not (cell.path.draws and any(rho for _, rho in costs)), "hidden noise beside Gaussian releases")
    return concluded(points, len(paths))


def concluded(points: Sequence[Cost], paths: int) -> Checked:
    """What costs (epsilon, rho) of ``paths`` paths prove together."""
    pure = all(rho == 0 for _, rho in points)
    normal = all(epsilon == 0 for epsilon, _ in points)
    rho = max((rho + epsilon * epsilon / 2 for epsilon, rho in points), default=Fraction(0))
    return Checked(
        max((epsilon for epsilon, _ in points), default=Fraction(0)) if pure else None,
        rho,
        2 * rho if normal else None,
        paths,
    )


def _symbols(node: Any) -> list[str]:
    """The private symbols in a comparison or a shown form of the tree."""
    form = node[1] if node[0] in ("compare", "form") else {}
    need(isinstance(form, dict), "a form is a table")
    return [name for name in form if SYMBOL.fullmatch(name)]


def _require_hidden(path: Any, tables: Any) -> None:
    """Every hidden symbol of the tree is a draw that the path made, of that distribution and scale."""
    draws: list[Any] = []
    hidden: list[Any] = []
    for event in path.events:
        found = EVENT.fullmatch(event[1]) if event[0] == "show" else None
        if found and found.group(1) == "draw":
            draws.append(tables["draws"][int(found.group(3))])
        if found and found.group(1) == "hidden":
            hidden.append(draws[int(found.group(2))])
    need(len(hidden) == len(path.draws), "each hidden draw is named once")
    for (distribution, scale, _), (symbol_distribution, symbol_scale) in zip(hidden, path.draws, strict=True):
        need(
            distribution == symbol_distribution and distribution in program_t0.CONTINUOUS,
            "a hidden draw of another distribution",
        )
        need(scale == ["number", str(Fraction(symbol_scale))], "a hidden draw of another scale")


def main(arguments: list[str]) -> int:
    """Check one certificate, or all of this kind in a report, as ``claim.run`` says."""
    return run(arguments, check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
