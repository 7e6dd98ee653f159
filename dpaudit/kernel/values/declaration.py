"""The declaration of the data in a certificate: its words, and that the record reads nothing else.

``data`` has ``size`` (None: every number of records from ``at_least``), ``container``, ``columns`` and
``words``. A column has ``name``, ``kind`` (b, i or f: truth values, whole numbers, numbers), ``low`` and
``high`` (exact strings, or None), ``width`` (None: a record is one number) and ``ball`` ([norm, radius] of a
row, or None).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import need

__all__ = ["require_declared", "words_of"]

KINDS = {"b": "truth values", "i": "integers", "f": "numbers"}


def words_of(data: Any, group: int) -> str:
    """What one record is, and how many there are. Different declarations have different words."""
    columns = data["columns"]
    if data["container"] == "table":
        inside = "; ".join(f"{_name(column['name'])}: {_values(column)}" for column in columns) + "; "
    else:
        inside = f"{_values(columns[0])}, "
    size = data["size"]
    count = f"every number of records from {data['at_least']}" if size is None else f"{size} records"
    listed = " in a list" if data["container"] == "list" else ""
    return f"{inside}{count}{listed}" + ("" if group == 1 else f", at most {group} of one user")


def _name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else json.dumps(name)


def _values(column: Any) -> str:
    low, high, width = column["low"], column["high"], column["width"]
    entries = KINDS[column["kind"]]
    if low is None and high is None:
        entries = f"finite {entries}"
    else:
        entries += f" in [{'-∞' if low is None else low}, {'∞' if high is None else high}]"
    row = entries if width is None else f"rows of {width} {entries}"
    return (
        row if column["ball"] is None else f"{row} with L{column['ball'][0]} norm at most {column['ball'][1]}"
    )


def require_declared(data: Any, adjacency: Any, nodes: Sequence[Any]) -> None:
    """Refuse a declaration that is malformed or has other words, and a record that reads other data."""
    keys = {"size", "at_least", "container", "columns", "words"}
    need(data.keys() == keys and adjacency.keys() == {"kind", "group"}, "the declaration has other parts")
    size, container, columns = data["size"], data["container"], data["columns"]
    need(size is None or data["at_least"] == 1, "a known number of records has no least number")
    need(isinstance(columns, list) and columns, "a declaration has columns")
    for column in columns:
        _require_column(column)
    names = [column["name"] for column in columns]
    if container == "table":
        need(all(names) and len(set(names)) == len(names), "the columns of a table have names that differ")
    else:
        need(
            container in ("array", "list") and names == [""],
            "an array or a list is one column without a name",
        )
    if container == "list":
        plain = columns[0]["width"] is None and size is not None
        need(plain, "a list holds one number for each of a known number of records")
    need(data["words"] == words_of(data, adjacency["group"]), "the words are not those of the declaration")
    known = size is not None and adjacency["kind"] != "add-remove"
    count = size if known else {"N": [["1", 1]]}
    declared = {column["name"]: _params(column, count) for column in columns}
    for op, _, params in nodes:
        same = op != "data" or declared.get(params["name"]) == params
        need(same, "the record reads data that are not what is declared")


def _params(column: Any, count: Any) -> dict[str, Any]:
    """The parameters of the step that reads a column."""
    shape = [count] if column["width"] is None else [count, column["width"]]
    return {**{key: value for key, value in column.items() if key != "width"}, "shape": shape}


def _require_column(column: Any) -> None:
    need(column.keys() == {"name", "kind", "low", "high", "width", "ball"}, "a column has other parts")
    kind, width, ball = column["kind"], column["width"], column["ball"]
    low, high = (None if column[end] is None else _number(column[end]) for end in ("low", "high"))
    need(isinstance(column["name"], str) and kind in KINDS, "a column has a name and a known kind")
    need(width is None or (type(width) is int and width >= 1), "a width is a positive number")
    need(low is None or high is None or low <= high, "a domain is not empty")
    if kind != "f":
        whole = low is not None and high is not None and low.denominator == high.denominator == 1
        need(
            whole and (kind == "i" or (low == 0 and high == 1)),
            "whole numbers have whole ends, truth values 0 and 1",
        )
    if ball is not None:
        need(isinstance(ball, list) and len(ball) == 2 and ball[0] in ("1", "2"), "a ball has norm 1 or 2")
        radius = _number(ball[1])
        need(
            kind == "f" and width is not None and radius > 0,
            "a ball holds rows of numbers, and its radius is > 0",
        )
        need((low, high) == (-radius, radius), "the entries of a ball are at most its radius")


def _number(text: Any) -> Fraction:
    """A number as it is written in lowest terms, so that equal numbers have equal words."""
    need(isinstance(text, str) and len(text) <= 2_000 and "e" not in text.lower(), "a number is a string")
    number = Fraction(text)
    need(str(number) == text, "a number is in lowest terms")
    return number
