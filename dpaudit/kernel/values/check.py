"""Check a certificate: derive the privacy cost of a recorded program from its record alone.

    python -m dpaudit.kernel.values.check certificate.json     (or a report)

The record has ``nodes``, the steps of the program over private data, ``draws``, the distributions of its
noise, and ``releases``. It also has ``tree``, the complete tree of its public decisions and hidden
comparisons, with ``cells`` as ``program_t0`` reads them. If the program opens channels, ``channels`` holds
their parameters. If it repeats a block a random number of times, ``repetitions`` holds the stopping laws. No
bound is read from the record: every step is derived again.

Statement. For all declared data, all neighbours and all outcomes, the joint distribution of everything in the
view that is released, revealed, returned or yielded satisfies the derived bound.

Proof. On one path both sides make the same releases of equal distributions. Given earlier outcomes, a release
of cost c changes the density of its outcome by at most e^c (or is c-zCDP), so costs add along a path
(adaptive composition). A record that does not affect a release adds nothing to it (parallel composition).
Releases with correlated noise are charged together (``correlated``).
Hidden noise is shifted within its cell (``program_t0``), for all changes of its symbols within the derived
boxes. Its cost is added to the other costs. Hidden Gaussian noise has a delta instead of a cost
(``hidden_gaussian``). ``repetitions`` bounds the best of a random number of runs, and ``exact_cells`` has
exact probabilities for programs on integers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpaudit.kernel import program_t0
from dpaudit.kernel.values.amplified import AMPLIFIED
from dpaudit.kernel.values.channels import session_part
from dpaudit.kernel.values.claim import PROOF, run
from dpaudit.kernel.values.correlated import correlated_parts, terms_of
from dpaudit.kernel.values.costs import Cost, maximal
from dpaudit.kernel.values.declaration import require_declared
from dpaudit.kernel.values.exact_cells import ExactCase, exact_case
from dpaudit.kernel.values.fixed_samples import require_single_use
from dpaudit.kernel.values.hidden_gaussian import GaussianTree, Loss, has_gaussian, losses_of
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting, need
from dpaudit.kernel.values.polynomials import Poly, product_of
from dpaudit.kernel.values.release_after_test import require_passed, smallest_threshold
from dpaudit.kernel.values.releases import Drawn, Part, cost_of, drawn_of, failure_part, most_expensive
from dpaudit.kernel.values.repetitions import blocks_of, repeated_cost
from dpaudit.kernel.values.steps import derive
from dpaudit.kernel.values.views import read_view

__all__ = [
    "PROOF",
    "Checked",
    "ValuesProofError",
    "boxes_of",
    "check",
    "concluded",
    "cost_of_runs",
    "main",
    "path_costs",
    "read_extent",
    "setting_of",
]

PARTS = {"proof", "data", "adjacency", "view", "nodes", "draws", "releases", "tree", "cells"}
MAX_NODES = 200_000
EVENT = re.compile(r"(draw|hidden|release|channel|ask) (\d{1,9})(?: (\d{1,9}))?", re.ASCII)
HUGE = re.compile(r"\s*[-+]?[\d_.]*[eE][-+]?[\d_]{4,}\s*", re.ASCII)
#: The laws of releases whose randomness is not a recorded draw.
WITHOUT_DRAW = ("choice", "response", "bernoulli", "table", "k-ary", "reveal", *AMPLIFIED)
#: The law of releases that may share draws with each other (``correlated``).
CORRELATED = "correlated"
SYMBOL = re.compile(r"x(\d{1,9})", re.ASCII)


class ValuesProofError(Exception):
    """The certificate is malformed, or a step does not follow."""


@dataclass(frozen=True)
class Checked:
    """What a record proves for all neighbours: the largest ``costs`` of its ``paths``.

    ``epsilon``, ``rho`` and ``mu_squared`` are the bounds of all costs, and None where there is no such
    bound: ``epsilon`` with Gaussian noise, ``mu_squared`` with any other noise, all with a mechanism.
    ``adaptive`` says whether the bounds also hold for data that are chosen in view of earlier outcomes (see
    ``views``). The ``losses`` of groups of cells bound every delta of hidden Gaussian noise, and so do the
    probabilities of an ``exact`` case. If they are ``only`` bounds of a delta, there is no other.
    """

    costs: tuple[Cost, ...]
    paths: int
    gaussian: bool = True
    adaptive: bool = False
    losses: tuple[Loss, ...] = ()
    exact: ExactCase | None = None
    only: bool = False

    @property
    def mechanisms(self) -> bool:
        """Return whether a cost has a mechanism of its own."""
        return any(cost.mechanisms for cost in self.costs)

    @property
    def special(self) -> bool:
        """Return whether a cost has a mechanism of its own or a delta."""
        return any(cost.special for cost in self.costs)

    @property
    def epsilon(self) -> Fraction | None:
        pure = not self.only and not self.special and all(cost.rho == 0 for cost in self.costs)
        return max((cost.epsilon for cost in self.costs), default=Fraction(0)) if pure else None

    @property
    def rho(self) -> Fraction | None:
        if self.only or self.special:
            return None
        return max((cost.rho + cost.epsilon**2 / 2 for cost in self.costs), default=Fraction(0))

    @property
    def mu_squared(self) -> Fraction | None:
        normal = self.gaussian and all(cost.epsilon == 0 for cost in self.costs)
        return 2 * self.rho if normal and self.rho is not None else None


def setting_of(data: Any, adjacency: Any, view: Any) -> Setting:
    """Return the neighbouring datasets and the view that a certificate covers."""
    size, least, group = data.get("size"), data.get("at_least"), adjacency.get("group")
    need(size is None or (type(size) is int and size >= 1), "size must be a positive integer or null")
    need(type(least) is int and least >= 1, "at_least must be a positive integer")
    need(type(group) is int and group >= 1, "group must be a positive integer")
    kind = adjacency.get("kind")
    need(
        kind in ("replace-one", "add-remove", "zero-out"),
        "adjacency must be replace-one, add-remove or zero-out",
    )
    return Setting(adjacency=kind, size=size, at_least=least, group=group, view=read_view(view))


def read_extent(written: Any) -> int | Poly:
    """Read an extent of a shape: a number, or ``{"N": [[coefficient, power], ...]}``."""
    if type(written) is int:
        need(written >= 0, "an extent must not be negative")
        return written
    terms: dict[tuple[tuple[str, int], ...], Fraction] = {
        (("N", power),) if power else (): Fraction(value) for value, power in written["N"]
    }
    need(all(type(power) is int for _, power in written["N"]), "a power of N must be an integer")
    found = Poly(terms)
    number = found.number
    return int(number) if number is not None and number.denominator == 1 else found


def _params(op: str, written: Any) -> dict[str, Any]:
    need(isinstance(written, dict), "the parameters of a step must be an object")
    kind = written.get("kind", "f")
    need(kind in ("b", "i", "f") or (kind == "t" and op == "data"), "kind must be b, i or f, or t for data")
    need(type(written.get("python", True)) is bool, "python must be true or false")
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
    """Derive the bounds of every node."""
    need(
        isinstance(nodes, list) and len(nodes) <= MAX_NODES, f"a record must have at most {MAX_NODES:,} steps"
    )
    infos: list[Info] = []
    for op, ids, params in nodes:
        need(all(type(k) is int and 0 <= k < len(infos) for k in ids), "a step must use only earlier steps")
        infos.append(derive(s, op, ids, [infos[k] for k in ids], _params(op, params)))
    return infos


def boxes_of(
    s: Setting, infos: Sequence[Info], names: Sequence[str]
) -> tuple[dict[str, tuple[Fraction, Fraction]], ...]:
    """Return the ranges in which the symbols of hidden comparisons may change.

    Under add-remove, values that never decrease when a record is added all change in the same direction, so
    there is one box per direction.
    """
    directions = (1, -1) if s.length_is_private else (0,)
    boxes = []
    for direction in directions:
        box = {}
        for name in names:
            info = infos[int(name[1:])]
            need(info.shape == () and not info.records, "a symbol of a comparison must be a single number")
            change = s.largest(info.change)
            need(change is not None, "a hidden comparison requires a value whose change is bounded (clip it)")
            d = change or Fraction(0)
            monotone = info.rises and direction
            box[name] = ((Fraction(0), d) if direction == 1 else (-d, Fraction(0))) if monotone else (-d, d)
        boxes.append(box)
    return tuple(boxes)


def _steps_of(
    events: Sequence[Any], places: Sequence[int | None] | None = None
) -> Iterator[tuple[re.Match[str], int | None]]:
    """Yield the draws, releases and queries among the shown texts of a path, with their ``places``."""
    for event, place in zip(events, places or [None] * len(events), strict=True):
        found = EVENT.fullmatch(event[1]) if event[0] == "show" else None
        if found is not None:
            yield found, place


@dataclass
class _Used:
    """What a path uses: its draws and releases, each with the number of its repeated block or None."""

    draws: list[Drawn] = field(default_factory=list)
    drawn_in: list[int | None] = field(default_factory=list)
    sessions: list[tuple[Any, list[int]]] = field(default_factory=list)
    releases: list[tuple[dict[str, Any], int | None]] = field(default_factory=list)
    hidden: set[tuple[int, int]] = field(default_factory=set)

    def inside(self, block: int | None) -> list[dict[str, Any]]:
        """Return the releases of a block, or for None those outside of all blocks, with their own noise."""
        found = [release for release, place in self.releases if place == block]
        return [release for release in found if release["law"] != CORRELATED]

    @property
    def correlated(self) -> list[dict[str, Any]]:
        """Return the releases with correlated noise."""
        return [release for release, _ in self.releases if release["law"] == CORRELATED]


def path_costs(
    s: Setting, infos: Sequence[Info], events: Sequence[Any], tables: Any, run: Fraction | None = None
) -> list[Cost]:
    """Return the costs of the releases and sessions of a path.

    Each entry of each draw is used once, or is hidden. All queries of a session are charged together. ``run``
    is the cost of one run of a repeated block, which is the largest on this path if it is None.
    """
    used, laws = _used(s, events, tables)
    _require_fresh_samples(infos, tables, used)
    parts = [session_part(s, infos, channel, asked) for channel, asked in used.sessions]
    parts += correlated_parts(s, tables["nodes"], infos, used.correlated, used.draws)
    parts += _failures(s, infos, events, tables, used)
    found = most_expensive(s, [*cost_of(s, infos, used.inside(None), used.draws), *parts])
    if not laws:
        return found
    one = run if run is not None else cost_of_runs(s, infos, [events], tables)
    more = sum((repeated_cost(tables["repetitions"][law], one) for law in laws), Fraction(0))
    return [cost._replace(epsilon=cost.epsilon + more) for cost in found]


def _require_fresh_samples(infos: Sequence[Info], tables: Any, used: _Used) -> None:
    """Require that the samples of a path's amplified releases are not used by anything else."""
    asked = [node for _, nodes in used.sessions for node in nodes]
    compared = [int(name[1:]) for node in tables.get("tree", ()) for name in _symbols(node)]
    require_single_use(tables["nodes"], infos, [one for one, _ in used.releases], [*asked, *compared])


