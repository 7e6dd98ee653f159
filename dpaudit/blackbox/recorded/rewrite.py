"""Propose a rewrite of a function that takes its randomness from coins, from its draws and its source.

Each recorded call becomes a site. Noise becomes ``release`` if it is added to a value, exactly one returned
number is linear in it, and no other number depends on it. Whatever is done to the noisy value is done after
the release. Every other draw becomes ``draw``, a hidden draw. The text is a draft to complete: its comments
list what could not be placed. Run it under ``dpaudit.coins.record`` and compare it with the function before
use.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.recorded.findings import recorded_in_words
from dpaudit.blackbox.recorded.recording import Recording
from dpaudit.blackbox.recorded.trace import Place

__all__ = ["rewrite_of"]

#: Maps a family to its distribution and its parameters: (name in the distribution, names in the call,
#: default).
_DISTRIBUTIONS: dict[str, tuple[str, tuple[tuple[str, tuple[str, ...], str], ...]]] = {
    "laplace": ("Laplace", (("scale", ("scale",), "1"),)),
    "normal": ("Gaussian", (("sigma", ("scale",), "1"),)),
    "norm": ("Gaussian", (("sigma", ("scale",), "1"),)),
    "gauss": ("Gaussian", (("sigma", ("sigma",), "1"),)),
    "normalvariate": ("Gaussian", (("sigma", ("sigma",), "1"),)),
    "standard_normal": ("Gaussian", (("sigma", (), "1"),)),
    "exponential": ("Exponential", (("scale", ("scale",), "1"),)),
    "gumbel": ("Gumbel", (("scale", ("scale",), "1"),)),
    "binomial": ("Binomial", (("trials", ("n",), "1"), ("p", ("p",), "1/2"))),
}
#: The order in which a call takes its parameters.
_ORDER: dict[str, tuple[str, ...]] = {
    "laplace": ("loc", "scale", "size"),
    "normal": ("loc", "scale", "size"),
    "gauss": ("mu", "sigma"),
    "normalvariate": ("mu", "sigma"),
    "standard_normal": ("size",),
    "exponential": ("scale", "size"),
    "gumbel": ("loc", "scale", "size"),
    "binomial": ("n", "p", "size"),
}
_CENTRES = ("loc", "mu")

_Span = tuple[int, int, int, int]


def rewrite_of(recording: Recording) -> str:
    """Return the text of the rewrite, or a list of the draws if the source cannot be read."""
    draws = "".join(f"# recorded: {line}\n" for line in recorded_in_words(recording))
    found = _source_of(recording.source)
    if found is None:
        return f"{draws}# The source of this function cannot be read: write one site for each draw above.\n"
    tree, first, indent = found
    shown = dict(_shown(recording, first, indent))
    changer = _Changer(_sites(recording, first, indent), shown, _added_later(tree, shown))
    changed = ast.fix_missing_locations(changer.visit(tree))
    imports = (
        f"from dpaudit.distributions import {', '.join(sorted(changer.distributions))}\n\n\n"
        if changer.distributions
        else "\n"
    )
    left = len(changer.sites) - changer.placed
    notes = [f"# to do: {note}\n" for note in changer.notes]
    if left:
        notes.append(f"# to do: {left} recorded draws are outside this function: pass coins to that code\n")
    return f"{draws}{''.join(notes)}{imports}{ast.unparse(changed)}\n"


def _source_of(function: Any) -> tuple[ast.Module, int, int] | None:
    """Return the syntax tree of the function, its first line and its indent, or None for a lambda."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
        text = "".join(lines)
        tree = ast.parse(textwrap.dedent(text))
    except (OSError, TypeError, SyntaxError):
        return None
    if not isinstance(tree.body[0], ast.FunctionDef):
        return None
    return tree, first, len(lines[0]) - len(lines[0].lstrip())


def _span(place: Place, first: int, indent: int) -> _Span:
    lines = place.line - first + 1, place.end_line - first + 1
    return lines[0], place.column - indent, lines[1], place.end_column - indent


def _sites(recording: Recording, first: int, indent: int) -> Mapping[_Span, str]:
    """Return the family of the draw at each place in the source of the function."""
    return {_span(draw.place, first, indent): draw.family for draw in recording.first.draws}


def _shown(recording: Recording, first: int, indent: int) -> Sequence[tuple[_Span, bool]]:
    """Return, for each place, whether its numbers are noise of one returned number each.

    Each number must change exactly one returned number, linearly, and no other number may change that one.
    """
    response = recording.response
    found: dict[_Span, bool] = {}
    if response is None or not response.complete or recording.shift is None:
        return []
    for k, (index, _) in enumerate(response.elements):
        row = np.flatnonzero(response.feeds[:, k])
        alone = (
            len(row) == 1
            and np.isfinite(response.slopes[row[0], k])
            and np.count_nonzero(response.feeds[row[0]]) == 1
        )
        span = _span(recording.first.draws[index].place, first, indent)
        found[span] = found.get(span, True) and bool(alone)
    return list(found.items())


