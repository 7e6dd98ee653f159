"""Build all markup of pictures with one function, so that everything is escaped.

No element has a ``style``, an ``href``, a script or a resource. A picture consists of shapes, text and class
names. Colours are in the style sheet of the page, so that a picture follows dark mode and print.
"""

from __future__ import annotations

from functools import cache

from markupsafe import Markup, escape

from dpaudit.report.notation import clean

__all__ = ["element", "join", "text_of"]

Attribute = str | int | float | None


def element(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Build ``<name attributes>children</name>``. Children that are not ``Markup`` are text and are escaped.

    ``class_`` stands for ``class``, and other underscores become hyphens (``text_anchor``). ``None`` omits an
    attribute. Floats are written with two decimals. ``name`` and attribute names come from code, never from a
    report.
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None:
            parts.append(f' {_attribute(key)}="{_write(value)}"')
    if not children and name in _SELF_CLOSING:
        return Markup("".join(parts) + "/>")
    return Markup("".join(parts) + f">{join(children)}</{name}>")


#: SVG shapes without content may be self-closing. HTML elements may not.
_SELF_CLOSING = frozenset({"circle", "line", "path", "polygon", "rect"})


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _write(value: str | int | float) -> str:
    """Write a value for use between quotes. Numbers need no escaping."""
    if isinstance(value, float):
        text = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return escape(clean(value))


def text_of(value: object) -> Markup:
    """Escape text that is not markup."""
    return value if isinstance(value, Markup) else escape(clean(value))


def join(children: tuple[str, ...] | list[Markup] | list[str]) -> Markup:
    """Concatenate children, and escape those that are not ``Markup``."""
    return Markup("".join(text_of(child) for child in children))
