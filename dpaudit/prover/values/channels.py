"""Follow the sessions of interactive channels: ``coins.channel(kernel, site=...)``."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from dpaudit import distributions
from dpaudit.core.exact import exact_str
from dpaudit.kernel.values.channels import session_part
from dpaudit.kernel.values.info import RefusedStepError
from dpaudit.prover.values.functions import unwrapped
from dpaudit.prover.values.operations import binary, content, is_plain, published
from dpaudit.prover.values.randomness import (
    Distribution,
    bound_call,
    make_distribution,
    real_argument,
    released_with,
    require_own,
)
from dpaudit.prover.values.run import Run
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import Array, Entries, Public, Symbol

__all__ = ["KERNELS", "Channel", "Session", "admitted", "ask", "call_kernel", "make_channel", "open_channel"]

#: The channels that a program may open.
KERNELS = (distributions.AboveThreshold, distributions.BinaryTree)
#: The noise of a noisy threshold, and the noise of the nodes of a tree.
HIDDEN = {distributions.Laplace: "laplace", distributions.Exponential: "exponential"}
ADDED = (
    distributions.Laplace,
    distributions.Gaussian,
    distributions.DiscreteLaplace,
    distributions.DiscreteGaussian,
)


@dataclass(frozen=True, eq=False)
class Channel(Symbol):
    """A channel with constant parameters. ``real`` is the kernel that the program constructed."""

    real: Any


@dataclass(eq=False)
class Session(Symbol):
    """An open session. ``real`` is set for a run on real data."""

    channel: Channel
    number: int = 0
    real: Any = None
    nodes: list[int] = field(default_factory=list)
    positives: int = 0
    #: The number of leaves of a tree, and the sum of its last block of each level.
    leaves: int = 0
    blocks: dict[int, Any] = field(default_factory=dict)


def make_channel(run: Run, kind: type, arguments: list[Any], options: dict[str, Any]) -> Channel:
    """Construct ``AboveThreshold(...)`` or ``BinaryTree(...)`` from constants.

    The threshold may be an outcome, because the cost does not depend on it.
    """
    if arguments:
        run.refuse(f"{kind.__name__} requires keyword arguments")
    options = {name: published(run, value) for name, value in options.items()}
    threshold = content(options.get("threshold"))
    if isinstance(threshold, Public) and threshold.shape == ():
        run.lift(threshold)  # refuses a value that may be infinite
        options["threshold"] = 0
    return admitted(run, run.plain(kind, **{name: _constant(run, value) for name, value in options.items()}))


def _constant(run: Run, value: Any) -> Any:
    if isinstance(value, Distribution):
        return value.real or run.refuse("the noise of a channel must have a constant scale")
    if isinstance(value, list | tuple):
        return [_constant(run, item) for item in value]
    if not is_plain(value):
        run.refuse("the parameters of a channel must be constants, got a private or released value")
    return unwrapped(value)


def admitted(run: Run, kernel: Any) -> Channel:
    """Admit a kernel whose noise has a rule."""
    require_own(run, type(kernel), kernel)
    if type(kernel) is distributions.BinaryTree:
        for noise in kernel.noise_by_level:
            if type(noise) not in ADDED:
                run.refuse(
                    f"a tree with {type(noise).__name__} noise is not supported (use Laplace or Gaussian)"
                )
            require_own(run, type(noise), noise)
        return Channel(kernel)
    level, query = kernel.threshold_noise, kernel.query_noise
    if query is None:
        run.refuse("AboveThreshold without query noise has no finite epsilon (pass query_noise=)")
    if type(level) not in HIDDEN or type(query) is not type(level):
        run.refuse(
            "AboveThreshold requires Laplace or Exponential noise of one family on threshold and queries"
        )
    for noise in (level, query):
        require_own(run, type(noise), noise)
    return Channel(kernel)


def open_channel(run: Run, arguments: list[Any], options: dict[str, Any]) -> Session:
    """Follow ``coins.channel(kernel, site=...)``."""
    given = bound_call(run, "channel", arguments, options)
    channel = given["kernel"]
    if not isinstance(channel, Channel):
        run.refuse("coins.channel requires AboveThreshold(...) or BinaryTree(...)")
    if run.generator is not None:  # a run on real data draws real numbers
        return Session(channel, real=run.plain(run.generator.channel, channel.real, site=given["site"]))
    if isinstance(channel.real, distributions.BinaryTree):
        return Session(channel)
    number = run.sessions
    run.sessions += 1
    run.event(f"channel {number} {run.record.channel(_written(channel.real))}")
    return Session(channel, number)


def _written(kernel: Any) -> dict[str, Any]:
    return {
        "kernel": "above-threshold",
        "noise": HIDDEN[type(kernel.threshold_noise)],
        "threshold_scale": exact_str(kernel.threshold_noise.scale),
        "query_scale": exact_str(kernel.query_noise.scale),
        "max_positives": kernel.max_positives,
        "resample_threshold": kernel.resample_threshold,
    }


def ask(run: Run, session: Session, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Follow ``session.ask(query)`` and return its public answer."""
    if len(arguments) + len(options) != 1 or set(options) > {"query"}:
        run.refuse("ask() takes exactly one query")
    query = [*arguments, *options.values()][0]
    if session.real is not None:
        return run.plain(session.real.ask, real_argument(query))
    if isinstance(query, Array):  # the session may keep the array without a copy
        query.shared = True
    query = published(run, query)
    if isinstance(content(query), Entries):
        query = Array(run.lift(query))
    if isinstance(content(query), list | tuple):
        run.refuse("a list is asked (use np.array)")
    kernel = session.channel.real
    if isinstance(kernel, distributions.BinaryTree):
        return _leaf(run, session, kernel, query)
    return _compared(run, session, kernel, query)


