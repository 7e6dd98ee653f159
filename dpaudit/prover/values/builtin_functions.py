"""Follow the Python builtins that the interpreter handles itself."""

from __future__ import annotations

import ast
import builtins
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.core.errors import CodedError
from dpaudit.prover.values.aggregates import make_image, make_wrapped
from dpaudit.prover.values.amplification import make_subsample
from dpaudit.prover.values.audiences import user_of
from dpaudit.prover.values.channels import make_channel
from dpaudit.prover.values.containers import Containers
from dpaudit.prover.values.frames import FRAMES, frame_length
from dpaudit.prover.values.functions import Accepted
from dpaudit.prover.values.joins import as_condition, is_private, join, unwrap_joined
from dpaudit.prover.values.matrices import shape_value
from dpaudit.prover.values.operations import (
    _holds_noise,
    add_to_output,
    binary,
    content,
    expression_of,
    function_of,
    is_plain,
    public_of,
    published,
    shape_of,
    symbols_in,
    truth,
)
from dpaudit.prover.values.randomness import (
    call_generator,
    generator_of,
    make_constant,
    make_distribution,
    make_selection,
    require_own,
)
from dpaudit.prover.values.scopes import (
    Bound,
    Class,
    DictView,
    Function,
    Lazy,
    Method,
    Raised,
    Running,
    is_key,
)
from dpaudit.prover.values.tabulated import make_tabulated
from dpaudit.prover.values.texts import text_length
from dpaudit.prover.values.values import (
    Array,
    Count,
    Joined,
    Listed,
    Named,
    Private,
    Public,
    Runs,
    Symbol,
    Text,
    Texts,
)

__all__ = ["BuiltinFunctions"]


