"""Follow iteration, indexing, attributes and methods of values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpaudit.core import views
from dpaudit.prover.values.accepted import ACCEPTED, METHODS
from dpaudit.prover.values.aggregates import aggregate
from dpaudit.prover.values.channels import Session, ask, call_kernel, open_channel
from dpaudit.prover.values.chosen import chosen_distribution
from dpaudit.prover.values.frames import FRAMES, frame_attribute, frame_item, frame_method
from dpaudit.prover.values.functions import Accepted, call_accepted
from dpaudit.prover.values.joins import JOINED, is_private
from dpaudit.prover.values.matrices import index, shape_value
from dpaudit.prover.values.operations import (
    _holds_noise,
    _settled,
    binary,
    content,
    expression_of,
    function_of,
    is_plain,
    is_python_number,
    published,
    shape_of,
)
from dpaudit.prover.values.places import Places
from dpaudit.prover.values.randomness import (
    GENERATOR,
    Distribution,
    call_coins,
    call_generator,
    shifted,
)
from dpaudit.prover.values.run import ProgramRaisedError
from dpaudit.prover.values.scopes import (
    Bound,
    Class,
    DictView,
    Function,
    Instance,
    Lazy,
    Method,
    Raised,
    Running,
    Super,
    is_key,
)
from dpaudit.prover.values.texts import METHODS as TEXT_METHODS
from dpaudit.prover.values.texts import has_text, text_lookup, text_method
from dpaudit.prover.values.values import (
    Array,
    Coins,
    Correlated,
    Draw,
    Filtered,
    Generator,
    Joined,
    Listed,
    Named,
    Noisy,
    Private,
    Public,
    Symbol,
    Text,
    Texts,
    Transposed,
)

__all__ = ["Containers"]

#: The number of results of numpy functions that return a tuple for one argument.
RESULTS = {"np.linalg.eigh": 2, "np.linalg.qr": 2, "np.linalg.slogdet": 2, "np.linalg.svd": 3}
#: What a loop over records of unknown number may do (``record_loops``).
SUMS = (
    "a loop may only add to totals, as in sum(1 for x in data if x > 3), and cannot call functions of the"
    " program"
)
LIST_METHODS = ("append", "extend", "insert", "pop", "remove", "copy", "clear", "reverse")
#: The methods of public Python integers.
OF_INTEGERS = ("bit_length", "bit_count")


def _parts_of(inner: Any) -> int:
    """Return the number of results of a function of one outcome that returns a tuple, or 0."""
    expression: Any = inner.expression if isinstance(inner, Public) else ()
    if len(expression) != 3 or expression[0] != "function":
        return 0
    return RESULTS.get(expression[1], 0)


class Containers(Places):
    """The part of the interpreter that iterates over values, indexes them and finds their attributes."""

    def iterate(self, value: Any) -> Iterator[Any]:
        """Yield the items of a value."""
        run, inner = self.run, content(value)
        if isinstance(inner, Lazy):
            # A loop that ends early must not close the iterator, which may be used again.
            while True:
                run.tick()
                item = self.next_of(inner, None)
                if item is None:
                    return
                yield item[0]
        elif isinstance(inner, Instance | Running):
            yield from self.iterate_object(inner)
        elif isinstance(inner, list | tuple | str | range):
            yield from inner
        elif isinstance(inner, dict | DictView):
            yield from self._of_dict(inner)
        elif isinstance(inner, set | frozenset):
            run.refuse("the order of a set may differ between runs (iterate over a list or sorted(...))")
        elif isinstance(inner, FRAMES):
            run.refuse("iteration over a pandas object is not supported (use .to_numpy())")
        elif isinstance(inner, Filtered):
            run.refuse("iteration over a filtered array is not supported: its length depends on the data")
        elif isinstance(inner, Symbol | np.ndarray) and not isinstance(
            inner, Function | Bound | Named | Accepted | Raised | DictView | Class | Method
        ):
            yield from self._rows(value)
        else:
            run.refuse(f"iteration over a {type(inner).__name__} is not supported")

    def next_of(self, lazy: Lazy, end: Any) -> Any:
        """Return the next item of an iterator as a tuple of one, or ``end``."""
        try:
            return (next(lazy.items),)
        except StopIteration:
            return end
        except ValueError as error:  # of zip(..., strict=True)
            return self._raises(error)
        except ProgramRaisedError as raised:
            if isinstance(raised.error, StopIteration):
                # Python ends map() and filter() here, and a generator expression raises RuntimeError.
                self.run.refuse("StopIteration is raised inside an iterator")
            raise

    def _of_dict(self, inner: Any) -> Iterator[Any]:
        """Yield the keys, values or items of a dict, each in its state when it is reached."""
        table, kind = (inner, "keys") if isinstance(inner, dict) else (inner.table, inner.kind)
        keys = list(table)
        for key in keys:
            if list(table) != keys:
                self.run.refuse("the keys of a dict change during iteration, which raises RuntimeError")
            yield key if kind == "keys" else table[key] if kind == "values" else (key, table[key])
        if list(table) != keys:
            self.run.refuse("the keys of a dict change during iteration, which raises RuntimeError")

    def _backwards(self, value: Any) -> Iterator[Any]:
        """Yield the items from last to first, each in its state when it is reached."""
        inner = content(value)
        if isinstance(inner, tuple | str | range):
            yield from reversed(inner)
            return
        if not isinstance(inner, list) and (not isinstance(value, Array) or isinstance(inner, Filtered)):
            self.run.refuse("reversed() requires a list, tuple, string, range or array")
        shape = (len(inner),) if isinstance(inner, list) else shape_of(value)
        if not shape or not isinstance(shape[0], int):
            self.run.refuse("reversed() requires an array of known length")
        for k in range(shape[0] - 1, -1, -1):
            if isinstance(inner, list) and len(inner) != shape[0]:
                self.run.refuse("the length of a list changes during reversed iteration")
            yield inner[k] if isinstance(inner, list) else self.item(value, k)

    def _rows(self, value: Any) -> Iterator[Any]:
        run = self.run
        shape, inner = shape_of(value), content(value)
        records = isinstance(inner, Texts) or (isinstance(inner, Private) and inner.info.records)
        if records and run.s.length_is_private:
            run.refuse(f"with a private number of records, {SUMS} (use whole arrays)")
        parts = _parts_of(inner)
        if parts:
            yield from (self.item(value, k) for k in range(parts))
            return
        if shape is None or not shape or not isinstance(shape[0], int):
            what = "a loop over an array requires a fixed length"
            what = f"without a fixed number of records, {SUMS}" if records else what
            run.refuse(f"{what} (declare size=n, or use whole arrays)")
        for k in range(shape[0]):
            yield self.item(value, k)

    def item(self, value: Any, key: Any) -> Any:
        """Return ``value[key]``, and refuse values that cannot be indexed."""
        inner = content(value)
        if isinstance(
            inner, Lazy | DictView | Function | Bound | Named | Accepted | Class | Method | Running | Raised
        ):
            self.run.refuse("a function, module or iterator cannot be indexed")
        if type(inner) in (list, tuple) and type(key) is int and not -len(inner) <= key < len(inner):
            # The length of a list is known on a path. No handler can catch an IndexError (``exceptions``).
            raise ProgramRaisedError(IndexError(f"{type(inner).__name__} index out of range"))
        if isinstance(inner, np.generic | int | float | bool) or inner is None:
            self.run.refuse("a single number is indexed")
        if isinstance(inner, Text | Texts | Listed):
            self.run.refuse(
                "a private text, or a list of unknown length, cannot be indexed (use a function of each text)"
            )
        if has_text(key):
            self.run.refuse(
                "a private text may be missing in a table, which raises KeyError (use .get(t, 0))"
            )
        if type(inner) in (list, tuple):
            found = chosen_distribution(self.run, inner, key, index)
            if found is not None:
                return found
        if isinstance(inner, FRAMES):
            return frame_item(self.run, value, key)
        found = index(self.run, value, key)
        if isinstance(found, Array) and isinstance(value, Array) and isinstance(found.content, Symbol):
            value.shared = found.shared = True  # a part of an array shares its memory
        return found

    def attribute(self, value: Any, name: str) -> Any:
        """Return ``value.name``: an array's shape, a method with a rule, or a function of numpy or math."""
        run, inner = self.run, content(value)
        if name.startswith("__"):
            run.refuse(f"the attribute {name} is not supported")
        if isinstance(inner, Instance | Class | Method | Super):
            return self.object_attribute(inner, name)
        if isinstance(inner, Text):
            return Bound(inner, name)
        if isinstance(inner, Texts | Listed):
            run.refuse(f"the method {name!r} of a list of unknown length is not supported")
        if isinstance(inner, Named):
            return Bound(inner, name) if inner.name == "kernel" else self._of_module(inner, name)
        if isinstance(inner, Coins) and name == "replicates":
            return None  # one run at a time
        if isinstance(inner, Joined):
            run.refuse(JOINED)
        if isinstance(inner, FRAMES):
            found = frame_attribute(run, value, name)
            return Bound(inner, name) if found is None else found
        if isinstance(inner, Generator | Coins | Session | Distribution):
            return Bound(inner, name)
        if type(inner) is range and name in ("start", "stop", "step"):
            return getattr(inner, name)
        if isinstance(inner, list | tuple | dict | str | set | frozenset):
            return Bound(inner, name)
        if type(inner) is int and name in OF_INTEGERS:
            return Bound(inner, name)
        if isinstance(inner, Running) and name in ("send", "close"):
            return Bound(inner, name)
        if isinstance(inner, Raised) and type(inner.error) is StopIteration and name == "value":
            return inner.value
        if isinstance(inner, Raised | Running | Function | Bound | Lazy | DictView | Accepted):
            run.refuse(f"the attribute {name!r} of a function, exception or iterator is not supported")
        if name in METHODS or name in ("shape", "size", "ndim", "T", "dtype"):
            if run.untyped and isinstance(inner, Symbol) and shape_of(value) in ((), None):
                run.refuse(
                    f"the attribute {name!r} of a number that may be of Python or of numpy, depending on the"
                    " data (use np.maximum, np.minimum and np.sum instead of max, min and loops)"
                )
            if is_python_number(value):
                run.refuse(
                    f"a Python number has no attribute {name!r} (only arrays and numpy numbers have it)"
                )
            return Bound(value, name) if name in METHODS else self._described(value, name)
        if name == "sort":
            run.refuse("x.sort() sorts in place, which is not supported (use np.sort(x))")
        return run.refuse(f"the attribute {name!r} is not supported")

    def _of_module(self, module: Named, name: str) -> Any:
        homes = {
            "numpy": np,
            "numpy.random": np.random,
            "numpy.linalg": np.linalg,
            "math": math,
            "views": views,
            "itertools": itertools,
        }
        if module.name not in homes:
            self.run.refuse(f"the attribute {name!r} of {module.name} is not supported")
        home = homes[module.name]
        if module.name == "numpy.random" and name in GENERATOR:
            return Named(f"random.{name}", None)
        if name in ("inf", "nan", "pi", "e", "newaxis", "tau", "euler_gamma"):
            return getattr(home, name)
        if not hasattr(home, name):
            self._raises(AttributeError(f"module {module.name!r} has no attribute {name!r}"))
        return self.enter(getattr(home, name), f"{module.name}.{name}")

    def _described(self, value: Any, name: str) -> Any:
        run = self.run
        if name == "T":
            return self._transposed(value)
        if name == "dtype":
            run.refuse("the attribute dtype is not supported (write float or int)")
        shape = shape_value(run, value)
        if name == "shape":
            return shape
        if name == "ndim":
            return len(shape)
        found: Any = 1
        for n in shape:
            found = n if type(found) is int and found == 1 else binary(run, "mul", found, n)
        return found

    def _transposed(self, value: Any) -> Any:
        run, inner = self.run, content(value)
        if isinstance(value, Array):
            value.shared = True
        if isinstance(inner, np.ndarray):
            return Array(inner.T, shared=True)
        if isinstance(inner, Private):
            if len(inner.shape) < 2:
                return value
            if inner.info.records != 1 or len(inner.shape) != 2:
                run.refuse("the transpose of a private array requires a matrix with one row per record")
            return Array(Transposed(inner), shared=True)
        if isinstance(inner, Transposed):
            return Array(inner.base, shared=True)
        if isinstance(inner, Filtered):
            return run.refuse(
                "the transpose of a filtered array is not supported (use np.where(mask[:, None], X, 0))"
            )
        if isinstance(inner, Correlated):
            return call_accepted(run, ACCEPTED[id(np.transpose)], [value], {})
        return function_of(
            run, "transpose", np.transpose, published(run, value) if _holds_noise(inner) else value
        )

    def _method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        inner = content(value)
        if isinstance(inner, Generator):
            return call_generator(self.run, name, arguments, options)
        if isinstance(inner, Text):
            return text_method(self.run, inner, name, arguments, options)
        if isinstance(inner, Coins) and name == "channel":
            return open_channel(self.run, arguments, options)
        if isinstance(inner, Coins) and name == "aggregate":
            return aggregate(self.run, arguments, options)
        if isinstance(inner, Session | Distribution | Named):
            return self._of_randomness(inner, name, arguments, options)
        if isinstance(inner, Coins):
            return call_coins(self.run, name, arguments, options)
        if isinstance(inner, FRAMES):
            return frame_method(self.run, inner, name, arguments, options)
        if isinstance(inner, list | tuple | dict | str | set | frozenset):
            return self._container_method(inner, name, arguments, options)
        if type(inner) is int and name in OF_INTEGERS:
            return self.run.plain(getattr(inner, name), *arguments, **options)
        return self._array_method(value, name, arguments, options)

    def _of_randomness(self, inner: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        if isinstance(inner, Named):
            return call_kernel(self.run, inner.real, name, arguments, options)
        if isinstance(inner, Session) and name == "ask":
            return ask(self.run, inner, arguments, options)
        if isinstance(inner, Distribution) and name == "shift":
            return shifted(self.run, inner, arguments, options)
        return self.run.refuse(f"the method {name!r} is not supported")

    def _array_method(self, value: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        value = _settled(value)
        inner = content(value)
        accepted = METHODS[name]
        if isinstance(inner, Noisy | Draw) and name == "item" and not arguments and inner.shape == (1,):
            return self.item(value, 0)
        if isinstance(inner, Noisy | Draw) and name in ("argmax", "argmin", "argsort", "copy"):
            return call_accepted(self.run, accepted, [value, *arguments], options)
        if (
            name == "tolist"
            and isinstance(inner, Noisy | Draw | Correlated | Public)
            and not (arguments or options)
        ):
            return self._listed_outcomes(value)
        if isinstance(inner, Transposed):
            self.run.refuse(f"the method {name!r} of a transposed array is not supported")
        found = call_accepted(self.run, accepted, [value, *arguments], options)
        if name in ("reshape", "ravel") and isinstance(value, Array) and isinstance(found, Array):
            value.shared = found.shared = True
        return found

    def _listed_outcomes(self, value: Any) -> Any:
        """Return the outcomes in a vector as a list of Python numbers."""
        run, value = self.run, published(self.run, value)
        inner = content(value)
        kind = {"f": float, "i": int}.get(str(getattr(inner, "kind", None)))
        if kind is None or len(inner.shape or ()) != 1 or not isinstance(inner.shape[0], int):
            return call_accepted(run, METHODS["tolist"], [value], {})
        return [call_accepted(run, ACCEPTED[id(kind)], [item], {}) for item in self._rows(value)]

    def _place_of_extreme(self, items: list[Any], value: Any) -> Any:
        """Return the position of ``max(items)`` or ``min(items)`` of outcomes, or None otherwise."""
        run = self.run
        items = [published(run, item) if _holds_noise(item) else item for item in items]
        plain = all(shape_of(item) == () and not is_private(item) for item in items)
        if not isinstance(content(value), Public) or not items or not plain:
            return None
        expressions = [expression_of(run, item) for item in items]
        for name in ("maximum", "minimum"):  # as ``max`` builds them
            best = expressions[0]
            for one in expressions[1:]:
                best = [name, best, one]
            if best == content(value).expression:
                return function_of(
                    run, "index", lambda a, v: a.index(v), items, value, shape=(), kind="i", python=True
                )
        return None

    def _container_method(self, inner: Any, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        run = self.run
        arguments = [self._finished_argument(a) for a in arguments]
        if type(inner) is list and name in LIST_METHODS:
            if id(inner) in self.frozen and name != "copy":
                run.refuse("a list from outside the function is modified, which keeps state between runs")
            if name == "extend":
                arguments = [list(self.iterate(arguments[0]))]
            if name in ("insert", "pop", "remove") and arguments:
                arguments[0] = self._known(arguments[0])
            if name in ("insert", "pop") and arguments and type(arguments[0]) is not int:
                run.refuse("a position in a list must be a constant integer")
            if name == "remove" and not (is_plain(inner) and is_plain(arguments)):
                run.refuse("remove() requires a list of constants")
            try:
                return getattr(inner, name)(*arguments, **options)
            except (IndexError, TypeError, ValueError) as error:
                return self._raises(error)
        if type(inner) is dict and name in (
            "items",
            "keys",
            "values",
            "get",
            "copy",
            "setdefault",
            "update",
            "pop",
        ):
            return self._dict_method(inner, name, arguments, options)
        if type(inner) is str and name in ("join", "format", "split", *TEXT_METHODS):
            return self._text_method(inner, name, arguments, options)
        if type(inner) is list and name == "index" and len(arguments) == 1 and not options:
            found = self._place_of_extreme(inner, arguments[0])
            if found is not None:
                return found
        if (
            type(inner) in (list, tuple)
            and name in ("index", "count")
            and is_plain(inner)
            and is_plain(arguments)
        ):
            return run.plain(getattr(inner, name), *[content(a) for a in arguments])
        return run.refuse(f"the method {name!r} of a {type(inner).__name__} is not supported")

    def _known(self, value: Any) -> Any:
        """Return an outcome with few possible values as one of them, on a path of its own."""
        value = published(self.run, value) if _holds_noise(value) else value
        inner = content(value)
        whole = self.run.whole.one_of(self.run, inner)
        if whole is not None:
            return whole
        return int(inner) if isinstance(inner, np.int64) else value

    def _text_method(self, inner: str, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a string method. With outcomes as arguments, the result is an outcome."""
        given = [self._text_value(list(self.iterate(a)) if isinstance(a, Lazy) else a) for a in arguments]
        named = {key: self._text_value(value) for key, value in options.items()}
        if is_plain(given) and is_plain(named):
            return self.run.plain(getattr(inner, name), *[content(a) for a in given], **named)
        names = list(named)

        def text(*values: Any) -> Any:
            rest = dict(zip(names, values[len(given) :], strict=True))
            return getattr(inner, name)(*values[: len(given)], **rest)

        return function_of(self.run, f"text {name} {inner!r} {names}", text, *given, *named.values())

    def _finished_argument(self, value: Any) -> Any:
        return value

    def _dict_method(
        self, inner: dict[Any, Any], name: str, arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        if name in ("items", "keys", "values"):
            if arguments or options:
                self._raises(TypeError(f"{name}() takes no arguments"))
            return DictView(inner, name)
        if name == "get" and has_text(*arguments[:1]) and not options:
            return text_lookup(self.run, content(arguments[0]), inner, arguments[1:])
        changes = name in ("setdefault", "update", "pop")
        if changes and id(inner) in self.frozen:
            self.run.refuse("a dict from outside the function is modified, which keeps state between runs")
        if options or any(not is_key(a) for a in arguments[:1] if name in ("get", "setdefault", "pop")):
            self.run.refuse("a dict key must be a plain number or text, without keyword arguments")
        if name == "update" and not (len(arguments) == 1 and isinstance(arguments[0], dict)):
            self.run.refuse("update() requires exactly one dict")
        try:
            found = getattr(inner, name)(*arguments)
        except (KeyError, TypeError) as error:
            return self._raises(error)
        return found
