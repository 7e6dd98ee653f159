"""Whatever a row does, it gets one verdict with its reason, and the other rows run."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dpaudit.core.verdicts import MAX_FLOAT
from tests.cli.suites import RAISES, REFUTED, UNEXPECTED, VERIFIED, by_id, invoke, run, write_suite

MISBEHAVING = """
def row(id, **options):
    return suite.row(id, title=id, **{"kind": "utility", "claim": CLAIM, **options})

@row("open", expect="inconclusive")
def open_(run):
    return Outcome([exactly(0.5, 2.0)], unmet=["a branch was not visited"])

@row("hangs")
def hangs(run):
    time.sleep(60)

@row("dies")
def dies(run):
    print("last words", flush=True)
    os._exit(7)

@row("segfaults")
def segfaults(run):
    import ctypes
    ctypes.string_at(0)

@row("leaves")
def leaves(run):
    sys.exit(0)

@row("wrong-type")
def wrong_type(run):
    return True

@row("wrong-evidence")
def wrong_evidence(run):
    return Outcome([0.5])

@row("nan")
def nan(run):
    return Outcome([exactly(float("nan"), 0.5)])

@row("nan-in-proof", kind="privacy", claim=PureDP(epsilon=1))
def nan_in_proof(run):
    return Outcome([Certificate(quantity="epsilon", bound=Fraction(1), tree={"scale": float("nan")})])

@row("made-up-proof", kind="privacy", claim=PureDP(epsilon=1))
def made_up_proof(run):
    return Outcome([Certificate(quantity="epsilon", bound=Fraction(1), tree={"rule": "none"})])

@row("proof-of-another-claim", kind="privacy", claim=PureDP(epsilon=1, adjacency=Adjacency.ADD_REMOVE))
def proof_of_another_claim(run):
    return Outcome([certificate(1)])

@row("proof-too-good", kind="privacy", claim=PureDP(epsilon=1))
def proof_too_good(run):
    return Outcome([replace(certificate(2), bound=Fraction(1))])

@row("witness-too-good", kind="privacy", claim=PureDP(epsilon=1))
def witness_too_good(run):
    return Outcome([witness(Fraction(3))])

@row("another-quantity", kind="privacy", claim=ApproxDP(epsilon=1, delta="1/10"))
def another_quantity(run):
    kind = dict(quantity="epsilon", method="bet", scope="one pair")
    return Outcome([Estimate(lower=0.9, upper=None, confidence=1.0, samples=10, **kind)])

@row("object-in-plot")
def object_in_plot(run):
    return Outcome([exactly(0, 0.5)], plots=[{"kind": "line", "y": object()}])

@row("floods")
def floods(run):
    print("x" * 300_000); sys.stderr.write("y" * 300_000); sys.stdin.read()
    return Outcome([exactly(0, 0.5)], plots=[{"kind": "line", "y": np.array([1.0, np.nan, np.inf])}])

@row("weak-estimate")
def weak_estimate(run):
    return Outcome([exactly(1.5, 2.0, confidence=0.9, seed=1)])

@row("contradiction", kind="privacy", claim=PureDP(epsilon=1))
def contradiction(run):
    return Outcome([witness(Fraction(3, 2)), certificate("1/2")])

@row("leak", kind="privacy", claim=PureDP(epsilon="0.1"), expect="refuted")
def leak(run):
    return Outcome([witness(None)])

@row("third", kind="privacy", claim=PureDP(epsilon=1))
def third(run):
    return Outcome([certificate("1/3"), witness(Fraction(1, 10))])

@row("light")
def light(run):
    loaded = [name for name in ("matplotlib", "pandas", "jinja2", "rich") if name in sys.modules]
    return Outcome([exactly(0, 0.5)], notes=loaded)
