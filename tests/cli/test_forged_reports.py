"""A corpus of forged reports: ``verify --suite`` refuses every one; ``verify`` alone refuses all that
arithmetic can, and each one that it lets through is of a kind that it says it cannot know.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpaudit.certificates import build
from dpaudit.certificates.statement import CANNOT_KNOW
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.laws import Laplace
from dpaudit.runner.process import Pool
from tests.cli.forged import ROWS, again, confirmed, remade, remember_runs
from tests.cli.suites import by_id, run, write_suite

Rows = dict[str, dict[str, Any]]
#: (report, its rows by id, a second real report) -> the forged text, or None where the report was edited.
Edit = Callable[[dict[str, Any], Rows, dict[str, Any]], str | None]


@dataclass(frozen=True)
class Forgery:
    """``unknown``: the word of ``CANNOT_KNOW`` under which ``verify`` alone lets it through; empty where it
    refuses."""

    edit: Edit
    unknown: str = ""


CORPUS: dict[str, Forgery] = {}


def forgery(name: str, unknown: str = "") -> Callable[[Edit], Edit]:
    def add(edit: Edit) -> Edit:
        assert name not in CORPUS
        CORPUS[name] = Forgery(edit, unknown)
        return edit

    return add


def on(row_id: str, **fields: Any) -> Edit:
    """Set fields of one row, and nothing that follows from them."""
    return lambda report, rows, other: rows[row_id].update(fields)


def within(row_id: str, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Change the first piece of evidence of one row, and nothing else."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        change(rows[row_id]["evidence"][0])

    return edit


def careful(row_id: str, change: Callable[[dict[str, Any]], object]) -> Edit:
    """Change the first piece of evidence, and make anew all that follows from it."""

    def edit(report: dict[str, Any], rows: Rows, other: dict[str, Any]) -> None:
        evidence = copy.deepcopy(rows[row_id]["evidence"])
        change(evidence[0])
        remade(report, row_id, evidence=evidence)

    return edit


def proof_of(claim: Any, scale: Any, **sizes: Any) -> dict[str, Any]:
    made = build.laplace_mechanism(sensitivity=1, scale=scale).certify(claim)
    return dict(json.loads(json.dumps(made.to_json()))) | sizes


ONE = PureDP(epsilon=1, domain="0 or 1")
FRAME = "proved", "accounted"


def deepened(item: dict[str, Any]) -> None:
    tree = item["tree"]["premises"][0]
    for _ in range(200):
        tree = {"rule": "sequential", "parameters": {"times": ["1"]}, "premises": [tree]}
    item["tree"]["premises"] = [tree]


SITE = ("body", "sites", 0)


def at_site(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda item: change(item["body"]["sites"][0])


NEIGHBOUR = Laplace(scale=1).shift(-5.0).to_json()

SIMPLE: dict[str, tuple[Edit, str]] = {
    # A certificate
    "a certificate's bound lowered": (within("proved", lambda e: e.update(bound="1/2")), ""),
    "a certificate's bound lowered, all made anew": (
        lambda report, rows, other: rows["proved"].update(
            evidence=[rows["proved"]["evidence"][0] | {"bound": "1/2"}],
            upper=0.5,
            upper_exact="1/2",
            slack=2.0,
        ),
        "",
    ),
    "a certificate's bound raised": (
        careful("proved", lambda e: e.update(bound="9/8")),
        "trees",  # a weaker statement than the program's, and a true one
    ),
    "a certificate's scale raised": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="2")),
        "trees",
    ),
    "a certificate of twice the noise, all made anew": (
        lambda report, rows, other: remade(report, "proved", evidence=[proof_of(ONE, 2)]),
        "trees",
    ),
    "a certificate's scale lowered": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1/2")),
        "",
    ),
    "an assumption dropped": (within("accounted", lambda e: e.update(assumptions=[])), ""),
    "an assumption dropped and the strength raised": (
        lambda report, rows, other: rows["accounted"].update(
            evidence=[rows["accounted"]["evidence"][0] | {"assumptions": []}], strength="proved"
        ),
        "",
    ),
    "the accounting cut out of the tree, all made anew": (
        lambda report, rows, other: remade(report, "accounted", evidence=[proof_of(ONE, 2)]),
        "trees",
    ),
    "an assumption reworded": (within("accounted", lambda e: e["assumptions"].append("nothing")), ""),
    "a certificate for another claim": (
        within("proved", lambda e: e.update(proof_of(PureDP(epsilon=1, domain="a real number"), 1))),
        "",
    ),
    "a certificate for another quantity": (
        within("proved", lambda e: e.update(proof_of(ApproxDP(epsilon=1, delta="1/2"), 1))),
        "",
    ),
    "an unknown rule": (within("proved", lambda e: e["tree"]["premises"][0].update(rule="trust-me")), ""),
    "an unknown parameter": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(note="safe")),
        "",
    ),
    "a tree that is too deep": (within("proved", deepened), ""),
    "a huge number": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1" + "0" * 19_000)),
        "",
    ),
    "an exponent beyond reason": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="1e99999")),
        "",
    ),
    "a negative scale": (
        within("proved", lambda e: e["tree"]["premises"][0]["parameters"].update(scale="-1")),
        "",
    ),
    "a certificate as a witness": (within("proved", lambda e: e.update(evidence="witness")), ""),
    "a certificate taken away": (on("proved", evidence=[]), ""),
    "an obstacle taken away": (on("open", obstacles=[]), ""),
    "an obstacle taken away, all made anew": (
        lambda report, rows, other: remade(report, "open", obstacles=[], expect="verified"),
        "texts",
    ),
    # A witness
    "a witness's bound raised": (within("witness", lambda e: e.update(bound="5/2")), ""),
    "a witness's bound made infinite": (within("witness", lambda e: e.update(bound=None)), ""),
    "a witness's bound lowered, all made anew": (
        lambda report, rows, other: remade(
            report,
            "witness",
            evidence=[rows["witness"]["evidence"][0] | {"bound": "1/2"}],
            expect="inconclusive",
        ),
        "texts",
    ),
    "a witness's value moved": (
        within("witness", at_site(lambda s: s.update(value={"float": (1.0).hex()}))),
        "",
    ),
    "a witness's law swapped": (
        within("witness", at_site(lambda s: s.update(law=s["law_neighbour"], law_neighbour=s["law"]))),
        "",
    ),
    "a witness's law made worse, all made anew": (
        careful("witness", at_site(lambda s: s.update(law_neighbour=NEIGHBOUR))),
        "laws",
    ),
    "a law that is a command": (within("witness", at_site(lambda s: s.update(law={"law": "os.system"}))), ""),
    "a witness for another view": (within("witness", lambda e: e["body"].update(view=["server"])), ""),
    "a site that the view does not see": (within("witness", at_site(lambda s: s.update(to=["nobody"]))), ""),
    "a witness without its inputs": (within("witness", lambda e: e["body"].pop("inputs")), ""),
    "a witness with one input": (within("witness", lambda e: e["body"]["inputs"].pop("neighbour")), ""),
    "a witness with one input twice": (
        within("witness", lambda e: e["body"]["inputs"].update(recorded=e["body"]["inputs"]["neighbour"])),
        "",
    ),
    "a witness with other inputs": (
        within("witness", lambda e: e["body"]["inputs"].update(recorded=[{"int": "7"}])),
        "inputs",
    ),
    "a witness that was forced called sampled": (within("witness", lambda e: e.update(origin="dreamt")), ""),
    "a witness described otherwise": (
        within("witness", lambda e: e.update(description="1000 against 0")),
        "texts",
    ),
    "a witness without words": (within("witness", lambda e: e.update(description="")), ""),
    "a witness with more to say": (within("witness", lambda e: e["body"].update(remark="certain")), ""),
    "a leak without sites": (within("leak", lambda e: e["body"].pop("sites")), ""),
    "a leak without its site": (within("leak", lambda e: e["body"]["leak"].pop("site")), ""),
    "a leak of the same value": (
        within("leak", lambda e: e["body"]["leak"].update(recorded=e["body"]["leak"]["neighbour"])),
        "",
    ),
    "a leak of another value": (
        within("leak", lambda e: e["body"]["leak"].update(recorded={"int": "5"})),
        "laws",
    ),
    "a leak to the server": (within("leak", lambda e: e["body"]["leak"].update(to=["server"])), ""),
    "a witness swapped for a leak": (
        lambda report, rows, other: rows["witness"].update(evidence=rows["leak"]["evidence"]),
        "",
    ),
    "a witness swapped for a leak, all made anew": (
        lambda report, rows, other: remade(report, "witness", evidence=rows["leak"]["evidence"]),
        "laws",
    ),
    "a witness against a proved claim": (
        lambda report, rows, other: rows["proved"]["evidence"].extend(rows["witness"]["evidence"]),
        "",
    ),
    # An estimate
    "an estimate's bound lowered": (within("sampled", lambda e: e.update(upper=0.3)), ""),
    "an estimate's bound lowered, all made anew": (
        careful("sampled", lambda e: e.update(upper=0.3)),
        "estimate",
    ),
    "an invented estimate": (
        careful("sampled", lambda e: e.update(samples=10**9, method="a better one", scope="all of it")),
        "estimate",
    ),
    "an estimate without a seed": (within("sampled", lambda e: e.update(seed=None)), ""),
    "an estimate without samples": (within("sampled", lambda e: e.update(samples=0)), ""),
    "an estimate without a method": (within("sampled", lambda e: e.update(method="")), ""),
    "an estimate whose bounds cross": (within("sampled", lambda e: e.update(lower=0.6)), ""),
    "an estimate more certain than certain": (within("sampled", lambda e: e.update(confidence=2)), ""),
    "an estimate at confidence 0": (within("sampled", lambda e: e.update(confidence=0)), ""),
    "an estimate that knows more than its samples": (
        lambda report, rows, other: rows["witness"].update(
            evidence=[
                rows["sampled"]["evidence"][0]
                | {"quantity": "epsilon", "lower": 40.0, "upper": None, "samples": 3}
            ]
        ),
        "",
    ),
    "an estimate that verifies privacy": (
        lambda report, rows, other: rows["proved"].update(
            evidence=[rows["sampled"]["evidence"][0] | {"quantity": "epsilon"}], strength="tested"
        ),
        "",
    ),
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
    "a number of samples": (on("sampled", samples=10**9), "texts"),
    "a paper": (on("proved", paper="another"), ""),
    "a suite that is not listed": (on("proved", suite="audits/none.py"), ""),
    "a command to paste": (on("proved", reproduce="dpaudit run papers; rm -rf ~"), ""),
    "a command to paste for another row": (
        lambda report, rows, other: rows["proved"].update(reproduce=rows["open"]["reproduce"]),
        "texts",
    ),
    "a row's error level": (on("sampled", alpha=0.04), ""),
    "a row's error level lowered": (on("sampled", alpha=0.001), "texts"),
    "a field that nobody knows": (on("proved", certified_by="an authority"), ""),
    # The whole report
    "an id that looks alike": (on("proved", id="рroved"), ""),
    "an id in other case": (on("proved", id="Open"), ""),
    "an id used twice": (on("proved", id="open"), ""),
    "an id that the suite lacks": (on("proved", id="proven"), "texts"),
    "a row taken away": (lambda report, rows, other: report["results"].pop(2), "row"),
    "all rows taken away": (lambda report, rows, other: report["results"].clear(), "row"),
    "a row twice": (lambda report, rows, other: report["results"].append(dict(rows["proved"])), ""),
    "rows in another order": (lambda report, rows, other: report["results"].reverse(), "texts"),
    "two rows with names exchanged": (
        lambda report, rows, other: (
            rows["proved"].update(id="accounted"),
            rows["accounted"].update(id="proved"),
        ),
        "texts",
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
        "texts",
    ),
    "the error level of the run": (lambda report, rows, other: report.update(alpha=0.01), ""),
    "the error level of the run raised": (lambda report, rows, other: report.update(alpha=0.06), "texts"),
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
    "the command": (lambda report, rows, other: report["stamps"].update(command="dpaudit run"), "stamps"),
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
        "texts",
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
for _name, (_edit, _unknown) in SIMPLE.items():
    forgery(_name, _unknown)(_edit)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path, Pool]]:
    """A report, another one of other sources, the first one's suite, and one pool for all runs."""
    folder = tmp_path_factory.mktemp("forged")
    first = write_suite(folder / "audits" / "a.py", ROWS)
    second = write_suite(
        folder / "other" / "audits" / "b.py", ROWS.replace("exactly(0.25, 0.5", "exactly(0, 0.125")
    )
    texts = [json.dumps(run(suite, report=folder / f"{suite.stem}.json")[1]) for suite in (first, second)]
    pool = Pool(1)
    with pytest.MonkeyPatch.context() as patch:
        remember_runs(patch)
        yield texts[0], texts[1], first, pool
    pool.close()


