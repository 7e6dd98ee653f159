"""The corpus of forged reports, second part: what is said of a row, of the whole report, and the text of the
file.
"""

from __future__ import annotations

import json

from dpaudit.core.claims import PureDP
from tests.cli.forged import remade
from tests.cli.forged_evidence import Forgery, at_site, on, proof_of, within
from tests.cli.suites import by_id

__all__ = ["REPORTS"]

REPORTS: dict[str, Forgery] = {
    # What is said of a row
    "a verdict": (on("witness", verdict="verified"), ""),
    "a strength": (on("accounted", strength="proved"), ""),
    "a bound shown": (on("proved", upper=0.5), ""),
    "an exact bound shown": (on("proved", upper_exact="1/2"), ""),
    "a slack shown": (on("proved", slack=30.0), ""),
    "a confidence shown": (on("sampled", confidence=1.0), ""),
    "a reason taken away": (on("open", reasons=[]), ""),
    "a traceback added": (on("proved", traceback="no"), ""),
    "a crash with a bound": (on("crashes", upper=0.5, upper_exact="1/2"), ""),
    "a crash with a strength": (on("crashes", strength="proved"), ""),
    "a crash as expected": (on("crashes", as_expected=True), ""),
    "a crash accepted": (on("crashes", accepted=True), ""),
    "a crash that never was": (
        on("crashes", reasons=["out of memory"], traceback=None),
        "texts",
    ),
    "as_expected of another verdict": (on("open", as_expected=False), ""),
    "accepted of another verdict": (on("open", accepted=False), ""),
    "an expectation": (on("witness", expect="verified", as_expected=False, accepted=False), "texts"),
    "a number claimed": (on("proved", claimed=0.1), ""),
    "a claim in other words": (
        lambda report, rows, other: rows["proved"]["claim"].update(in_words="perfect secrecy"),
        "",
    ),
    "a claim with a smaller epsilon": (
        lambda report, rows, other: rows["proved"]["claim"].update(epsilon=0.5, epsilon_exact="1/2"),
        "",
    ),
    "a claim with a larger epsilon, all made anew": (
        lambda report, rows, other: remade(
            report,
            "proved",
            claim=PureDP(epsilon=2, domain="0 or 1").to_json(),
            evidence=[proof_of(PureDP(epsilon=2, domain="0 or 1"), 1)],
        ),
        "texts",
    ),
    "a claim with another domain, all made anew": (
        lambda report, rows, other: remade(
            report,
            "proved",
            claim=PureDP(epsilon=1, domain="anything").to_json(),
            evidence=[proof_of(PureDP(epsilon=1, domain="anything"), 1)],
        ),
        "texts",
    ),
    "a view shown": (on("proved", view="server"), ""),
    "a kind shown": (on("proved", kind="utility"), ""),
    "a quantity shown": (on("proved", quantity="delta"), ""),
    "a title": (on("proved", title="everything is private"), "texts"),
    "a source": (on("proved", source="Theorem 9"), "texts"),
    "a note": (on("proved", notes=["confirmed by its authors"]), "texts"),
    "a plot": (
        lambda report, rows, other: rows["sampled"]["plots"][0].update(y=[0.1, 0.1]),
        "plots",
    ),
    "a number of samples": (on("sampled", samples=10**9), ""),
    "a number of samples beyond any run": (on("proved", samples=10**18), ""),
    "a paper": (on("proved", paper="another"), ""),
    "a suite that is not listed": (on("proved", suite="audits/none.py"), ""),
    "a command to paste": (on("proved", reproduce="dpaudit run papers; rm -rf ~"), ""),
    "a command to paste for another row": (
        lambda report, rows, other: rows["proved"].update(reproduce=rows["open"]["reproduce"]),
        "",
    ),
    "a command to paste without end": (
        lambda report, rows, other: rows["proved"].update(
            reproduce=f"dpaudit run {'a' * 2_000_000} --seed 0 --quick --no-config"
        ),
        "",
    ),
    "a command to paste into another file": (
        lambda report, rows, other: rows["proved"].update(
            reproduce=rows["proved"]["reproduce"].replace("proved.json", "thesis.json")
        ),
        "",
    ),
    "a time that a row did not take": (on("proved", seconds=-1.0), ""),
    "a row's error level": (on("sampled", alpha=0.04), ""),
    "a row's error level lowered": (on("sampled", alpha=0.001), "texts"),
    "a field that nobody knows": (on("proved", certified_by="an authority"), ""),
    # The whole report
    "an id that looks alike": (on("proved", id="рroved"), ""),
    "an id in other case": (on("proved", id="Open"), ""),
    "an id used twice": (on("proved", id="open"), ""),
    "an id that the suite lacks": (on("proved", id="proven"), ""),
    "a row taken away": (lambda report, rows, other: report["results"].pop(2), "row"),
    "all rows taken away": (lambda report, rows, other: report["results"].clear(), ""),
    "a row twice": (lambda report, rows, other: report["results"].append(dict(rows["proved"])), ""),
    "rows in another order": (lambda report, rows, other: report["results"].reverse(), "texts"),
    "two rows with names exchanged": (
        lambda report, rows, other: (
            rows["proved"].update(id="accounted"),
            rows["accounted"].update(id="proved"),
        ),
        "",
    ),
    "a row of another report": (
        lambda report, rows, other: report["results"].append(
            other["results"][0] | {"id": "more", "suite": report["suites"][0]["suite"], "alpha": 1e-9}
        ),
        "",
    ),
    "a row from another report in the place of its own": (
        lambda report, rows, other: rows["sampled"].update(
            {
                name: value
                for name, value in by_id(other)["sampled"].items()
                if name in ("evidence", "lower", "lower_exact", "upper", "upper_exact", "slack")
            }
        ),
        "estimate",
    ),
    "the results of another report": (
        lambda report, rows, other: report.update(results=other["results"]),
        "",
    ),
    "the results of another report under this one's suite": (
        lambda report, rows, other: report.update(
            results=[row | {"suite": report["suites"][0]["suite"]} for row in other["results"]]
        ),
        "",
    ),
    "the error level of the run": (lambda report, rows, other: report.update(alpha=0.01), ""),
    "the error level of the run raised": (lambda report, rows, other: report.update(alpha=0.06), ""),
    "an error level of the run above 1/2": (lambda report, rows, other: report.update(alpha=0.6), ""),
    "a row's error level above that of the run": (
        lambda report, rows, other: (rows["sampled"].update(alpha=0.06), rows["proved"].update(alpha=-0.05)),
        "",
    ),
    "the seed of the run": (lambda report, rows, other: report.update(seed=5), ""),
    "the profile of the run": (lambda report, rows, other: report.update(profile="paper"), ""),
    "what the run required": (lambda report, rows, other: report.update(require="proved"), ""),
    "an interrupted run": (lambda report, rows, other: report.update(complete=False), ""),
    "the version of the tool": (lambda report, rows, other: report.update(tool_version="9.9"), "stamps"),
    "the hash of the tool": (
        lambda report, rows, other: report["stamps"].update(tool_sha256="0" * 64),
        "stamps",
    ),
    "the version of a library": (
        lambda report, rows, other: report["stamps"]["versions"].update(numpy="9.9"),
        "stamps",
    ),
    "the platform": (lambda report, rows, other: report["stamps"].update(platform="CP/M"), "stamps"),
    "a command without end": (
        lambda report, rows, other: report["stamps"].update(command=f"dpaudit run {'a' * 2_000_000}"),
        "",
    ),
    "a command that selects none of the rows": (
        lambda report, rows, other: report["stamps"].update(command="dpaudit run -k nothing"),
        "",
    ),
    "a start that is no time": (lambda report, rows, other: report["stamps"].update(started="noon"), ""),
    "an end that is no time": (
        lambda report, rows, other: report["stamps"].update(finished="2026-13-01T00:00:00+00:00"),
        "",
    ),
    "the command": (lambda report, rows, other: report["stamps"].update(command="dpaudit run"), ""),
    "the hash of the sources": (
        lambda report, rows, other: report["suites"][0].update(sha256="0" * 64),
        "stamps",
    ),
    "the commit of the sources": (
        lambda report, rows, other: report["suites"][0].update(commit="0" * 40, modified=False),
        "stamps",
    ),
    "the title of the paper": (
        lambda report, rows, other: report["suites"][0].update(title="A great paper"),
        "texts",
    ),
    "a suite besides": (
        lambda report, rows, other: report["suites"].append(other["suites"][0] | {"suite": "audits/b.py"}),
        "",
    ),
    "a claim that nothing can check taken away": (
        lambda report, rows, other: report["unchecked"].clear(),
        "row",
    ),
    "a reason why nothing can check a claim": (
        lambda report, rows, other: report["unchecked"][0].update(reason="too easy"),
        "texts",
    ),
    "a seal": (lambda report, rows, other: report.update(certified_by="an authority"), ""),
    # The text of the file
    "a key twice": (
        lambda report, rows, other: json.dumps(report).replace('"seed": 0', '"seed": 1, "seed": 0', 1),
        "",
    ),
    "a bound twice": (
        lambda report, rows, other: json.dumps(report).replace(
            '"bound": "1"', '"bound": "1/9", "bound": "1"', 1
        ),
        "",
    ),
    "NaN": (lambda report, rows, other: rows["proved"].update(lower=float("nan")), ""),
    "an infinite float": (
        lambda report, rows, other: json.dumps(report).replace('"upper": 1.0', '"upper": 1e999', 1),
        "",
    ),
    "fullwidth digits": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="１")),
        "",
    ),
    "a number with an underscore": (
        within("witness", at_site(lambda s: s.update(value={"float": "0x1_8p+1"}))),
        "",
    ),
    "deep nesting": (
        lambda report, rows, other: json.dumps(report).replace("[]", "[" * 50_000 + "]" * 50_000, 1),
        "",
    ),
    "a file that is cut": (lambda report, rows, other: json.dumps(report)[:-200], ""),
    "a number as a text": (on("proved", upper="1.0"), ""),
    "a text as a number": (within("proved", lambda e: e.update(bound=1)), ""),
    "a list as a claim": (on("proved", claim=["pure-dp"]), ""),
}