"""

CRASHED = {
    "raises": "ValueError: bad [bold]input (suite.py:",
    "hangs": "must finish within 6 s",
    "dies": "exit code 7; its last output: last words",
    "segfaults": "in segfaults",
    "leaves": "SystemExit: 0",
    "wrong-type": "must return an Outcome, got bool",
    "wrong-evidence": "a ProgramProof, an InequalityProof, a Witness or an Estimate, got float",
    "nan": "lower must be a number, got NaN",
    "nan-in-proof": "must hold finite numbers, got nan",
    "made-up-proof": "a certificate does not hold for the claim of the row",
    "proof-of-another-claim": "the certificate must be about the same claim: adjacency",
    "proof-too-good": "the bound must be one that the tree gives",
    "witness-too-good": "the witness claims too much",
    "another-quantity": "must bound its quantity 'delta', got 'epsilon'",
    "object-in-plot": "a plot must be made of numbers",
    "contradiction": "contradiction: lower bound",
}


#: Seconds that a row may take: the hanging one takes them all, the others must not, on a busy machine either.
LIMIT = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_suite(
        tmp_path_factory.mktemp("all") / "suite.py", VERIFIED, RAISES, MISBEHAVING, REFUTED, UNEXPECTED
    ).parent


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    result, report = run(folder / "suite.py", "--timeout", LIMIT, "--jobs", 2)
    assert result.exit_code == 3
    assert "[bold]input" in result.stdout
    return report


def test_a_pair_with_nan_crashes_its_row_alone(tmp_path: Path) -> None:
    """A neighbour with NaN is the suite's mistake and no refutation: the row crashed, it says why, the other
    row runs, and the exit code is 3."""
    rows = """
from dpaudit.distributions import Laplace
from dpaudit.core.neighbours import Neighbours
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import privacy

@privacy(suite, "strange", "mine", expect="refuted", accounting="")
def strange():
    \"\"\"A noisy sum is 1-DP\"\"\"
    return PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=lambda coins, data: coins.release(sum(data), Laplace(scale=1), site="sum"),
        neighbours=lambda run: [Neighbours("one record", [0.0, 0.5], [float("nan"), 0.5])],
        sites=[],
    )
"""
    result, found = run(write_suite(tmp_path / "suite.py", rows, VERIFIED))
    assert result.exit_code == 3
    verdicts = {row["id"]: row["verdict"] for row in found["results"]}
    assert verdicts == {"strange": "crashed", "fine": "verified"}
    assert "those of 'one record' hold nan" in by_id(found)["strange"]["reasons"][0]


def test_every_misbehaviour_is_a_crash_with_its_reason(report: dict[str, Any]) -> None:
    """A row that raises, hangs, dies or returns nonsense is ``crashed``; the reason says what happened."""
    rows = by_id(report)
    assert {row["id"] for row in report["results"] if row["verdict"] == "crashed"} == set(CRASHED)
    for name, reason in CRASHED.items():
        assert reason in rows[name]["reasons"][0], name
        assert not rows[name]["as_expected"]
    assert LIMIT <= rows["hangs"]["seconds"] < 3 * LIMIT


def test_the_other_rows_still_run(report: dict[str, Any]) -> None:
    """Rows before, between and after the crashing ones get their verdicts."""
    rows = by_id(report)
    verdicts = {name: (row["verdict"], row["strength"]) for name, row in rows.items() if name not in CRASHED}
    assert verdicts == {
        "fine": ("verified", "tested"),
        "false": ("refuted", "tested"),
        "surprise": ("refuted", "tested"),
        "open": ("inconclusive", "none"),
        "floods": ("verified", "tested"),
        "weak-estimate": ("inconclusive", "none"),
        "leak": ("refuted", "witness"),
        "third": ("verified", "proved"),
        "light": ("verified", "tested"),
    }
    assert rows["fine"]["as_expected"]
    assert rows["false"]["as_expected"]
    assert not rows["surprise"]["as_expected"]
    assert rows["open"]["reasons"][0] == "a branch was not visited"


def test_bounds_are_rounded_outward_and_kept_exactly(report: dict[str, Any]) -> None:
    """Floats bound the exact numbers from the right side; an infinite lower bound is the largest float."""
    rows = by_id(report)
    third = rows["third"]
    assert (third["lower_exact"], third["upper_exact"]) == ("1/10", "1/3")
    assert Fraction(third["lower"]) < Fraction(1, 10)
    assert Fraction(third["upper"]) > Fraction(1, 3)
    assert (third["lower"], third["upper"]) == (pytest.approx(0.1), pytest.approx(1 / 3))
    assert third["slack"] == 3.0
    assert rows["leak"]["lower"] == MAX_FLOAT
    assert rows["leak"]["upper"] is None


def test_confidence_names_what_the_verdict_rests_on(report: dict[str, Any]) -> None:
    """1 for proofs and witnesses, the estimate's own otherwise, null where there is no evidence."""
    rows = by_id(report)
    confidence = {name: rows[name]["confidence"] for name in ("third", "leak", "weak-estimate", "dies")}
    assert confidence == {"third": 1.0, "leak": 1.0, "weak-estimate": 0.9, "dies": None}