def test_the_true_reports_are_confirmed(made: tuple[str, str, Path, Pool], tmp_path: Path) -> None:
    """The control: unchanged, and written anew, the report passes both."""
    text, _, suite, pool = made
    for honest in (text, json.dumps(json.loads(text), indent=3)):
        assert confirmed(again(honest, tmp_path))
        assert confirmed(again(honest, tmp_path, [suite], pool)), again(honest, tmp_path, [suite], pool)


@pytest.mark.parametrize("name", CORPUS)
def test_a_forged_report_is_refused(made: tuple[str, str, Path, Pool], tmp_path: Path, name: str) -> None:
    """``--suite`` refuses it; ``verify`` alone too, or what was forged is named among what it cannot know."""
    text, second, suite, pool = made
    report, other = json.loads(text), json.loads(second)
    forged = CORPUS[name].edit(report, by_id(report), other)
    if not isinstance(forged, str):
        forged = json.dumps(report)
    assert forged != text, "nothing was forged"
    findings = again(forged, tmp_path)
    refused = [f"{f.id} {f.what}: {f.reason}" for f in findings if not f.ok]
    if CORPUS[name].unknown:
        assert not refused
        assert CORPUS[name].unknown in CANNOT_KNOW
    else:
        assert refused
    assert not confirmed(again(forged, tmp_path, [suite], pool))


def test_the_corpus_is_large() -> None:
    """At least 45 kinds; most of them are refused by arithmetic."""
    assert len(CORPUS) >= 45
    assert sum(not forgery.unknown for forgery in CORPUS.values()) > len(CORPUS) / 2