def _compared(run: Run, session: Session, kernel: Any, query: Any) -> Any:
    """Return the answer of a noisy comparison, whose cost the kernel charges for the whole session."""
    most = kernel.max_positives
    if most is not None and session.positives >= most:
        run.refuse("the program raises InvalidParameterError: the channel is closed (open a new channel)")
    asked = run.lift(query)
    session.nodes.append(asked.node)
    try:
        session_part(run.s, run.record.infos, _written(kernel), session.nodes)
    except RefusedStepError as error:
        run.refuse(str(error))
    run.event(f"ask {session.number} {asked.node}")
    if most is not None:  # the answer decides whether the channel stays open
        answer = bool(run.walk.fork(f"answer {len(session.nodes)} of session {session.number}", 2))
        session.positives += answer
        return answer
    level = float(kernel.threshold) + float(run.rng.normal())
    samples = [apply(lambda v: bool(v >= level), run.sample(asked, side)) for side in run.worlds.sides]
    return run.outcome(shape=(), kind="b", samples=samples, python=True)


def _leaf(run: Run, session: Session, kernel: Any, query: Any) -> Any:
    """Return the noisy sum of the block that a leaf completes, which is one release with its own noise.

    ``BinaryTree.respond`` draws this sum as well, so the answers of a tree need no other rule.
    """
    if session.leaves >= kernel.leaves:
        run.refuse("the program raises InvalidParameterError: the channel is closed (open a new tree)")
    session.leaves += 1
    level = (session.leaves & -session.leaves).bit_length() - 1
    total = query
    for lower in range(level):
        total = binary(run, "add", total, session.blocks[lower])
    session.blocks[level] = total
    noise = kernel.noise_by_level[level]
    [(name, number)] = noise.parameters().items()
    return released_with(run, total, make_distribution(run, type(noise), [], {name: number}))


def call_kernel(run: Run, kind: type, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Follow the static methods of ``BinaryTree``."""
    require_own(run, kind)
    if kind is not distributions.BinaryTree or name not in ("prefix", "prefix_nodes", "nodes_of_leaf"):
        run.refuse(f"{kind.__name__}.{name} is not supported")
    if name != "prefix":
        if not is_plain([*arguments, *options.values()]):
            run.refuse(f"BinaryTree.{name} requires constants")
        return run.plain(getattr(kind, name), *arguments, **options)
    if len(arguments) != 2 or options or type(arguments[1]) is not int:
        run.refuse("BinaryTree.prefix requires a list of answers and a constant length, by position")
    answers, length = arguments
    if not isinstance(answers, list | tuple) or not 0 <= length <= len(answers):
        run.refuse("BinaryTree.prefix requires a list of at least `length` answers")
    total: Any = 0
    for node in distributions.BinaryTree.prefix_nodes(length):
        total = binary(run, "add", total, operator.getitem(answers, node - 1))
    return total