def test_an_estimate_above_the_rows_error_level_decides_nothing(report: dict[str, Any]) -> None:
    """Confidence 0.9 cannot refute where the row may err with 0.05 / 20; the reason says so."""
    row = by_id(report)["weak-estimate"]
    assert row["alpha"] == pytest.approx(0.05 / len(report["results"]))
    assert "confidence 0.9 was not used" in row["reasons"][-1]


def test_output_and_input_of_a_row_do_not_disturb_the_run(report: dict[str, Any]) -> None:
    """A row may print, write to standard error and read standard input; gaps in plots become null."""
    assert by_id(report)["floods"]["plots"] == [{"kind": "line", "y": [1.0, None, None]}]


def test_workers_do_not_import_what_only_reports_need(report: dict[str, Any]) -> None:
    """Start-up is cheap: no plotting, tables, templates or terminal library in the process that runs rows."""
    assert by_id(report)["light"]["notes"] == []


def test_the_report_fits_the_published_schema(report: dict[str, Any]) -> None:
    """The shipped schema, read by the reference validator alone, accepts the report and refuses a changed
    one.
    """
    schema = json.loads(files("dpaudit.report.file").joinpath("schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(report)
    for field in ("verdict", "lower_exact", "confidence", "claim", "id"):
        broken = json.loads(json.dumps(report))
        broken["results"][0][field] = ["not this"]
        assert not validator.is_valid(broken), field


def test_the_number_of_workers_changes_nothing_but_times(folder: Path, report: dict[str, Any]) -> None:
    """One worker or two, the same report to the last digit, apart from times, in the suite's order."""
    _, alone = run(folder / "suite.py", "--timeout", LIMIT, "--jobs", 1)

    def timeless(document: dict[str, Any]) -> dict[str, Any]:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in document["results"]]
        for row in rows:
            if row["id"] == "segfaults":  # the interpreter's own dump of the stack holds thread addresses
                row["reasons"] = [row["reasons"][0][:60]]
        return {**document, "results": rows, "stamps": None}

    assert timeless(alone) == timeless(report)


def test_reproduce_gives_the_same_row_again(folder: Path, report: dict[str, Any]) -> None:
    """The command in ``reproduce`` re-runs that row alone to the same result, error level included, into a
    file of its own."""
    row = by_id(report)["third"]
    command = shlex.split(row["reproduce"])
    assert command[:2] == ["dpaudit", "run"]
    assert command[command.index("-k") + 1] == "=third"
    assert command[-2:] == ["--json", "third.json"]
    file = folder / "again.json"
    invoke(*command[1:], "--json", file, "--no-html")
    [again] = [item for item in json.loads(file.read_text())["results"] if item["id"] == "third"]
    assert again | {"seconds": 0} == row | {"seconds": 0}


def test_seed_reaches_the_row_and_nothing_else_does(tmp_path: Path) -> None:
    """Same seed, same numbers, alone or after another row that drew from the same generators; another seed,
    others.
    """
    suite = write_suite(
        tmp_path / "suite.py",
        """
@suite.row("draw", title="draws", kind="utility", claim=CLAIM)
def draw(run):
    text = f"{run.rng().random()} {np.random.random()} {random.random()} {hash('a')}"
    return Outcome([exactly(0, 0.5)], notes=[text])

@suite.row("draw-again", title="draws", kind="utility", claim=CLAIM)
def draw_again(run):
    return draw(run)
""",
    )
    notes = {}
    for name, options in {
        "a": (),
        "b": ("--jobs", 2),
        "c": ("-k", "draw-again"),
        "d": ("--seed", 1),
    }.items():
        report = run(suite, *options)[1]
        notes[name] = {row["id"]: row["notes"] for row in report["results"]}
    assert notes["a"] == notes["b"]
    assert notes["c"]["draw-again"] == notes["a"]["draw-again"]
    assert notes["d"]["draw"] != notes["a"]["draw"]
    assert notes["a"]["draw"] != notes["a"]["draw-again"]
