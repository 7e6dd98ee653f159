"""Ears: generators that write down what they are asked for, in place of those that a function finds.

For the time of a run ``listening`` puts listeners in the places where a function looks for randomness:
``numpy.random`` (its functions, ``default_rng``, the two classes of generators), ``random`` and
``random.Random``, ``secrets`` and ``os.urandom``, ``rvs`` of scipy's distributions; names of these that a
module has
imported; and generators that the function holds in closures, globals, attributes and containers. A listener
shares the bit generator of the one that it stands for: the numbers are the same. Afterwards all is as before,
states included. What compiled code draws past them is noticed by the state, not listed.
"""

from __future__ import annotations

import functools
import inspect
import os
import random
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState

from dpaudit.blackbox.recorded.trace import Trace

__all__ = ["Session", "listening"]

#: Methods that draw nothing.
_SILENT = frozenset({"spawn", "seed", "get_state", "set_state", "getstate", "setstate"})
_SECRETS = ("randbelow", "randbits", "choice", "token_bytes", "token_hex", "token_urlsafe")
#: Objects looked at in the search for generators that a function holds.
_HELD = 2000

#: Generators that a function makes without a seed get one by this key and their number.
_FRESH = 2**31 + 4

#: The trace that listens now, and the thread that it listens to: others draw unheard.
_TAPES: list[Trace] = []
#: One session at a time: two that end in another order than they began would leave listeners behind.
_LOCK = threading.RLock()


def _trace() -> Trace | None:
    """The trace that listens to this thread."""
    return _TAPES[-1] if _TAPES and _TAPES[-1].thread == threading.get_ident() else None


