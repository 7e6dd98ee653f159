"""Follow classes and their instances.

Attributes and methods are looked up as CPython does: data descriptors of the class, then the instance, then
the rest of the class, along the method resolution order. Methods are followed like functions, from the
``__dict__`` of the class, so a method that was replaced is followed as it is. A class is refused if it could
change how attributes, calls or operators work.

Instances made by the program belong to one run and may be modified. Objects that exist before the run,
classes included, are never modified, because they would keep state between runs. Containers and arrays in
their attributes are admitted like those of global names, which must not be modified either.
"""

from __future__ import annotations

import abc
import ast
import dataclasses
import functools
import sys
import typing
from collections.abc import Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any, Generic, Protocol

from dpaudit.prover.values.functions import Accepted
from dpaudit.prover.values.iterators import Iterators
from dpaudit.prover.values.operations import content
from dpaudit.prover.values.scopes import Class, Function, Instance, Lazy, Method, Scope, Super
from dpaudit.prover.values.values import Array, Named, Symbol

__all__ = ["Objects"]

#: Bases without behaviour of their own.
PLAIN_BASES = (object, Protocol, Generic, abc.ABC)
METACLASSES = (type, abc.ABCMeta, type(Protocol))
#: Special methods that the interpreter calls, or that only matter to operations that it refuses on instances.
FOLLOWED = ("__init__", "__post_init__", "__call__", "__len__", "__getitem__", "__iter__")
UNUSED = (
    "__eq__", "__hash__", "__repr__", "__str__", "__module__", "__doc__", "__qualname__", "__annotations__",
    "__slots__", "__dict__", "__weakref__", "__match_args__", "__parameters__", "__orig_bases__",
    "__abstractmethods__", "__protocol_attrs__", "__non_callable_proto_members__", "__static_attributes__",
    "__firstlineno__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__dataclass_fields__",
    "__dataclass_params__", "__replace__", "__getstate__", "__setstate__", "__lt__", "__le__", "__gt__",
    "__ge__", "__subclasshook__",
)  # fmt: skip
ABSENT = object()


def _function_of(meta: Any) -> FunctionType | None:
    """Return the Python function behind a class attribute, or None."""
    if isinstance(meta, property):
        meta = meta.fget
    elif isinstance(meta, staticmethod | classmethod):
        meta = meta.__func__
    elif isinstance(meta, functools.cached_property):
        meta = meta.func
    return meta if type(meta) is FunctionType else None


def _bases(real: type, after: type | None) -> list[type]:
    """Return the bases with behaviour in resolution order, or those of them that follow ``after``."""
    order = list(real.__mro__)
    order = order if after is None else order[order.index(after) + 1 :]
    return [base for base in order if base not in PLAIN_BASES]


def _is_generated(function: Any, cls: type) -> bool:
    """Return whether ``function`` is the ``__init__`` that the decorator of a dataclass generates.

    The decorator generates it from the fields alone. The same fields are decorated again here, and code,
    default values and the values that the code refers to are compared.
    """
    fields = list(cls.__dataclass_fields__.values())  # type: ignore[attr-defined]
    names: dict[str, Any] = {
        "__annotations__": {f.name: f.type for f in fields},
        "__module__": cls.__module__,
    }
    for f in fields:
        if f._field_type.name == "_FIELD":
            names[f.name] = dataclasses.field(
                default=f.default, default_factory=f.default_factory, init=f.init, kw_only=f.kw_only
            )
    if hasattr(cls, "__post_init__"):
        names["__post_init__"] = lambda self: None
    frozen = cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    again: Any = dataclasses.dataclass(frozen=frozen, eq=False, repr=False)(type("Again", (), names))
    other = again.__init__
    if type(function) is not FunctionType or function.__code__ != other.__code__:
        return False
    cells = [[cell.cell_contents for cell in one.__closure__ or ()] for one in (function, other)]
    values = [
        [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values(), *found]
        for one, found in zip((function, other), cells, strict=True)
    ]
    return len(values[0]) == len(values[1]) and all(a is b for a, b in zip(*values, strict=True))