def _failures(
    s: Setting, infos: Sequence[Info], events: Sequence[Any], tables: Any, used: _Used
) -> list[Part]:
    """Return the parts of the tests of a path that may pass by mistake, also of those that do not pass."""
    require_passed(s, events, tables["releases"])
    found = []
    for release, block in used.releases:
        above = smallest_threshold(release, tables["releases"])
        if above is not None:
            need(block is None, "a test inside of a repeated block is not supported")
            found.append(failure_part(infos, release, above, used.draws, s))
    return found


def cost_of_runs(s: Setting, infos: Sequence[Info], paths: Sequence[Sequence[Any]], tables: Any) -> Fraction:
    """Return the largest cost of one run of a repeated block, over the events of all paths."""
    largest = Fraction(0)
    for events in paths:
        used, laws = _used(s, events, tables)
        for block in range(len(laws)):
            for cost in most_expensive(s, cost_of(s, infos, used.inside(block), used.draws)):
                need(
                    not cost.rho and not cost.special,
                    "a loop with a random number of runs requires noise with a pure bound in each run (use"
                    " Laplace noise or randomised response)",
                )
                largest = max(largest, cost.epsilon)
    return largest


def _used(s: Setting, events: Sequence[Any], tables: Any) -> tuple[_Used, list[int]]:
    """Return what a path uses, and the laws of its repeated blocks."""
    places, laws = blocks_of(events)
    used = _Used()
    draws, sessions, releases, hidden = used.draws, used.sessions, used.releases, used.hidden
    for found, block in _steps_of(events, places):
        kind, number, second = found.group(1), int(found.group(2)), found.group(3)
        if kind == "draw":
            need(second is not None and number == len(draws), "the draws of a path must be numbered in order")
            distribution, scale, shape = tables["draws"][int(second or 0)]
            draws.append(drawn_of(s, distribution, scale, tuple(read_extent(n) for n in shape)))
            used.drawn_in.append(block)
        elif kind == "hidden":
            need(second is not None and number < len(draws), "a hidden draw must be made before it is used")
            place = int(second or 0)
            need((number, place) not in hidden, "one noise draw is used twice")
            count = product_of(draws[number].shape)
            need(s.at_most(place + 1, count), "a hidden symbol must be an entry of its draw")
            hidden.add((number, place))
        elif kind == "channel":
            need(
                second is not None and number == len(sessions),
                "the sessions of a path must be numbered in order",
            )
            sessions.append((tables["channels"][int(second or 0)], []))
        elif kind == "ask":
            need(second is not None and number < len(sessions), "a query requires an open session")
            sessions[number][1].append(int(second or 0))
        else:
            releases.append((tables["releases"][number], block))
    _require_once([release for release, _ in releases], hidden, draws)
    for release, where in releases:
        if release["law"] == CORRELATED:
            blocks = {where, *(used.drawn_in[number] for number, _ in terms_of(release, draws))}
            need(blocks == {None}, "correlated noise is used in a loop with a random number of runs")
            continue
        own = release.get("draw") is None or used.drawn_in[release["draw"]] == where
        need(own, "noise is used both inside and outside of a repeated block")
        need(where is None or release["law"] != "reveal", "a repeated block reveals a private value")
    return used, laws


