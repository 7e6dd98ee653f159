"""Replace sources of randomness by rng proxies, which record the draws of a function.

During a run, ``install_proxies`` installs proxies for ``numpy.random`` (its functions, ``default_rng``, the
two classes of generators), ``random`` and ``random.Random``, ``secrets`` and ``os.urandom``, ``rvs`` of
scipy's distributions, names of these that a module has imported, and generators that the function holds in
closures, globals, attributes and containers. A proxy shares the bit generator of the original, so the numbers
are the same. Afterwards everything is restored, including the states. Draws of compiled code bypass the
proxies. They are noticed by the changed state, but not listed.
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

__all__ = ["Session", "install_proxies"]

#: Methods that make no draw.
_SILENT = frozenset({"spawn", "seed", "get_state", "set_state", "getstate", "setstate"})
_SECRETS = ("randbelow", "randbits", "choice", "token_bytes", "token_hex", "token_urlsafe")
#: Largest number of objects that are searched for generators held by a function.
_HELD = 2000

#: Generators made without a seed get a seed from this key and their number.
_FRESH = 2**31 + 4

#: The active traces. The last one records only its own thread.
_TRACES: list[Trace] = []
#: Allows one session at a time. Two sessions that end out of order would leave proxies behind.
_LOCK = threading.RLock()


def _trace() -> Trace | None:
    """Return the trace that records this thread, or None."""
    return _TRACES[-1] if _TRACES and _TRACES[-1].thread == threading.get_ident() else None


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


def _recorded(source: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function or method so that an active trace records its calls."""

    @functools.wraps(original)
    def proxy(*arguments: Any, **named: Any) -> Any:
        trace = _trace()
        if trace is None:
            return original(*arguments, **named)
        return trace.record(
            "secrets" if arguments and isinstance(arguments[0], random.SystemRandom) else source,
            name,
            lambda: _named(original, arguments, named),
            lambda: original(*arguments, **named),
        )

    return proxy


def _drawing(kind: type) -> list[str]:
    """Return the names of the methods of a class that draw."""
    names = (name for name in dir(kind) if not name.startswith("_") and name not in _SILENT)
    return [name for name in names if callable(getattr(kind, name))]