class BuiltinFunctions(Containers):
    """The part of the interpreter that calls builtins such as sum, max, zip and sorted."""

    def _named(self, named: Named, arguments: list[Any], options: dict[str, Any]) -> Any:
        run, name = self.run, named.name
        if name == "distribution":
            return make_distribution(run, named.real, arguments, options)
        if name == "family":
            return make_constant(run, named.real, arguments, options)
        if name == "image":
            return make_image(run, named.real, arguments, options)
        if name == "wrapped":
            return make_wrapped(run, arguments, options)
        if name == "kernel":
            return make_channel(run, named.real, arguments, options)
        if name == "user":
            return user_of(run, arguments, options)
        if name == "tabulated":
            require_own(run, named.real)
            return make_tabulated(run, named.real, arguments, options)
        if name == "subsample":
            require_own(run, named.real)
            return make_subsample(run, arguments, options)
        if name == "selection":
            return make_selection(run, arguments, options)
        if name == "default_rng":
            return generator_of(run, arguments, options)
        if name.startswith("random."):
            return call_generator(run, name.removeprefix("random."), arguments, options, legacy=True)
        if name == "error":
            named_texts = {key: self._text(value) for key, value in options.items()}
            if options and not issubclass(named.real, CodedError):
                run.refuse(f"{named.real.__name__} takes no keyword arguments")
            found = self.run.plain(named.real, *[self._text(a) for a in arguments], **named_texts)
            return Raised(found, arguments[0] if named.real is StopIteration and arguments else None)
        handler = getattr(self, f"_builtin_{name}", None)
        if handler is None:
            run.refuse(f"{name}() is not supported")
        try:
            return handler(*arguments, **options)
        except TypeError as error:
            if "_builtin_" not in str(error):
                raise
            return run.refuse(f"{name}() does not support these arguments: {error}")

    def _sum(self, arguments: list[Any], options: dict[str, Any]) -> Any:
        start = options.pop("start", arguments[1] if len(arguments) > 1 else 0)
        if options or not arguments or len(arguments) > 2:
            self._raises(TypeError("sum takes an iterable and a start"))
        inner = content(arguments[0])
        if isinstance(inner, Listed):
            column = inner.column
            if column.info.kind == "b":
                column = self.run.step("cast", [column], {"kind": "i", "python": False})
            self.run.untyped = True
            return binary(self.run, "add", self.run.step("sum", [column], {"axes": (0,)}), start)
        whole = (
            isinstance(inner, Private)
            and len(inner.shape) == 1
            and inner.info.records == 1
            and inner.info.kind != "b"
        )
        if whole and is_plain(start) and type(start) is int and start == 0:
            total = self.run.step("sum", [inner], {"axes": (0,)})
            return self.run.verify(total, np.sum, arguments[0])
        if isinstance(inner, np.ndarray) and is_plain(start):
            return self.run.plain(builtins.sum, inner, content(start))
        if isinstance(inner, Public) and inner.shape is None:
            return function_of(self.run, "sum", builtins.sum, arguments[0], start)
        total = start
        for item in self.iterate(arguments[0]):
            total = binary(self.run, "add", total, item)
        return total

    def _builtin_sum(self, *arguments: Any, **options: Any) -> Any:
        return self._sum(list(arguments), options)

    def _builtin_len(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, list | tuple | dict | str | range | set | frozenset):
            return len(inner)
        if isinstance(inner, DictView):
            return len(inner.table)
        if isinstance(inner, Text):
            return text_length(self.run, inner)
        if isinstance(inner, Texts | Listed):
            return shape_value(self.run, Array(inner.column))[0]
        if isinstance(inner, np.ndarray):
            return self.run.plain(len, inner)
        if isinstance(inner, FRAMES):
            return frame_length(self.run, inner)
        if not isinstance(inner, Symbol) or isinstance(
            inner, Lazy | Function | Bound | Named | Accepted | Raised | Class | Method | Running
        ):
            self.run.refuse(f"len() of a {type(inner).__name__} is not supported")
        shape = shape_value(self.run, value)
        if not shape:
            self.run.refuse("len() of a number raises TypeError")
        return shape[0]

    def _builtin_Fraction(self, *arguments: Any) -> Any:
        if not is_plain(list(arguments)):
            self.run.refuse("Fraction() requires constants, got a private or released value")
        return self.run.plain(Fraction, *arguments)

    def _builtin_range(self, *ends: Any) -> Any:
        if len(ends) == 1 and isinstance(ends[0], Count):
            return Runs(ends[0])
        ends = tuple(published(self.run, end) if _holds_noise(end) else end for end in ends)
        found = []
        for end in ends:
            inner = content(end)
            whole = self.run.whole.one_of(self.run, inner)
            if whole is not None:
                found.append(whole)
            elif isinstance(inner, Symbol):
                self.run.refuse(
                    "range() requires constants, got a private or released value, or a size that is not fixed"
                )
            else:
                found.append(inner)
        return self.run.plain(range, *found)

    def _builtin_list(self, items: Any = ()) -> Any:
        return list(self.iterate(items))

    def _builtin_tuple(self, items: Any = ()) -> Any:
        return tuple(self.iterate(items))

    def _builtin_dict(self, *arguments: Any, **items: Any) -> Any:
        found: dict[Any, Any] = {}
        for argument in arguments:
            inner = content(argument)
            pairs = (
                inner.items()
                if isinstance(inner, dict)
                else [tuple(self.iterate(pair)) for pair in self.iterate(argument)]
            )
            for key, value in pairs:
                if not is_key(key):
                    self.run.refuse("a dict key must be a plain number or text")
                found[key] = value
        return {**found, **items}

    def _builtin_set(self, items: Any = ()) -> Any:
        found = list(self.iterate(items))
        if not all(is_key(item) for item in found):
            self.run.refuse("the items of a set must be plain numbers or text")
        return set(found)

    def _builtin_enumerate(self, items: Any, start: Any = 0) -> Any:
        if type(start) is not int:
            self.run.refuse(f"enumerate() requires an integer start, got {type(start).__name__}")
        return Lazy((k, item) for k, item in enumerate(self.iterate(items), start))

    def _builtin_zip(self, *iterables: Any, strict: bool = False) -> Any:
        return Lazy(iter(zip(*(self.iterate(one) for one in iterables), strict=bool(strict))))

    def _builtin_map(self, function: Any, *iterables: Any) -> Any:
        return Lazy(
            self.call(function, list(items), {}, ast.Pass())
            for items in zip(*(self.iterate(one) for one in iterables), strict=False)
        )

    def _builtin_filter(self, function: Any, items: Any) -> Any:
        return Lazy(
            item for item in self.iterate(items)
            if truth(self.run, item if function is None else self.call(function, [item], {}, ast.Pass()))
        )  # fmt: skip

    def _builtin_reversed(self, items: Any) -> Any:
        return Lazy(self._backwards(items))

    def _builtin_iter(self, items: Any) -> Any:
        if isinstance(items, Lazy):
            return items
        if not isinstance(items, list | tuple | range | Array):
            self.run.refuse("iter() requires a list, tuple, range or array")
        return Lazy(self.iterate(items), named=True)

    def _builtin_any(self, items: Any) -> Any:
        return any(truth(self.run, item) for item in self.iterate(items))

    def _builtin_all(self, items: Any) -> Any:
        return all(truth(self.run, item) for item in self.iterate(items))

    def _builtin_sorted(self, items: Any, *, key: Any = None, reverse: Any = False) -> Any:
        found = list(self.iterate(items))
        found = [published(self.run, item) if _holds_noise(item) else item for item in found]
        outcomes = not is_plain(found) and all(isinstance(one, Public) for one in symbols_in(found))
        if outcomes and key is None and isinstance(reverse, bool):
            ordered = lambda *items: sorted(items, reverse=reverse)  # noqa: E731
            return function_of(self.run, f"sorted {reverse}", ordered, *found)
        keys = found if key is None else [self.call(key, [item], {}, ast.Pass()) for item in found]
        if not is_plain(keys) or not isinstance(reverse, bool):
            self.run.refuse("sorted() of private or released values is not supported (use np.sort)")
        order = self.run.plain(
            lambda ks: sorted(range(len(ks)), key=ks.__getitem__, reverse=reverse), [content(k) for k in keys]
        )
        return [found[k] for k in order]

    def _builtin_max(self, *items: Any, key: Any = None, default: Any = None) -> Any:
        return self._extreme("max", items, key, default)

    def _builtin_min(self, *items: Any, key: Any = None, default: Any = None) -> Any:
        return self._extreme("min", items, key, default)

    def _builtin_isinstance(self, value: Any, kinds: Any) -> Any:
        run, inner = self.run, content(value)
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        types = [
            one.function if isinstance(one, Accepted) else one.real if isinstance(one, Named) else None
            for one in map(content, wanted)
        ]
        if not all(isinstance(kind, type) for kind in types):
            run.refuse("isinstance() requires types that the prover knows")
        if isinstance(value, Array):
            return np.ndarray in types
        if isinstance(inner, Symbol):
            run.refuse("isinstance() of a private value, a released value or a function is not supported")
        return isinstance(inner, tuple(types))  # type: ignore[arg-type]

    def _builtin_print(self, *values: Any, **options: Any) -> Any:
        if not set(options) <= {"sep", "end", "flush"} or not is_plain(list(options.values())):
            self.run.refuse("print() supports only the arguments sep, end and flush, with constant values")
        for value in values:
            add_to_output(self.run, self._finished(value))

    def _builtin_str(self, value: Any = "") -> Any:
        value = self._text_value(value)
        if is_plain(value):
            return self.run.plain(str, content(value))
        return function_of(self.run, "str", str, value)

    def _builtin_bool(self, value: Any = False) -> Any:
        return truth(self.run, self._truthful(value))

    def _extreme(self, name: str, items: tuple[Any, ...], key: Any, default: Any) -> Any:
        run = self.run
        found = list(self.iterate(items[0])) if len(items) == 1 else list(items)
        if not found:
            return (
                self._raises(ValueError(f"{name}() iterable argument is empty"))
                if default is None
                else default
            )
        if key is not None:
            return self._by_key(name, found, key)
        found = [published(run, item) if _holds_noise(item) else item for item in found]
        if is_plain(found):
            return run.plain(max if name == "max" else min, [content(item) for item in found])
        best = found[0]
        for item in found[1:]:
            if shape_of(best) != () or shape_of(item) != ():
                run.refuse(f"{name}() of arrays is not supported (use np.{name}imum)")
            best = self._larger(name, best, item)
        return best

    def _by_key(self, name: str, items: list[Any], key: Any) -> Any:
        """Return the first item with the largest or smallest key, by the comparisons that Python makes."""
        best, top = items[0], self.call(key, [items[0]], {}, ast.Pass())
        for item in items[1:]:
            here = self.call(key, [item], {}, ast.Pass())
            if truth(self.run, self._operate("gt" if name == "max" else "lt", here, top)):
                best, top = item, here
        return best

    def _larger_private(self, name: str, best: Any, item: Any) -> Any:
        """Return the larger of two numbers. Its type is the type of the one that is chosen."""
        run = self.run
        first = binary(run, "gt" if name == "max" else "lt", item, best)
        chosen = join(run, as_condition(run, first), item, best)
        found = run.step(f"{name}imum", [unwrap_joined(best), unwrap_joined(item)])
        if isinstance(chosen, Joined):
            return Joined(found, chosen.kind_unknown, chosen.class_unknown)
        return found

    def _larger(self, name: str, best: Any, item: Any) -> Any:
        run = self.run
        if any(is_private(one) for one in (best, item)):
            return self._larger_private(name, best, item)
        pick = max if name == "max" else min
        if is_plain([best, item]):
            return run.plain(pick, content(best), content(item))
        expression = [f"{name}imum", expression_of(run, best), expression_of(run, item)]
        return public_of(run, expression, pick, (best, item), shape=(), kind="f", python=True)