class _Changer(ast.NodeTransformer):
    """Transformer that replaces recorded draws by sites.

    ``later`` maps a variable to the noise that is added under this name in a later statement.
    """

    def __init__(
        self, sites: Mapping[_Span, str], shown: Mapping[_Span, bool], later: Mapping[str, ast.Call]
    ) -> None:
        self.sites, self.shown, self.later = sites, shown, later
        self.distributions: set[str] = set()
        self.notes: list[str] = []
        self.placed = 0
        self._name, self._depth = "", 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not self._depth:
            self._name = node.name
            own = [item for item in node.args.args if item.arg == "self"]
            rest = node.args.args[len(own) :]
            rest = [*rest[:1], *rest[2:]]  # the second argument is the generator, whatever its name
            node.args.args = [*own, ast.arg("coins"), *rest]
            node.args.defaults = node.args.defaults[-len(rest) :] if rest else []
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Add):
            for noise, value in ((node.right, node.left), (node.left, node.right)):
                released = self._released(value, noise)
                if released is not None:
                    return released
        self.generic_visit(node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            released = self._released(ast.Name(node.target.id), node.value)
            if released is not None:
                return ast.Assign([node.target], released)
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        if isinstance(node.targets[0], ast.Name) and self.later.get(node.targets[0].id) is node.value:
            return None  # the release draws the noise in the statement that adds it
        self.generic_visit(node)
        return node

    def _released(self, value: ast.expr, noise: ast.expr) -> ast.Call | None:
        """Return a release for the sum of a value and its noise, or None for any other sum."""
        if isinstance(noise, ast.Name):
            noise = self.later.get(noise.id, noise)
        span = _node_span(noise)
        distribution = (
            self._distribution(noise, span) if isinstance(noise, ast.Call) and self.shown.get(span) else None
        )
        if distribution is None or not isinstance(noise, ast.Call):
            return None
        centre, value = self._centre(noise, span), self.visit(value)
        return self._call(
            "release", [value if centre is None else ast.BinOp(value, ast.Add(), centre), distribution], span
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        span = _node_span(node)
        if span not in self.sites:
            self.generic_visit(node)
            return node
        distribution = self._distribution(node, span)
        if distribution is None:
            self.notes.append(f"{self.sites[span]} in line {span[0]} has no known distribution")
            self.placed += 1
            return node
        centre = self._centre(node, span)
        if self.shown.get(span) and centre is not None:
            return self._call("release", [centre, distribution], span)
        if self.shown.get(span):
            self.notes.append(
                f"the noise of line {span[0]} is returned with a value that was not found: replace draw by a "
                "release of that value, with the distribution"
            )
        size = _given(node, self.sites[span]).get("size")
        if size is not None:  # an array of independent numbers
            zeros = ast.Call(ast.Attribute(ast.Name("np"), "zeros"), [size], [])
            distribution = ast.Call(ast.Attribute(distribution, "shift"), [zeros], [])
        drawn = self._call("draw", [distribution], span)
        return drawn if centre is None else ast.BinOp(centre, ast.Add(), drawn)

    def _centre(self, node: ast.Call, span: _Span) -> ast.expr | None:
        given = _given(node, self.sites[span])
        centre = next((given[name] for name in _CENTRES if name in given), None)
        return None if isinstance(centre, ast.Constant) and not centre.value else centre

    def _distribution(self, node: ast.Call, span: _Span) -> ast.Call | None:
        family = self.sites[span]
        if family not in _DISTRIBUTIONS or any(isinstance(item, ast.Starred) for item in node.args):
            return None
        name, parameters = _DISTRIBUTIONS[family]
        given = _given(node, family)
        keywords = []
        for own, theirs, default in parameters:
            value = next((given[key] for key in theirs if key in given), ast.Constant(default))
            keywords.append(ast.keyword(own, value))
        self.distributions.add(name)
        return ast.Call(ast.Name(name), [], keywords)

    def _call(self, primitive: str, arguments: list[Any], span: _Span) -> ast.Call:
        self.placed += 1
        site = ast.keyword("site", ast.Constant(f"{self._name}-{span[0]}"))
        return ast.Call(ast.Attribute(ast.Name("coins"), primitive), arguments, [site])


class _Names(ast.NodeVisitor):
    """Visitor that counts the uses of each name, and collects calls that are assigned to a name."""

    def __init__(self) -> None:
        self.uses: Counter[str] = Counter()
        self.calls: dict[str, ast.Call] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        named = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if named and isinstance(node.value, ast.Call):
            self.calls[ast.unparse(node.targets[0])] = node.value
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.uses[node.id] += 1


def _added_later(tree: ast.Module, shown: Mapping[_Span, bool]) -> dict[str, ast.Call]:
    """Return noise that is assigned to a name and added once in the same block of statements.

    An example is ``noise = ...`` followed by ``return total + noise``.
    """
    names = _Names()
    names.visit(tree)
    found: dict[str, ast.Call] = {}
    for block in _blocks(tree):
        own = [node for statement in block for node in _without_blocks(statement)]
        added = {item.id for node in own for item in _summands(node) if isinstance(item, ast.Name)}
        for name, call in names.calls.items():
            here = any(isinstance(node, ast.Assign) and node.value is call for node in block)
            if here and name in added and names.uses[name] == 2 and shown.get(_node_span(call)):
                found[name] = call
    return found


def _blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    """Return all blocks of statements."""
    fields = [value for node in ast.walk(tree) for _, value in ast.iter_fields(node)]
    return [value for value in fields if isinstance(value, list) and value and isinstance(value[0], ast.stmt)]


def _without_blocks(statement: ast.stmt) -> list[ast.AST]:
    """Return the nodes of a statement that run once with it, without inner statements, loops or functions."""
    inner = (ast.stmt, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    found: list[ast.AST] = [statement]
    for node in found:
        found += [child for child in ast.iter_child_nodes(node) if not isinstance(child, inner)]
    return found


def _summands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [node.left, node.right]
    return [node.value] if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) else []


def _node_span(node: ast.expr) -> _Span:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


def _given(node: ast.Call, family: str) -> dict[str, ast.expr]:
    names = _ORDER.get(family, ())
    named = {item.arg: item.value for item in node.keywords if item.arg}
    return {**dict(zip(names, node.args, strict=False)), **named}