def _named(original: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    try:
        bound = _signature(original).bind(*arguments, **named)
    except (TypeError, ValueError):
        return {**{f"argument {k + 1}": value for k, value in enumerate(arguments)}, **named}
    bound.apply_defaults()
    found = dict(bound.arguments)
    found.pop("self", None)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(found.pop(name))
    return found


@functools.cache
def _signature(original: Any) -> inspect.Signature:
    return inspect.signature(original)


def _heard(source: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """``original`` as a function or method that is written down where a trace listens."""

    @functools.wraps(original)
    def listener(*arguments: Any, **named: Any) -> Any:
        trace = _trace()
        if trace is None:
            return original(*arguments, **named)
        return trace.hear(
            "secrets" if arguments and isinstance(arguments[0], random.SystemRandom) else source,
            name,
            lambda: _named(original, arguments, named),
            lambda: original(*arguments, **named),
        )

    return listener


def _drawing(kind: type) -> list[str]:
    """The names of the methods of a class that draw."""
    names = (name for name in dir(kind) if not name.startswith("_") and name not in _SILENT)
    return [name for name in names if callable(getattr(kind, name))]


class _AnyOf(type):
    """Instances of the original class are instances of its listening form as well."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (Generator, RandomState)) and isinstance(value, cls.__mro__[1])


def _listening_class(base: type, source: str) -> Any:
    members = {name: _heard(source, name, getattr(base, name)) for name in _drawing(base)}
    return _AnyOf(base.__name__, (base,), members)


_EAR = _listening_class(Generator, "numpy")
_OLD_EAR = _listening_class(RandomState, "numpy (legacy)")


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, Generator) else generator._bit_generator


def _whole(generator: Any) -> Any:
    """The state of a legacy generator, with the half of a pair of normals that it may hold."""
    return generator.get_state(legacy=False)


def _ear_for(generator: Any) -> Any:
    """A listener that shares the bit generator, so that the numbers stay the same."""
    if type(generator) in (_EAR, _OLD_EAR):
        return generator
    if isinstance(generator, Generator):
        return _EAR(generator.bit_generator)
    ear = _OLD_EAR(_bits(generator))
    ear.set_state(_whole(generator))
    return ear


class Session:
    """Listeners are in place; each run is written down on a trace of its own and begins in the same
    states."""

    def __init__(self) -> None:
        self._states: list[tuple[Any, Any]] = []

    def keep(self, generator: Any) -> Any:
        """A listener for ``generator``, whose state is the same at the start of each run."""
        ear = _ear_for(generator)
        self._states.append((ear, ear.bit_generator.state if type(ear) is _EAR else _whole(generator)))
        return ear

    @contextmanager
    def run(self, trace: Trace) -> Iterator[None]:
        """Write down on ``trace`` what is drawn meanwhile."""
        python = random.getstate()
        for ear, state in self._states:
            if type(ear) is _EAR:
                ear.bit_generator.state = state
            else:
                ear.set_state(state)
            trace.follow(_bits(ear))
        _TAPES.append(trace)
        try:
            yield
            trace.compare_states()
        finally:
            _TAPES.pop()
            random.setstate(python)


@contextmanager
def listening(function: Any) -> Iterator[Session]:
    """Put listeners where ``function`` may look for randomness; it is searched for generators it holds."""
    session = Session()
    with _LOCK, ExitStack() as undo:
        swapped = _replacements(session, undo)
        for names in _places(function):
            if swapped.keys().isdisjoint(map(id, list(names.values()))):
                continue
            inside = names.get("__name__") in (
                "random",
                "secrets",
            )  # their private names stay: seeds come by them
            for name, value in list(names.items()):
                new = swapped.get(id(value))
                if new is not None and not (inside and name.startswith("_")):
                    _put(names, name, new[1], undo)
        _listen_to_random(undo)
        _listen_to_scipy(undo)
        _listen_to_held(function, session, undo)
        yield session


def _places(function: Any) -> list[dict[str, Any]]:
    """Global names that may have imported a source of randomness."""
    quiet = ("numpy.", "scipy.", "dpaudit.blackbox.recorded")
    modules = [(name, module) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)]
    found = [vars(module) for name, module in modules if not name.startswith(quiet) or name == "numpy.random"]
    own = getattr(inspect.unwrap(function) if callable(function) else function, "__globals__", None)
    return [*found, own] if own is not None else found


def _replacements(session: Session, undo: ExitStack) -> dict[int, tuple[Any, Any]]:
    """From the identity of each source of randomness to (itself, its listener)."""
    pairs: list[tuple[Any, Any]] = [(Generator, _EAR), (RandomState, _OLD_EAR)]
    pairs.append((np.random.default_rng, _default_rng()))
    legacy = np.random.mtrand._rand
    undo.callback(legacy.set_state, _whole(legacy))
    ear = session.keep(legacy)
    _put(vars(np.random.mtrand), "_rand", ear, undo)
    for name in (*_drawing(RandomState), "seed"):
        function = getattr(np.random, name, None)
        if function is not None:
            new = _seeding(f"numpy.random.{name}", function) if name == "seed" else getattr(ear, name)
            pairs.append((function, new))
    undo.callback(random.setstate, random.getstate())
    for name in _drawing(random.Random):
        function = getattr(random, name, None)
        if function is not None:
            pairs.append((function, _heard("random", name, function)))
    pairs.append((random.seed, _seeding("random.seed", random.seed)))
    pairs += [(getattr(secrets, name), _heard("secrets", name, getattr(secrets, name))) for name in _SECRETS]
    pairs.append((os.urandom, _heard("secrets", "urandom", os.urandom)))
    return {id(original): (original, new) for original, new in pairs}


def _default_rng() -> Callable[..., Any]:
    original = np.random.default_rng

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        trace = _trace()
        if trace is None:
            return original(seed)
        if isinstance(seed, int | np.integer | list | tuple | np.ndarray):
            trace.hear_seed("default_rng", seed)
        if seed is None:  # from the system's randomness, which is as good as any seed and better to repeat
            seed = np.random.SeedSequence(0, spawn_key=(_FRESH, trace.made))
            trace.made += 1
        ear = _ear_for(original(seed))
        trace.follow(ear.bit_generator)
        return ear

    return default_rng


def _seeding(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def seed(*arguments: Any, **named: Any) -> Any:
        given = next(iter((*arguments, *named.values())), None)
        trace = _trace()
        if trace is None:
            return original(*arguments, **named)
        if given is not None:
            trace.hear_seed(name, given)
        return trace.reseed(lambda: original(*arguments, **named))

    return seed


def _listen_to_random(undo: ExitStack) -> None:
    """Every instance of ``random.Random``, wherever it is held, by the class."""
    for kind in (random.Random, random.SystemRandom):
        for name in _drawing(kind):
            if kind is random.Random or name in vars(kind):
                _set(kind, name, _heard("random", name, getattr(kind, name)), undo)


def _listen_to_scipy(undo: ExitStack) -> None:
    infrastructure = sys.modules.get("scipy.stats._distn_infrastructure")
    if infrastructure is None:
        return
    original = infrastructure.rv_generic.rvs

    @functools.wraps(original)
    def rvs(self: Any, *arguments: Any, **named: Any) -> Any:
        trace = _trace()
        if trace is None:
            return original(self, *arguments, **named)
        return trace.hear(
            "scipy",
            self.name or type(self).__name__,
            lambda: _scipy_parameters(self, arguments, named),
            lambda: original(self, *arguments, **named),
        )

    _set(infrastructure.rv_generic, "rvs", rvs, undo)


def _scipy_parameters(
    distribution: Any, arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    order = [*(distribution.shapes or "").replace(" ", "").split(","), "loc"]
    order += [] if named.get("discrete") or not hasattr(distribution, "pdf") else ["scale"]
    order = [name for name in order if name]
    found = {**dict(zip(order, arguments, strict=False)), **named}
    return {"loc": 0, **({"scale": 1} if "scale" in order else {}), **found}


def _listen_to_held(function: Any, session: Session, undo: ExitStack) -> None:
    """Generators that the function holds, in the dictionaries, lists and cells that it reaches."""
    waiting: list[Any] = [function]
    seen: set[int] = set()
    while waiting and len(seen) < _HELD:
        owner = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for holder, key, value in _held(owner):
            if isinstance(value, (Generator, RandomState)) and type(value) not in (_EAR, _OLD_EAR):
                if value is not np.random.mtrand._rand:
                    undo.callback(setattr, _bits(value), "state", _bits(value).state)
                    _put(holder, key, session.keep(value), undo)
            elif _may_hold(value):
                waiting.append(value)


def _may_hold(value: Any) -> bool:
    if isinstance(value, dict | list | tuple | FunctionType | MethodType | functools.partial):
        return True
    inside = getattr(type(value), "__module__", "builtins").split(".")[0]
    return hasattr(value, "__dict__") and inside not in ("builtins", "numpy", "scipy", "random", "dpaudit")


def _held(owner: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(where, key, value) of what an object holds: only of its own, nothing is computed."""
    if isinstance(owner, dict):
        yield from ((owner, key, value) for key, value in list(owner.items()))
    elif isinstance(owner, list):
        yield from ((owner, place, value) for place, value in enumerate(owner))
    elif isinstance(owner, tuple):
        yield from ((None, place, value) for place, value in enumerate(owner) if _may_hold(value))
    elif isinstance(owner, MethodType):
        yield from ((None, 0, part) for part in (owner.__self__, owner.__func__))
    elif isinstance(owner, functools.partial):
        yield from ((None, 0, part) for part in (owner.func, owner.args, owner.keywords))
    elif isinstance(owner, FunctionType):
        names = owner.__globals__
        yield from ((names, name, names[name]) for name in owner.__code__.co_names if name in names)
        for cell in owner.__closure__ or ():
            if cell != CellType():
                yield cell, "cell_contents", cell.cell_contents
        yield None, 0, owner.__kwdefaults__ or {}
    if hasattr(owner, "__dict__") and not isinstance(owner, ModuleType | dict):
        yield from ((owner, name, value) for name, value in list(vars(owner).items()))
        if not isinstance(owner, type):
            yield None, 0, vars(type(owner)).get("__call__")


def _put(holder: Any, key: Any, value: Any, undo: ExitStack) -> None:
    """Put a value into a dictionary, list, cell or object, and back at the end."""
    if holder is None:
        return
    if isinstance(holder, dict | list):
        undo.callback(holder.__setitem__, key, holder[key])
        holder[key] = value
    elif isinstance(holder, CellType):
        undo.callback(setattr, holder, key, holder.cell_contents)
        holder.cell_contents = value
    else:
        undo.callback(vars(holder).__setitem__, key, vars(holder)[key])
        vars(holder)[key] = value


def _set(kind: type, name: str, value: Any, undo: ExitStack) -> None:
    if name in vars(kind):
        undo.callback(setattr, kind, name, vars(kind)[name])
    else:
        undo.callback(delattr, kind, name)
    setattr(kind, name, value)
