"""Define the base class of claims: frozen values with exact parameters, written to and read from JSON."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact_str, nearest_float, read_exact, refuse_floats
from dpaudit.core.views import View

__all__ = ["Adjacency", "Adversary", "Claim", "Model", "Unit", "claim_from_json", "one_of"]

Option = TypeVar("Option", bound=Enum)


def one_of(options: type[Option], value: object, *, name: str) -> Option:
    """Return the option that ``value`` is or names (such as ``"add-remove"``).

    Raises ``InvalidParameterError``, which lists the options, for anything else.
    """
    try:
        return options(value)
    except ValueError:
        known = ", ".join(repr(item.value) for item in options)
        raise InvalidParameterError(
            f"{name} must be one of {known}, got {value!r}.", code="E-OPTION-UNKNOWN"
        ) from None


class Adjacency(Enum):
    """The relation that makes two datasets neighbours."""

    REPLACE_ONE = "replace-one"  # same size, one record differs
    ADD_REMOVE = "add-remove"  # one record more or less
    ZERO_OUT = "zero-out"  # one record replaced by the null record


class Unit(Enum):
    """The meaning of one record: one event (one round), or everything that one user contributes."""

    EVENT = "event"
    USER = "user"


class Adversary(Enum):
    """How the data are chosen: fixed in advance, or round by round after seeing the outcomes so far."""

    OBLIVIOUS = "oblivious"
    ADAPTIVE = "adaptive"


class Model(Enum):
    """The object of a claim: distributions over real numbers, or the program in floating point as it runs."""

    IDEAL = "ideal"
    AS_RUN = "as_run"


_REGISTRY: dict[str, type[Claim]] = {}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The base class of claims: ``quantity`` is at most (or, with ``at_least``, at least) ``bound``."""

    type: ClassVar[str] = ""
    quantity: ClassVar[str] = ""
    at_least: ClassVar[bool] = False  # True if the claim says that the quantity is at least the bound

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__repr__ = Claim.__repr__  # type: ignore[method-assign]  # a dataclass would write its own
        if "type" in cls.__dict__ and cls.type:
            _REGISTRY[cls.type] = cls

    def __repr__(self) -> str:
        """Return the call that makes the claim, without the fields that have their defaults."""
        given = []
        for item in fields(self):
            value = getattr(self, item.name)
            default = item.default if item.default_factory is MISSING else item.default_factory()
            if value == default:
                continue
            if isinstance(value, Fraction):
                value = value.numerator if value.denominator == 1 else str(value)
            value = value.value if isinstance(value, Enum) else value
            given.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def bound(self) -> Fraction | None:
        """Return the claimed value of ``quantity``, or ``None`` if the claim has no single number."""
        return None

    def in_words(self) -> str:
        """Return the claim as a phrase for reports."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return plain data: the type, and each parameter as a float with its exact value as a string.

        The exact value of ``epsilon`` has the key ``epsilon_exact``. A parameter beyond all floats is written
        as the largest float.
        """
        data: dict[str, Any] = {"type": self.type}
        for item in fields(self):
            value, key = getattr(self, item.name), _key(item.name)
            if isinstance(value, Fraction):
                data[key] = nearest_float(value)
                data[f"{key}_exact"] = exact_str(value)
            elif isinstance(value, Enum):
                data[key] = value.value
            elif isinstance(value, View):
                data[key] = value.to_json()
            elif isinstance(value, tuple):
                data[key] = [list(v) if isinstance(v, tuple) else v for v in value]
            else:
                data[key] = value
        data["in_words"] = self.in_words()
        return data

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


#: Fields whose key in a report is older than their name.
_KEYS = {"participation": "turnout"}


def _key(name: str) -> str:
    """Return the key that a claim's field has in a report."""
    return _KEYS.get(name, name)


def claim_from_json(data: dict[str, Any]) -> Claim:
    """Read a claim that ``to_json`` wrote.

    Exact strings are read, and each must agree with the float beside it. Raises ``InvalidParameterError`` for
    an unknown type, a missing field, or a float that does not agree.
    """
    cls = _REGISTRY.get(str(data.get("type")))
    if cls is None:
        raise InvalidParameterError(
            f"a claim's type must be one of {sorted(_REGISTRY)}, got {data.get('type')!r}.",
            code="E-CLAIM-TYPE",
        )
    values: dict[str, Any] = {}
    for item in fields(cls):
        key = _key(item.name)
        if key not in data:
            raise InvalidParameterError(
                f"a {cls.type} claim must have the field {key!r}.", code="E-CLAIM-FIELD-MISSING"
            )
        values[item.name] = _read_field(data, key)
    claim = cls(**values)
    for name in values:
        value = getattr(claim, name)
        if isinstance(value, Fraction) and data[_key(name)] != nearest_float(value):
            raise InvalidParameterError(
                f"{name} must agree with {name}_exact = {value}, got {data[name]}: the file was edited.",
                code="E-CLAIM-EDITED",
            )
    return claim


def _read_field(data: dict[str, Any], name: str) -> Any:
    readers: dict[str, Any] = {
        "adjacency": Adjacency,
        "unit": Unit,
        "adversary": Adversary,
        "model": Model,
        "view": View.from_json,
        "constants": lambda pairs: tuple((str(a), str(b)) for a, b in pairs),
        "points": lambda pairs: tuple((str(a), str(b)) for a, b in pairs),
        "cells": lambda pairs: tuple((str(a), str(b)) for a, b in pairs),
    }
    if f"{name}_exact" in data:
        return read_exact(data[f"{name}_exact"], name=name)
    refuse_floats(data[name], name=name)
    return readers[name](data[name]) if name in readers else data[name]
