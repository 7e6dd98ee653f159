"""Text of a suite stays text everywhere in a report."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import pytest

from dpaudit.report.chart import draw_plot
from dpaudit.report.svg import element
from tests.report.dom import Node, parse
from tests.report.sample import page_of, sample_report

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)' x='",
    "javascript:alert(1)",
    "{{ 7 * 191 }}{% raw %}{# x #}",
    "</style><script>alert(1)</script>",
    "</title></textarea></script><script>alert(1)</script>",
    "]]><svg onload=alert(1)><!-- -->",
    "&lt;script&gt;&#60;b&#62;",
    'x" data-anchor="y" style="color:red',
    "a\x00b\x1b[31m\u202ered\u2066\ud800",
    "${alert(1)}`\\u003cscript>\n<b>",
]

#: Fields whose values choose how a row is drawn; with other words in them the row is drawn as unknown.
CHOOSING = frozenset({"type", "law", "form", "lower_exact", "upper_exact"})

#: Fields for which the schema lists the values: a report with other words in them is refused.
LISTED = frozenset({"verdict", "strength", "kind", "evidence", "expect", "role"})


def poisoned(data: Any, text: str, *, everything: bool, key: str = "") -> Any:
    """``data`` with every string replaced by ``text``, object keys that a suite chooses too."""
    if isinstance(data, str):
        return data if key in LISTED or (key in CHOOSING and not everything) else text
    if isinstance(data, list):
        return [poisoned(item, text, everything=everything, key=key) for item in data]
    if isinstance(data, dict):
        items = {name: poisoned(item, text, everything=everything, key=name) for name, item in data.items()}
        if key in ("details", "parameters", "versions", "claim", "body"):
            items[text] = text
        return items
    return data


def two_papers(text: str, *, everything: bool) -> dict[str, Any]:
    """The poisoned sample with a second paper, so that the page has a filter and a table of papers."""
    report: dict[str, Any] = poisoned(sample_report(), text, everything=everything)
    report["results"][0]["paper"] = f"{text} II"
    return report


def skeleton(node: Node) -> list[tuple[str, tuple[str, ...]]]:
    """Elements and names of attributes in document order: what must not depend on a suite's words."""
    return [(n.tag, tuple(n.attributes)) for n in node.walk()]


def only_text(dom: Node) -> None:
    """Nothing in the page acts: no handler, no address, one script, one style."""
    for node in dom.walk():
        assert not [name for name in node.attributes if name.startswith("on") or name in ("style", "src")]
        assert re.fullmatch(r"#[A-Za-z0-9._-]+", node.attributes.get("href", "#x"))
        assert re.fullmatch(r"[A-Za-z0-9._-]+", node.attributes.get("id", "x"))
        assert re.fullmatch(r"[a-z0-9 -]*", node.attributes.get("class", ""))
    assert len(dom.find("script")) == len(dom.find("style")) == 1
    assert "alert(1)" not in "".join(dom.find("script")[0].text + dom.find("style")[0].text)


@pytest.mark.parametrize("everything", [False, True], ids=["words", "choices too"])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_add_nothing_to_the_page(text: str, everything: bool) -> None:
    """Hostile text in every field gives the same elements as a harmless word."""
    page = page_of(two_papers(text, everything=everything))
    harmless = page_of(two_papers("wo/rd" if "/" in text else "word", everything=everything))
    dom = parse(page)
    only_text(dom)
    assert skeleton(dom) == skeleton(parse(harmless))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_add_nothing_to_a_pack(text: str) -> None:
    """What the script of a packed page puts in its place is escaped like the page itself."""

    def parts(words: str) -> list[list[tuple[str, tuple[str, ...]]]]:
        dom = parse(page_of(two_papers(words, everything=False), inline=0))
        packs = [node for node in dom.find("script") if "pack" in node.attributes.get("class", "").split()]
        assert packs
        assert len(dom.find("script")) == len(packs) + 1
        assert all(re.fullmatch("[A-Za-z0-9+/=]+", "".join(node.text)) for node in packs)
        texts = [zlib.decompress(base64.b64decode("".join(node.text))) for node in packs]
        found = [parse(markup) for part in texts for markup in json.loads(part)]
        for one in found:
            for node in one.walk():
                assert not {"style", "src"} & node.attributes.keys()
                assert not [name for name in node.attributes if name.startswith("on")]
                assert re.fullmatch(r"#[A-Za-z0-9._-]+", node.attributes.get("href", "#x"))
        return [skeleton(one) for one in found]

    assert parts(text) == parts("wo/rd" if "/" in text else "word")


@pytest.mark.parametrize("text", HOSTILE[:10], ids=range(10))
def test_hostile_words_are_shown_as_they_are(text: str) -> None:
    """The reader sees the very characters: in the table, in the filters, in captions and pictures."""
    dom = parse(page_of(two_papers(text, everything=False)))
    row = dom.find("tr", "row")[0]
    assert text in "".join(part for n in row.walk() for part in n.text)
    assert row.attributes["data-paper"] == text
    assert any("".join(n.text) == text for n in dom.find("option"))
    assert any("".join(n.text) == text for n in dom.find("figcaption"))
    assert any("".join(n.text) == text for n in dom.find("title"))  # inside a picture


def test_templates_in_words_are_not_evaluated() -> None:
    """Braces from a suite are not a template: 7 * 191 is nowhere computed."""
    page = page_of(poisoned(sample_report(), HOSTILE[4], everything=True))
    assert "1337" not in page
    assert "{{ 7 * 191 }}" in page


def test_characters_that_act_are_replaced() -> None:
    """Control characters, direction overrides and lone surrogates never reach the file, which stays UTF-8."""
    page = page_of(poisoned(sample_report(), HOSTILE[10], everything=False))
    assert not set("\x00\x1b\u202e\u2066\ud800") & set(page)
    assert "a\ufffdb\ufffd[31m\ufffdred" in page
    assert page.encode("utf-8").decode("utf-8") == page


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_elements_escape_text_and_attributes(text: str) -> None:
    """The one function that builds markup by code escapes children and attribute values."""
    dom = parse(element("g", text, element("path", d=text), aria_label=text))
    (group,) = dom.children
    assert skeleton(group) == [("g", ("aria-label",)), ("path", ("d",))]


def test_a_plot_that_cannot_be_read_is_a_sentence() -> None:
    """The message about a broken plot quotes the plot, escaped."""
    drawn = draw_plot({"kind": HOSTILE[0]})
    assert skeleton(parse(drawn)) == [("root", ()), ("p", ("class",))]
    assert "must be one of" in drawn