class Objects(Iterators):
    """The part of the interpreter that follows classes and objects."""

    # Admission.

    def enter_object(self, value: Any, what: str) -> Any:
        """Admit a followed class, an instance of one, or a bound method. Return None for other objects."""
        if isinstance(value, type):
            return self._class(value) if self._is_followed(value) else None
        if type(value) is MethodType:
            receiver = self.enter(value.__self__, what)
            if not isinstance(receiver, Instance | Class):
                return None
            return self._remember(value, Method(self._followed(value.__func__, value.__name__), receiver))
        if self._is_followed(type(value)):
            return self._remember(value, Instance(self._class(type(value)), {}, value))
        return None

    def _is_followed(self, real: type) -> bool:
        if type(real) not in METACLASSES or real in PLAIN_BASES or issubclass(real, BaseException):
            return False
        home = getattr(sys.modules.get(real.__module__), "__file__", None)
        codes = [
            f.__code__.co_filename for f in map(_function_of, list(vars(real).values())) if f is not None
        ]
        return home in self.files or any(name in self.files for name in codes)

    def _class(self, real: type) -> Class:
        """Admit a class whose attributes, calls and operators work as the interpreter models them."""
        if id(real) in self.imports:
            known: Class = self.imports[id(real)]
            return known
        for base in real.__mro__:
            if base in PLAIN_BASES:
                continue
            if not self._is_followed(base):
                self.run.refuse(
                    f"{real.__qualname__} inherits from {base.__qualname__}, which is not followed"
                )
            self._require_plain_class(base)
        if getattr(real, "__abstractmethods__", None) and not getattr(real, "_is_protocol", False):
            self.run.refuse(f"{real.__qualname__} is an abstract class")
        found = Class(real)
        self._remember(real, found)
        return found

    def _require_plain_class(self, base: type) -> None:
        generated = "__dataclass_params__" in vars(base)
        for name, meta in list(vars(base).items()):
            special = name.startswith("__") and name.endswith("__")
            if not special or name in FOLLOWED or name in UNUSED:
                continue
            if (
                generated
                and name in ("__setattr__", "__delattr__")
                and vars(base)["__dataclass_params__"].frozen
            ):
                continue  # assignments to these instances are refused
            if name == "__class_getitem__" and getattr(meta, "__func__", None) is not None:
                continue  # only used in annotations: a subscript of a class is refused
            self.run.refuse(f"the class {base.__qualname__} defines {name}, which is not supported")

    # Attributes.

    def _meta(self, real: type, name: str, *, after: type | None = None) -> Any:
        """Return what a class holds under a name, or ABSENT."""
        return next((vars(base)[name] for base in _bases(real, after) if name in vars(base)), ABSENT)

    def _followed(self, real: Any, name: str) -> Function:
        if type(real) is not FunctionType:
            self.run.refuse(f"the method {name!r} is a {type(real).__name__}, which is not supported")
        found = self.enter(real, f"the method {name!r}")
        if not isinstance(found, Function):
            self.run.refuse(f"the method {name!r} is not supported")
        return found

    def object_attribute(self, value: Any, name: str) -> Any:
        """Return an attribute of an instance, a class or ``super()``."""
        if isinstance(value, Super):
            meta = self._meta(value.instance.cls.real, name, after=value.cls)
            return self._bound(value.instance, name, meta)
        if isinstance(value, Class):
            return self._of_class(value, name)
        if not isinstance(value, Instance):
            return self.run.refuse(f"the attribute {name!r} of a method is not supported")
        meta = self._meta(value.cls.real, name)
        self._require_own_name(meta, name)
        if type(meta) is property:
            return self.call_function(self._followed(meta.fget, name), [value], {})
        if not isinstance(meta, MemberDescriptorType) and hasattr(type(meta), "__set__"):
            known = isinstance(meta, GetSetDescriptorType)
            self.run.refuse(
                f"the descriptor {name!r} is not supported" + (" (write its value)" if known else "")
            )
        field = self._field(value, name)
        if field is not ABSENT:
            return field
        if type(meta) is functools.cached_property:
            self._require_inside(value, name)
            value.fields[name] = self._finished(
                self.call_function(self._followed(meta.func, name), [value], {})
            )
            return value.fields[name]
        if isinstance(meta, MemberDescriptorType):
            self._raises(AttributeError(f"{value.cls.real.__qualname__} has no value for {name!r}"))
        return self._bound(value, name, meta)

    def _field(self, value: Instance, name: str) -> Any:
        """Return a value that an instance holds, or ABSENT."""
        if name in value.fields or value.outside is None:
            return value.fields.get(name, ABSENT)
        found = ABSENT
        meta = self._meta(value.cls.real, name)
        if isinstance(meta, MemberDescriptorType):
            try:
                found = meta.__get__(value.outside)
            except AttributeError:
                return ABSENT
        else:
            try:
                table = object.__getattribute__(value.outside, "__dict__")
            except AttributeError:
                return ABSENT
            if type(table) is not dict:
                self.run.refuse(f"the attributes of a {value.cls.real.__qualname__} are not in a plain dict")
            found = table.get(name, ABSENT)
        if found is ABSENT:
            return ABSENT
        value.fields[name] = self.enter(found, f"the attribute {name!r} of {value.cls.real.__qualname__}")
        return value.fields[name]

    def _bound(self, value: Instance, name: str, meta: Any) -> Any:
        """Return a class attribute as the instance sees it."""
        if type(meta) is FunctionType:
            return Method(self._followed(meta, name), value)
        if type(meta) is property:
            return self.call_function(self._followed(meta.fget, name), [value], {})
        return self._of_meta(value.cls, name, meta)

    def _of_class(self, value: Class, name: str) -> Any:
        meta = self._meta(value.real, name)
        if type(meta) is FunctionType:
            return self._followed(meta, name)
        return self._of_meta(value, name, meta)

    def _of_meta(self, cls: Class, name: str, meta: Any) -> Any:
        what = f"the attribute {name!r} of {cls.real.__qualname__}"
        if meta is ABSENT:
            self._raises(AttributeError(f"{cls.real.__qualname__} has no attribute {name!r}"))
        if type(meta) is staticmethod:
            return self.enter(meta.__func__, what)
        if type(meta) is classmethod:
            return Method(self._followed(meta.__func__, name), cls)
        if hasattr(type(meta), "__get__"):
            self.run.refuse(f"{what} is a {type(meta).__name__}, a descriptor that is not supported")
        return self.enter(meta, what)

    def _require_own_name(self, meta: Any, name: str) -> None:
        """Refuse a slot or a cached property under another name, which shares the value of its own name."""
        own = name
        if isinstance(meta, MemberDescriptorType):
            own = meta.__name__
        elif type(meta) is functools.cached_property:
            own = meta.attrname or ""
        if own != name:
            self.run.refuse(f"the attribute {name!r} is an alias of {own!r}, which is not supported")

    def _require_inside(self, value: Instance, name: str) -> None:
        if value.outside is not None:
            self.run.refuse(
                f"the attribute {name!r} of an object from outside the program is assigned, which keeps state"
                " between runs (create the object inside the function)"
            )

    def set_attribute(self, target: Any, name: str, value: Any) -> None:
        """Follow ``target.name = value``."""
        target = content(target)
        if not isinstance(target, Instance) or name.startswith("__"):
            self.run.refuse(
                f"assignment to the attribute {name!r} is only supported for objects of the program"
            )
        self._require_inside(target, name)
        if isinstance(content(value), Lazy):
            self.run.refuse("an iterator is stored in an attribute (use a list)")
        real = target.cls.real
        if self._meta(real, "__setattr__") is not ABSENT:
            self.run.refuse(f"an attribute of the frozen {real.__qualname__} is assigned, which raises")
        meta = self._meta(real, name)
        self._require_own_name(meta, name)
        if type(meta) is property:
            if meta.fset is None:
                self._raises(AttributeError(f"the property {name!r} has no setter"))
            self.call_function(self._followed(meta.fset, name), [target, value], {})
            return
        if not isinstance(meta, MemberDescriptorType):
            if hasattr(type(meta), "__set__"):
                self.run.refuse(f"the descriptor {name!r} is not supported")
            if not any("__dict__" in vars(base) for base in real.__mro__):
                self._raises(AttributeError(f"{real.__qualname__} has no attribute {name!r} (__slots__)"))
        target.fields[name] = value

    # Calls.

    def call_object(self, value: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Call a class, a method, or an instance with ``__call__``."""
        if isinstance(value, Class):
            return self._made_instance(value, arguments, options)
        if isinstance(value, Method):
            return self.call_function(value.function, [value.receiver, *arguments], options)
        return self._special(value, "__call__", arguments, options)

    def _special(
        self, value: Any, name: str, arguments: list[Any], options: dict[str, Any] | None = None
    ) -> Any:
        if not isinstance(value, Instance):
            self.run.refuse(f"a {type(value).__name__.lower()} has no {name}")
        meta = self._meta(value.cls.real, name)
        if type(meta) is not FunctionType:
            self.run.refuse(f"{value.cls.real.__qualname__} has no method {name}")
        return self.call_function(self._followed(meta, name), [value, *arguments], options or {})

    def _made_instance(self, cls: Class, arguments: list[Any], options: dict[str, Any]) -> Instance:
        real = cls.real
        if getattr(real, "_is_protocol", False):
            self.run.refuse(f"{real.__qualname__} is a protocol, which has no instances")
        made = Instance(cls, {}, None)
        self._initialised(made, arguments, options, after=None)
        return made

    def _initialised(
        self, made: Instance, arguments: list[Any], options: dict[str, Any], *, after: type | None
    ) -> None:
        """Run the ``__init__`` of a class, or the one that follows ``after`` in the resolution order."""
        real = made.cls.real
        for base in _bases(real, after):
            found = vars(base).get("__init__", ABSENT)
            if found is ABSENT:
                continue
            if getattr(found, "__module__", "") == "typing" and base.__dict__.get("_is_protocol"):
                if found is not getattr(typing, "_no_init_or_replace_init", None):
                    self.run.refuse(f"the __init__ of the protocol {base.__qualname__} is not supported")
                continue
            if "__dataclass_params__" in vars(base) and _is_generated(found, base):
                self._fill(made, base, arguments, options)
            elif (
                self.call_function(self._followed(found, "__init__"), [made, *arguments], options) is not None
            ):
                self._raises(TypeError("__init__() should return None"))
            return
        if arguments or options:
            self._raises(TypeError(f"{real.__qualname__}() takes no arguments"))

    def _fill(self, made: Instance, base: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Follow the generated ``__init__`` of a dataclass."""
        kinds = [(f, f._field_type.name) for f in base.__dataclass_fields__.values()]
        if any(kind == "_FIELD_INITVAR" for _, kind in kinds):
            self.run.refuse(f"{base.__qualname__} has an InitVar, which is not supported")
        fields = [f for f, kind in kinds if kind == "_FIELD"]
        places = [f.name for f in fields if f.init and not f.kw_only]
        names = {f.name for f in fields if f.init}
        given = dict(zip(places, arguments, strict=False))
        if len(arguments) > len(places) or set(options) - names or set(options) & set(given):
            self._raises(TypeError(f"{base.__qualname__}() got unexpected arguments"))
        given |= options
        for f in fields:
            what = f"the default of {base.__qualname__}.{f.name}"
            if f.name in given and f.init:
                found = given[f.name]
            elif f.default_factory is not dataclasses.MISSING:
                found = self.call(self.enter(f.default_factory, what), [], {}, ast.Pass())
            elif not f.init:
                continue
            elif f.default is dataclasses.MISSING:
                self._raises(TypeError(f"{base.__qualname__}() misses the argument {f.name!r}"))
            else:
                found = self.enter(f.default, what)
            meta = self._meta(made.cls.real, f.name)
            self._require_own_name(meta, f.name)
            if type(meta) is property or (
                not isinstance(meta, MemberDescriptorType) and hasattr(type(meta), "__set__")
            ):
                self.run.refuse(
                    f"the field {f.name!r} of a dataclass is a descriptor, which is not supported"
                )
            made.fields[f.name] = self._finished(found)
        if hasattr(base, "__post_init__"):  # the generated code calls it only then
            self._special(made, "__post_init__", [])

    def _of_Call(self, node: ast.Call, scope: Scope) -> Any:
        plain = isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args
        if plain and not node.keywords and isinstance(function := self.lookup("super", scope), Named):
            self._at(node, scope)
            return self._super(scope) if function.real is super else super()._of_Call(node, scope)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "__init__":
            return self._init_of_base(node, scope)
        return super()._of_Call(node, scope)

    def _super(self, scope: Scope) -> Super:
        real, node = scope.function.real, scope.function.source.node
        spec = [*node.args.posonlyargs, *node.args.args]
        if (
            real is None
            or "__class__" not in real.__code__.co_freevars
            or scope.outer is not None
            or not spec
        ):
            self.run.refuse("super() is only supported directly in a method")
        cell = (real.__closure__ or ())[real.__code__.co_freevars.index("__class__")]
        cls, instance = cell.cell_contents, scope.names.get(spec[0].arg)
        if not isinstance(instance, Instance) or cls not in instance.cls.real.__mro__:
            self.run.refuse("super() is only supported in methods of an instance")
        return Super(cls, instance)

    def _init_of_base(self, node: ast.Call, scope: Scope) -> Any:
        """Follow ``super().__init__(...)``. Other calls of ``__init__`` are refused."""
        assert isinstance(node.func, ast.Attribute)
        base = self.evaluate(node.func.value, scope)
        if not isinstance(base, Super):
            self.run.refuse("__init__ can only be called by super().__init__(...)")
        arguments, options = self._arguments_of(node, scope)
        self._at(node, scope)
        self._initialised(base.instance, arguments, options, after=base.cls)

    # Other operations.

    def iterate_object(self, value: Any) -> Iterator[Any]:
        """Yield the items of an instance with ``__iter__``."""
        yield from self.iterate(self._special(value, "__iter__", []))

    def is_instance(self, value: Any, kinds: list[Any]) -> bool:
        """Return whether an instance has one of these types, or whether a value has one of these classes."""
        classes = [kind.real for kind in kinds if isinstance(kind, Class)]
        if isinstance(value, Instance):
            if not all(isinstance(kind, Class | Named | Accepted) for kind in kinds):
                self.run.refuse("isinstance() requires types that the prover knows")
            if any(real in value.cls.real.__mro__ for real in classes):
                return True
        if any(type(real) is not type for real in classes):
            self.run.refuse("isinstance() with an abstract class or a protocol is not supported")
        return False

    def _builtin_isinstance(self, value: Any, kinds: Any) -> Any:
        wanted = [content(kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
        inner = content(value)
        if not isinstance(inner, Instance) and not any(isinstance(kind, Class) for kind in wanted):
            return super()._builtin_isinstance(value, kinds)
        if isinstance(inner, Symbol) and not isinstance(inner, Instance) and not isinstance(value, Array):
            self.run.refuse(
                "isinstance() of a private value, a released value or a function is not supported"
            )
        if self.is_instance(inner, wanted):
            return True
        rest = tuple(kind for kind in wanted if not isinstance(kind, Class))
        return False if isinstance(inner, Instance) or not rest else super()._builtin_isinstance(value, rest)

    def _builtin_len(self, value: Any) -> Any:
        inner = content(value)
        if isinstance(inner, Instance):
            found = self._special(inner, "__len__", [])
            if type(found) is not int or found < 0:
                self.run.refuse("__len__ must return a constant integer")
            return found
        return super()._builtin_len(value)

    def item(self, value: Any, key: Any) -> Any:
        """Return ``value[key]``."""
        inner = content(value)
        if isinstance(inner, Instance):
            return self._special(inner, "__getitem__", [key])
        return super().item(value, key)
