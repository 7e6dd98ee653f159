"""A strict reader of pages: every tag that opens must close, in order, and nothing repairs what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Node", "parse"]

VOID = frozenset({"meta", "input", "br"})
SELF_CLOSING_SVG = frozenset({"path", "line", "rect", "circle", "polygon"})
#: What may stand inside a paragraph; anything else would close it in a browser.
INLINE = frozenset({"b", "i", "a", "code", "small", "span", "br", "svg"})


@dataclass
class Node:
    """One element: its tag, attributes, children (elements) and own text."""

    tag: str
    attributes: dict[str, str]
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This element and all below it, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, tag: str, css: str = "") -> list[Node]:
        """All elements below with this tag and (if given) all these classes."""
        wanted = set(css.split())
        return [
            n for n in self.walk() if n.tag == tag and wanted <= set(n.attributes.get("class", "").split())
        ]

    def words(self) -> str:
        """The text of the element and of all below it."""
        return " ".join("".join(part for node in self.walk() for part in node.text).split())


class _Strict(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("root", {})
        self.open = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            raise ValueError(f"<{tag}> repeats an attribute: {names}")
        if self.open.tag == "p" and tag not in INLINE:
            raise ValueError(f"<{tag}> inside <p>, at {self.getpos()}")
        node = Node(tag, {name: value or "" for name, value in attrs}, self.open)
        self.open.children.append(node)
        if tag not in VOID:
            self.open = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in SELF_CLOSING_SVG:
            raise ValueError(f"<{tag}/> may not close itself, at {self.getpos()}")
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open.tag != tag or self.open.parent is None:
            raise ValueError(f"</{tag}> closes <{self.open.tag}>, at {self.getpos()}")
        self.open = self.open.parent

    def handle_data(self, data: str) -> None:
        self.open.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise ValueError(f"a comment: {data[:40]!r}")

    def unknown_decl(self, data: str) -> None:
        raise ValueError(f"a declaration: {data[:40]!r}")


def parse(page: str) -> Node:
    """Parse a page. Raises ``ValueError`` for unbalanced tags, repeated attributes, blocks in paragraphs."""
    reader = _Strict()
    reader.feed(page)
    reader.close()
    if reader.open is not reader.root:
        raise ValueError(f"<{reader.open.tag}> never closes")
    return reader.root