def _require_once(
    releases: Sequence[dict[str, Any]], hidden: set[tuple[int, int]], draws: Sequence[Drawn]
) -> None:
    shared = {source for one in releases if one["law"] == CORRELATED for source in terms_of(one, draws)}
    need(shared.isdisjoint(hidden), "one noise draw is used twice")
    used: set[tuple[int, int | None]] = hidden | shared
    for release in releases:
        if release["law"] == CORRELATED:
            continue
        number = release.get("draw")
        if number is None:
            need(release["law"] in WITHOUT_DRAW, "a release requires noise")
            continue
        need(type(number) is int and 0 <= number < len(draws), "a release must use noise that was drawn")
        entry = release["entry"]
        if entry is None:
            need(not any(other == number for other, _ in used), "one noise draw is used twice")
        else:
            shape = draws[number].shape
            need(
                type(entry) is int and len(shape) == 1 and type(shape[0]) is int and 0 <= entry < shape[0],
                "the entry of a draw must be a position in a vector of noise",
            )
            need((number, None) not in used and (number, entry) not in used, "one noise draw is used twice")
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
    """Refuse floats, and powers of ten that would exhaust the memory when expanded."""
    rest = [certificate]
    while rest:
        item = rest.pop()
        if isinstance(item, dict):
            rest += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple):
            rest += item
        elif isinstance(item, str):
            need(HUGE.fullmatch(item) is None, "a number must not have an exponent of more than three digits")
        else:
            need(item is None or isinstance(item, int), "numbers must be exact strings or integers")


