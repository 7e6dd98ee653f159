"""Every suite, group and row of a folder is served, or the command says that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpaudit.run import targets
from tests.cli.suites import HEAD, VERIFIED, by_id, invoke, run, write_suite

MAKE = "from dpaudit.core.suite import Group, Row, Suite\n"
ROWS = HEAD.replace('suite = Suite(paper="tiny"', 'claims = Suite(paper="tiny"') + VERIFIED.replace(
    "@suite", "@claims"
)
BASE = VERIFIED.replace("fine", "base")

#: How the file ``suite.py`` gets the suite that another file, or the file itself, has made.
BINDINGS = {
    "import": "from parts.made import claims as suite",
    "import of the name": "from parts.named import suite",
    "star": "from parts.named import *",
    "if": "from parts.made import claims\nif True:\n    suite = claims",
    "try": "from parts.made import claims\ntry:\n    suite = claims\nfinally:\n    pass",
    "tuple": "from parts.made import claims\nsuite, other = claims, 1",
    "walrus": "from parts.made import claims\nprint(suite := claims)",
    "loop": "from parts.made import claims\nfor suite in [claims]:\n    pass",
    "with": "import contextlib\nfrom parts.made import claims\n"
    "with contextlib.nullcontext(claims) as suite:\n    pass",
    "match": "from parts.made import claims\nmatch claims:\n    case suite:\n        pass",
    "global": "from parts.made import claims\ndef make():\n    global suite\n    suite = claims\nmake()",
    "globals": "from parts.made import claims\nglobals()['suite'] = claims",
    "star target": "from parts.made import claims\n*suite, = [claims]\nsuite, = suite",
}


FORMS = [("audits", name) for name in BINDINGS]
FORMS += [("audits/.hidden", "import"), ("audits/__old__", "import")]


@pytest.mark.parametrize(("folder", "form"), FORMS)
def test_a_suite_is_found_in_whatever_form_its_name_is_bound(tmp_path: Path, folder: str, form: str) -> None:
    """Its row runs and is in the report, once."""
    write_suite(tmp_path / "parts" / "made.py", head=ROWS)
    write_suite(tmp_path / "parts" / "named.py", "from parts.made import claims as suite\n", head="")
    write_suite(tmp_path / folder / "suite.py", head=BINDINGS[form])
    result, report = run(tmp_path / "audits", report=tmp_path / "r.json")
    assert (result.exit_code, list(by_id(report))) == (0, ["fine"]), result.output


LOST = {
    "suite assigned twice": "\nsuite = Suite(paper='late', title='t')\n" + BASE,
    "rows of a suite by another name": "\nlate = Suite(paper='late', title='t')\n"
    + BASE.replace("@suite", "@late"),
    "an empty suite by another name": "\nlate = Suite(paper='late', title='t')\n",
    "a group": "\nfrom dpaudit.core.suite import Group\nlate = Group('late')\n"
    + BASE.replace("@suite", "@late"),
    "rows of a group after it was included": "\nfrom dpaudit.core.suite import Group\nlate = Group('late')\n"
    "suite.include(late)\n" + BASE.replace("@suite", "@late"),
    "a claim of a group": "\nfrom dpaudit.core.suite import Group\n"
    "Group('late').not_checkable('X', reason='none')\n",
    "a row": "\nRow(id='lone', title='t', kind='utility', claim=CLAIM, evaluate=fine)\n",
    "a row that was taken out": BASE + "\nsuite.rows.pop()\n",
}


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
@pytest.mark.parametrize("name", ["audits", "audits/suite.py"])
def test_what_no_suite_holds_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    """Exit code 2, for the folder and for the file alone; the message names the file."""
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED, text)
    result = invoke("run", tmp_path / name, "--json", tmp_path / "r.json", "--no-html", "--jobs", 1)
    assert result.exit_code == 2, result.output
    assert "suite.py" in result.stderr


FORGOTTEN = {
    "a group": MAKE + "rows = Group('late')\nrows.not_checkable('X', reason='none')\n",
    "a suite": HEAD.replace("suite = Suite", "claims = Suite") + BASE.replace("@suite", "@claims"),
    "rows of another file's group": "from audits.shared import CLAIM, rows\n"
    "from dpaudit.core.suite import Outcome\n"
    "@rows.row('late', title='t', kind='utility', claim=CLAIM)\ndef late(run):\n    return Outcome([])\n",
}


@pytest.mark.parametrize("text", FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_file_that_no_suite_imports_may_declare_nothing(tmp_path: Path, text: str) -> None:
    """The suite beside it runs, the file is named, and the exit code is 2."""
    shared = HEAD + "\nfrom dpaudit.core.suite import Group\nrows = Group('shared')\n"
    write_suite(tmp_path / "audits" / "shared.py", head=shared.replace("\nsuite = Suite", "\n_ = dict"))
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED, "\nfrom audits.shared import rows\n")
    write_suite(tmp_path / "audits" / "parts" / "late.py", head=text)
    result, report = run(tmp_path / "audits", report=tmp_path / "r.json")
    assert result.exit_code == 2, result.output
    assert list(by_id(report)) == ["fine"]
    assert [Path(item["suite"]).name for item in report["broken"]] == ["late.py"]


HONEST = {
    "a group in a part": {
        "audits/suite.py": "from audits.rows import rows\nsuite = Suite(paper='tiny', title='t')\n"
        "suite.include(rows)\n",
        "audits/rows.py": HEAD.replace("suite = Suite(", "_ = dict(")
        + "\nfrom dpaudit.core.suite import Group\n"
        "rows = Group('here')\nnone = Group('empty')\n" + VERIFIED.replace("@suite", "@rows"),
    },
    "a suite made of another": {
        "audits/suite.py": "from audits.made import claims\nsuite = Suite(paper='all', title='t')\n"
        "suite.include(claims)\n",
        "audits/made.py": ROWS,
    },
    "parts that add to a common suite": {
        "audits/common.py": HEAD,
        "audits/one.py": "from audits.common import *\nfrom audits.common import suite\n" + VERIFIED,
    },
    "a part that the suite imports last": {
        "audits/suite.py": HEAD + "\nimport audits.more\n",
        "audits/more.py": "from audits.suite import *\nfrom audits.suite import suite\n" + VERIFIED,
    },
    "a door and a helper": {
        "audits/__init__.py": "from audits.suite import suite\n",
        "audits/suite.py": HEAD + VERIFIED,
        "audits/helper.py": "def make(suite):\n    return Suite(paper='p', title='t')\n",
    },
    "two suites, one that imports the other": {
        "audits/suite.py": HEAD + VERIFIED,
        "audits/two.py": HEAD.replace("tiny", "two") + "\nimport audits.suite\n" + BASE,
    },
    "a suite of a function": {
        "audits/make.py": MAKE + "def make(name):\n    return Suite(paper=name, title='t')\n",
        "audits/suite.py": HEAD + "\nfrom audits.make import make\nsuite.rows\nmade = make('b')\n"
        "made.not_checkable('X', reason='none')\nsuite.include(made)\n" + VERIFIED,
    },
    "an alias": {
        "audits/a.py": "from audits.suite import suite as s\nsuite = s\n",
        "audits/suite.py": HEAD + VERIFIED,
    },
    "a loop of helpers": {
        "audits/suite.py": HEAD + VERIFIED,
        "audits/tool.py": "for suite in range(3):\n    pass\n",
    },
    "a link to a folder": {"elsewhere/suite.py": HEAD + VERIFIED},
}


@pytest.mark.parametrize("files", HONEST.values(), ids=HONEST)
def test_honest_folders_run(tmp_path: Path, files: dict[str, str]) -> None:
    """Whatever holds all that it declares is run, each row once."""
    for name, text in files.items():
        head = text if "Suite(paper=" not in text or text.startswith(("\n", MAKE)) else MAKE + text
        write_suite(tmp_path / name, head=head.replace(MAKE + "\nfrom __future__", "\nfrom __future__"))
    if not (tmp_path / "audits").exists():
        (tmp_path / "audits").mkdir()
        (tmp_path / "audits" / "linked").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "audits" / "up").symlink_to(tmp_path / "audits")
    result, report = run(tmp_path / "audits", report=tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    assert sorted(by_id(report)) == (["base", "fine"] if "audits/two.py" in files else ["fine"])


def test_a_file_alone_may_import_rows_of_its_neighbours(tmp_path: Path) -> None:
    """What a neighbouring suite holds is not lost, and is not run either."""
    write_suite(tmp_path / "audits" / "one.py", VERIFIED)
    second = write_suite(
        tmp_path / "audits" / "two.py", "\nimport audits.one\n", BASE, head=HEAD.replace("tiny", "two")
    )
    result, report = run(second, report=tmp_path / "r.json")
    assert (result.exit_code, list(by_id(report))) == (0, ["base"]), result.output


def test_a_suite_without_rows_and_a_folder_without_suites_are_errors(tmp_path: Path) -> None:
    """Beside a suite that runs: exit code 2, and the report has the suite that runs."""
    write_suite(tmp_path / "audits" / "suite.py", VERIFIED)
    write_suite(tmp_path / "audits" / "empty.py", head=HEAD.replace("tiny", "empty"))
    result, report = run(tmp_path / "audits", report=tmp_path / "r.json")
    assert result.exit_code == 2
    assert [Path(item["suite"]).name for item in report["broken"]] == ["empty.py"]
    (tmp_path / "audits" / "empty.py").unlink()
    write_suite(tmp_path / "parts" / "helper.py", head=MAKE)
    assert invoke("run", tmp_path / "audits", tmp_path / "parts", "--no-html").exit_code == 2


def test_the_last_line_says_that_the_papers_were_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a path and a folder audits; not where the papers are named, nor where there is the folder."""
    write_suite(tmp_path / "bundled" / "audits" / "a" / "suite.py", VERIFIED)
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(targets, "bundled_audits", lambda: tmp_path / "bundled" / "audits")
    monkeypatch.chdir(tmp_path / "here")
    for quiet in ((), ("-q",)):
        assert "No folder audits" in invoke("run", "--no-html", *quiet).stdout.splitlines()[-1]
    assert "No folder audits" not in invoke("run", "papers", "--no-html").stdout
    write_suite(tmp_path / "here" / "audits" / "mine.py", VERIFIED)
    assert "No folder audits" not in invoke("run", "--no-html").stdout
