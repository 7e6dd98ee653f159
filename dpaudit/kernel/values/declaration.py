"""Check the declaration of the data in a certificate, and that the record reads no other data.

``data`` has the keys ``size`` (None for every number of records from ``at_least``), ``at_least``,
``container``, ``columns`` and ``words``. A column has ``name``, ``kind`` (b, i, f or t for Booleans,
integers, numbers and texts), ``low`` and ``high`` (exact strings, or None), ``width`` (None if a record is
one number or text) and ``ball`` ([norm, radius] of a row, or None). The ball ["one-hot", "1"] holds the rows
of which exactly one entry is 1 and all others are 0. For texts, ``high`` is the largest length.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import need

__all__ = ["require_declared", "words_of"]

KINDS = {"b": "truth values", "i": "integers", "f": "numbers", "t": "texts"}


def words_of(data: Any, group: int) -> str:
    """Describe one record and the number of records. Different declarations have different descriptions."""
    columns = data["columns"]
    if data["container"] in ("table", "frame"):
        inside = "; ".join(f"{_name(column['name'])}: {_values(column)}" for column in columns) + "; "
    else:
        inside = f"{_values(columns[0])}, "
    size = data["size"]
    count = f"every number of records from {data['at_least']}" if size is None else f"{size} records"
    listed = {"list": " in a list", "frame": " in a data frame"}.get(data["container"], "")
    return f"{inside}{count}{listed}" + ("" if group == 1 else f", at most {group} of one user")


def _name(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else json.dumps(name)


def _values(column: Any) -> str:
    low, high, width = column["low"], column["high"], column["width"]
    entries = KINDS[column["kind"]]
    if column["kind"] == "t":
        return entries if high is None else f"{entries} of length at most {high}"
    if low is None and high is None:
        entries = f"finite {entries}"
    else:
        entries += f" in [{'-∞' if low is None else low}, {'∞' if high is None else high}]"
    row = entries if width is None else f"rows of {width} {entries}"
    if column["ball"] is None:
        return row
    if column["ball"][0] == "one-hot":
        return f"{row} with exactly one 1"
    return f"{row} with L{column['ball'][0]} norm at most {column['ball'][1]}"


def require_declared(data: Any, adjacency: Any, nodes: Sequence[Any]) -> None:
    """Refuse a malformed declaration, a wrong description, and a record that reads other data."""
    keys = {"size", "at_least", "container", "columns", "words"}
    need(
        data.keys() == keys and adjacency.keys() == {"kind", "group"},
        "the declaration must have exactly the required keys",
    )
    size, container, columns = data["size"], data["container"], data["columns"]
    need(size is None or data["at_least"] == 1, "at_least must be 1 if the number of records is fixed")
    need(isinstance(columns, list) and columns, "a declaration must have at least one column")
    for column in columns:
        _require_column(column)
    names = [column["name"] for column in columns]
    if container in ("table", "frame"):
        need(
            all(names) and len(set(names)) == len(names),
            "the columns of a table must have different, nonempty names",
        )
    else:
        need(
            container in ("array", "list") and names == [""],
            "an array or a list must be one column without a name",
        )
    if container == "frame":
        need(all(column["width"] is None for column in columns), "a column of a frame must hold numbers")
    texts = [column["kind"] == "t" for column in columns]
    need(not any(texts) or container == "list", "texts must be in a list")
    if container == "list":
        plain = columns[0]["width"] is None and (size is not None or texts[0])
        need(plain, "a list requires a fixed number of records with one number each, or texts")
    need(data["words"] == words_of(data, adjacency["group"]), "the words must describe the declaration")
    known = size is not None and adjacency["kind"] != "add-remove"
    count = size if known else {"N": [["1", 1]]}
    declared = {column["name"]: _params(column, count) for column in columns}
    for op, _, params in nodes:
        same = op != "data" or declared.get(params["name"]) == params
        need(same, "the record must read only the declared data")


def _params(column: Any, count: Any) -> dict[str, Any]:
    """Return the parameters of the step that reads a column."""
    shape = [count] if column["width"] is None else [count, column["width"]]
    return {**{key: value for key, value in column.items() if key != "width"}, "shape": shape}


def _require_column(column: Any) -> None:
    need(
        column.keys() == {"name", "kind", "low", "high", "width", "ball"},
        "a column must have exactly the required keys",
    )
    kind, width, ball = column["kind"], column["width"], column["ball"]
    low, high = (None if column[end] is None else _number(column[end]) for end in ("low", "high"))
    need(
        isinstance(column["name"], str) and kind in KINDS,
        "a column must have a name, and the kind b, i, f or t",
    )
    need(width is None or (type(width) is int and width >= 1), "width must be a positive integer or null")
    need(low is None or high is None or low <= high, "a domain must not be empty")
    if kind == "t":
        whole = high is None or (high.denominator == 1 and 0 <= high < 2**32)
        need(
            low is None and width is None and ball is None and whole,
            "texts have only a largest length, an integer from 0 to 2^32 - 1",
        )
        return
    if kind != "f":
        whole = low is not None and high is not None and low.denominator == high.denominator == 1
        need(
            whole and (kind == "i" or (low == 0 and high == 1)),
            "the domain of integers must have integer ends, and the domain of Booleans must be [0, 1]",
        )
    if ball is not None:
        need(
            isinstance(ball, list) and len(ball) == 2 and ball[0] in ("1", "2", "one-hot"),
            "a ball must have the norm 1, 2 or one-hot and a radius",
        )
        radius = _number(ball[1])
        if ball[0] == "one-hot":
            need(
                kind == "i" and width is not None and low == 0 and high == 1 and radius == 1,
                "one-hot requires rows of integers in [0, 1] and the radius 1",
            )
            return
        need(
            kind == "f" and width is not None and radius > 0,
            "a ball requires rows of numbers and a positive radius",
        )
        need(
            (low, high) == (-radius, radius),
            "low and high must be the negative and positive radius of the ball",
        )


def _number(text: Any) -> Fraction:
    """Read a number in lowest terms, so that equal numbers have equal descriptions."""
    need(
        isinstance(text, str) and len(text) <= 2_000 and "e" not in text.lower(),
        "a number must be a string of at most 2,000 characters without an exponent",
    )
    number = Fraction(text)
    need(str(number) == text, "a number must be in lowest terms")
    return number