def _check(certificate: Any) -> Checked:
    _require_small(certificate)
    need(certificate.get("proof") == PROOF, f"the certificate must be of the kind {PROOF!r}")
    parts = certificate.keys() - {"channels", "repetitions", "groups", "exact"}
    need(
        parts == PARTS,
        f"a certificate must have the keys {sorted(PARTS)} (and channels, repetitions, groups or exact)",
    )
    require_declared(certificate["data"], certificate["adjacency"], certificate["nodes"])
    s = setting_of(certificate["data"], certificate["adjacency"], certificate["view"])
    infos = derived(s, certificate["nodes"])
    used = sorted({int(name[1:]) for node in certificate["tree"] for name in _symbols(node)})
    names = tuple(f"x{k}" for k in used)
    data = program_t0.Data(names, False, {}, boxes_of(s, infos, names))
    tree = GaussianTree(certificate["tree"], data)
    paths = tree.paths()
    members = [k for cell in certificate["cells"] for k in cell["paths"]]
    need(all(type(k) is int for k in members), "the paths of a cell must be integers")
    need(sorted(members) == list(range(len(paths))), "each path must be in exactly one cell")
    points: list[Cost] = []
    cells = [tree.cell(written, paths) for written in certificate["cells"]]
    for cell in cells:
        _require_hidden(cell.path, certificate)
        need(
            not cell.path.draws or not _reveals(cell.path, certificate),
            "hidden noise cannot be combined with private values that are revealed to others than the view",
        )
    run = None
    if "repetitions" in certificate:
        _require_open(paths, certificate)
        run = cost_of_runs(s, infos, [path.events for path in paths], certificate)
    costs = [path_costs(s, infos, cell.path.events, certificate, run) for cell in cells]
    if "exact" in certificate:
        need(
            certificate["exact"] is True and "groups" not in certificate, "exact must be true, without groups"
        )
        need(all(cost.parts == 0 for found in costs for cost in found), "an exact case must not release")
        case = exact_case(s, infos, names, data.boxes, cells)
        return Checked((), len(paths), exact=case, only=True)
    # Discrete Gaussian noise has the zCDP bound of Gaussian noise, but not its trade-off curve.
    discrete = any(release["law"] == "discrete-gaussian" for release in certificate["releases"])
    if has_gaussian(cells):
        found = _with_hidden_gaussian(tree, cells, costs, certificate.get("groups"), len(paths))
        return replace(found, gaussian=not discrete)
    need("groups" not in certificate, "only hidden Gaussian noise has groups of cells")
    hides = [_has_private(cell) for cell in cells]
    fails = any(cost.delta for found in costs for cost in found)
    need(not (fails and any(hides)), "hidden noise is not combined with bounds that fail with a probability")
    hidden = [tree.cost(cell) if own else Fraction(0) for cell, own in zip(cells, hides, strict=True)]
    released = [cost for found in costs for cost in found]
    if any(hidden) and any(cost.rho or cost.special for cost in released):
        points = _beside_gaussian(released, cells, certificate["cells"], max(hidden))
    else:
        points = [
            cost._replace(epsilon=cost.epsilon + more)
            for found, more in zip(costs, hidden, strict=True)
            for cost in found
        ]
    found = concluded(points, len(paths), gaussian=not discrete)
    return replace(found, adaptive=run is None and not any(cell.path.draws for cell in cells))