class _AnyOf(type):
    """Metaclass for which instances of the original class are instances of the proxy class too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (Generator, RandomState)) and isinstance(value, cls.__mro__[1])


def _proxy_class(base: type, source: str) -> Any:
    members = {name: _recorded(source, name, getattr(base, name)) for name in _drawing(base)}
    return _AnyOf(base.__name__, (base,), members)


_PROXY = _proxy_class(Generator, "numpy")
_LEGACY_PROXY = _proxy_class(RandomState, "numpy (legacy)")


def _bits(generator: Any) -> Any:
    return generator.bit_generator if isinstance(generator, Generator) else generator._bit_generator


def _whole(generator: Any) -> Any:
    """Return the state of a legacy generator, including the second normal variate that it may hold."""
    return generator.get_state(legacy=False)


def _proxy_for(generator: Any) -> Any:
    """Return a proxy that shares the bit generator, so that the numbers stay the same."""
    if type(generator) in (_PROXY, _LEGACY_PROXY):
        return generator
    if isinstance(generator, Generator):
        return _PROXY(generator.bit_generator)
    proxy = _LEGACY_PROXY(_bits(generator))
    proxy.set_state(_whole(generator))
    return proxy


class Session:
    """Session with installed proxies. Each run has its own trace and starts from the same states."""

    def __init__(self) -> None:
        self._states: list[tuple[Any, Any]] = []

    def keep(self, generator: Any) -> Any:
        """Return a proxy for ``generator`` whose state is the same at the start of each run."""
        proxy = _proxy_for(generator)
        self._states.append(
            (proxy, proxy.bit_generator.state if type(proxy) is _PROXY else _whole(generator))
        )
        return proxy

    @contextmanager
    def run(self, trace: Trace) -> Iterator[None]:
        """Record the draws of the block on ``trace``."""
        python = random.getstate()
        for proxy, state in self._states:
            if type(proxy) is _PROXY:
                proxy.bit_generator.state = state
            else:
                proxy.set_state(state)
            trace.follow(_bits(proxy))
        _TRACES.append(trace)
        try:
            yield
            trace.compare_states()
        finally:
            _TRACES.pop()
            random.setstate(python)


@contextmanager
def install_proxies(function: Any) -> Iterator[Session]:
    """Install proxies for all sources of randomness, including generators that ``function`` holds."""
    session = Session()
    with _LOCK, ExitStack() as undo:
        swapped = _replacements(session, undo)
        for names in _places(function):
            if swapped.keys().isdisjoint(map(id, list(names.values()))):
                continue
            # Private names of these two modules stay, because seeds are made with them.
            inside = names.get("__name__") in ("random", "secrets")
            for name, value in list(names.items()):
                new = swapped.get(id(value))
                if new is not None and not (inside and name.startswith("_")):
                    _put(names, name, new[1], undo)
        _proxy_random(undo)
        _proxy_scipy(undo)
        _proxy_held(function, session, undo)
        yield session


def _places(function: Any) -> list[dict[str, Any]]:
    """Return the global namespaces that may have imported a source of randomness."""
    quiet = ("numpy.", "scipy.", "dpaudit.blackbox.recorded")
    modules = [(name, module) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)]
    found = [vars(module) for name, module in modules if not name.startswith(quiet) or name == "numpy.random"]
    own = getattr(inspect.unwrap(function) if callable(function) else function, "__globals__", None)
    return [*found, own] if own is not None else found


def _replacements(session: Session, undo: ExitStack) -> dict[int, tuple[Any, Any]]:
    """Map the identity of each source of randomness to the source and its proxy."""
    pairs: list[tuple[Any, Any]] = [(Generator, _PROXY), (RandomState, _LEGACY_PROXY)]
    pairs.append((np.random.default_rng, _default_rng()))
    legacy = np.random.mtrand._rand
    undo.callback(legacy.set_state, _whole(legacy))
    proxy = session.keep(legacy)
    _put(vars(np.random.mtrand), "_rand", proxy, undo)
    for name in (*_drawing(RandomState), "seed"):
        function = getattr(np.random, name, None)
        if function is not None:
            new = _seeding(f"numpy.random.{name}", function) if name == "seed" else getattr(proxy, name)
            pairs.append((function, new))
    undo.callback(random.setstate, random.getstate())
    for name in _drawing(random.Random):
        function = getattr(random, name, None)
        if function is not None:
            pairs.append((function, _recorded("random", name, function)))
    pairs.append((random.seed, _seeding("random.seed", random.seed)))
    pairs += [
        (getattr(secrets, name), _recorded("secrets", name, getattr(secrets, name))) for name in _SECRETS
    ]
    pairs.append((os.urandom, _recorded("secrets", "urandom", os.urandom)))
    return {id(original): (original, new) for original, new in pairs}


def _default_rng() -> Callable[..., Any]:
    original = np.random.default_rng

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        trace = _trace()
        if trace is None:
            return original(seed)
        if isinstance(seed, int | np.integer | list | tuple | np.ndarray):
            trace.record_seed("default_rng", seed)
        if seed is None:  # a fixed seed replaces the system's randomness, so that the run can be repeated
            seed = np.random.SeedSequence(0, spawn_key=(_FRESH, trace.made))
            trace.made += 1
        proxy = _proxy_for(original(seed))
        trace.follow(proxy.bit_generator)
        return proxy

    return default_rng


def _seeding(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def seed(*arguments: Any, **named: Any) -> Any:
        given = next(iter((*arguments, *named.values())), None)
        trace = _trace()
        if trace is None:
            return original(*arguments, **named)
        if given is not None:
            trace.record_seed(name, given)
        return trace.reseed(lambda: original(*arguments, **named))

    return seed


def _proxy_random(undo: ExitStack) -> None:
    """Install proxies on the class ``random.Random``, which covers every instance."""
    for kind in (random.Random, random.SystemRandom):
        for name in _drawing(kind):
            if kind is random.Random or name in vars(kind):
                _set(kind, name, _recorded("random", name, getattr(kind, name)), undo)


def _proxy_scipy(undo: ExitStack) -> None:
    infrastructure = sys.modules.get("scipy.stats._distn_infrastructure")
    if infrastructure is None:
        return
    original = infrastructure.rv_generic.rvs

    @functools.wraps(original)
    def rvs(self: Any, *arguments: Any, **named: Any) -> Any:
        trace = _trace()
        if trace is None:
            return original(self, *arguments, **named)
        return trace.record(
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


def _proxy_held(function: Any, session: Session, undo: ExitStack) -> None:
    """Install proxies for generators in the dictionaries, lists and cells that the function reaches."""
    waiting: list[Any] = [function]
    seen: set[int] = set()
    while waiting and len(seen) < _HELD:
        owner = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        for holder, key, value in _held(owner):
            if isinstance(value, (Generator, RandomState)) and type(value) not in (_PROXY, _LEGACY_PROXY):
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
    """Yield (holder, key, value) of everything that an object holds itself, without computing anything."""
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
    """Put a value into a dictionary, list, cell or object, and restore the old value at the end."""
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