def concluded(costs: Sequence[Cost], paths: int, *, gaussian: bool = True) -> Checked:
    """Return what follows from the costs of all ``paths`` paths. Only Gaussian noise has a bound on mu."""
    return Checked(tuple(sorted(maximal(costs))), paths, gaussian)


def _has_private(cell: program_t0.Cell) -> bool:
    """Return whether a cell has hidden noise, or compares, shows or releases private values in the tree.

    Without noise, a comparison or a shown value must not change at all, which its alignment requires.
    """
    return bool(cell.path.draws or cell.rows or cell.path.forms or cell.path.releases)


def _reveals(path: Any, tables: Any) -> bool:
    """Return whether a path reveals a private value without noise."""
    return any(
        found.group(1) == "release" and tables["releases"][int(found.group(2))]["law"] == "reveal"
        for found, _ in _steps_of(path.events)
    )


def _require_open(paths: Sequence[Any], certificate: Any) -> None:
    """Require that a program with repeated blocks hides nothing else (``repetitions``)."""
    need("groups" not in certificate and "exact" not in certificate, "repeated blocks have no hidden noise")
    need(all(len(cell["paths"]) == 1 for cell in certificate["cells"]), "each path must be its own cell")
    for path in paths:
        hides = path.draws or path.rows or path.forms or path.releases or path.finite
        need(not hides, "repeated blocks cannot be combined with hidden noise")
        need(not _reveals(path, certificate), "repeated blocks cannot be combined with revealed values")


def _beside_gaussian(
    released: Sequence[Cost], cells: Sequence[program_t0.Cell], written: Sequence[Any], hidden: Fraction
) -> list[Cost]:
    """Return the costs of a program with hidden pure noise of cost ``hidden`` and Gaussian releases.

    Each path must be a cell of its own, and no hidden value may be shown.

    Proof. The hidden comparisons are an interactive mechanism: it gets the public outcomes and answers with
    the result of each comparison. Each path keeps its comparisons under the shift of its own noise, for all
    outcomes, because rows hold private values and noise only and an outcome does not change between the
    sides. So for every strategy that chooses outcomes, each transcript changes its probability by a factor of
    at most e^h, with h the largest cost of a path. The answers are finite, so the mechanism is an interactive
    post-processing of one randomised response of cost h (Vadhan and Wang 2021, Concurrent composition of
    differential privacy, Theorem 3.3 and its proof). Give the response first, which is h^2 / 2-zCDP. The
    program is then a post-processing of it and of releases that are chosen adaptively from it and from
    earlier outcomes. Their costs add (Bun and Steinke 2016, Lemma 2.3), and
    h^2 / 2 + epsilon^2 / 2 + rho <= (epsilon + h)^2 / 2 + rho. Every path is charged h. QED
    """
    need(not any(cost.special for cost in released), "hidden noise is combined with Gaussian noise only")
    alone = all(len(cell["paths"]) == 1 for cell in written)
    shows = any(cell.path.forms or cell.path.releases for cell in cells)
    need(alone and not shows, "hidden noise beside Gaussian releases requires each path to be its own cell")
    return [cost._replace(epsilon=cost.epsilon + hidden) for cost in released]


def _with_hidden_gaussian(
    tree: GaussianTree,
    cells: Sequence[program_t0.Cell],
    costs: Sequence[Sequence[Cost]],
    groups: Any,
    paths: int,
) -> Checked:
    """Return the bounds of a program with hidden Gaussian noise (``hidden_gaussian``).

    Gaussian releases are allowed in a single group: the program is then the release of the shifted noise,
    followed by releases that are chosen adaptively, whose costs add.
    """
    released = [cost for found in costs for cost in found]
    need(not any(cost.special for cost in released), "hidden Gaussian noise is combined with other noise")
    pure = [max((cost.epsilon for cost in found), default=Fraction(0)) for found in costs]
    rho = max((cost.rho for cost in released), default=Fraction(0))
    losses = losses_of(tree, cells, groups, pure)
    need(
        not rho or len(losses) == 1,
        "Gaussian releases beside hidden Gaussian noise require one shift for all paths",
    )
    if len(losses) > 1 and any(mu_squared for loss in losses for _, mu_squared in loss):
        return Checked((), paths, losses=losses, only=True)
    points = [Cost(c, rho + mu_squared / 2) for loss in losses for c, mu_squared in loss]
    return replace(concluded(points, paths), losses=() if rho else losses)


def _symbols(node: Any) -> list[str]:
    """Return the private symbols in a comparison or an output form of the tree."""
    form = node[1] if node[0] in ("compare", "form") else {}
    need(isinstance(form, dict), "a form must be an object")
    return [name for name in form if SYMBOL.fullmatch(name)]


def _require_hidden(path: Any, tables: Any) -> None:
    """Require that every hidden symbol is a draw of the path, with the same distribution and scale."""
    draws: list[Any] = []
    hidden: list[Any] = []
    for found, _ in _steps_of(path.events):
        if found.group(1) == "draw":
            draws.append(tables["draws"][int(found.group(3))])
        if found.group(1) == "hidden":
            hidden.append(draws[int(found.group(2))])
    need(len(hidden) == len(path.draws), "each hidden draw must be declared exactly once")
    for (distribution, scale, _), (symbol_distribution, symbol_scale) in zip(hidden, path.draws, strict=True):
        need(
            distribution == symbol_distribution and distribution in GaussianTree.densities,
            "the distribution of a hidden draw must be the recorded one, and continuous",
        )
        need(
            scale == ["number", str(Fraction(symbol_scale))],
            "the scale of a hidden draw must be the recorded one",
        )


def main(arguments: list[str]) -> int:
    """Check one certificate, or all certificates of this kind in a report, and return the exit code."""
    return run(arguments, check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
