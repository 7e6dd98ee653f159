"""The action, the hook, the workflow of ``dpaudit init`` and shell completion do what docs/ci.md says.

The commands of the files run here as they stand, except those that install packages.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpaudit.cli.starter import STARTER
from tests.cli.suites import invoke

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are for bash")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What ``dpaudit init`` writes."""
    assert invoke("init", tmp_path).exit_code == 0
    return tmp_path


def shell(command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a GitHub runner does, with the dpaudit of this environment."""
    scripts = Path(sys.executable).parent
    assert (scripts / "dpaudit").exists()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    environment |= {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PIP_NO_INDEX": "1", **variables}
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def make_false(project: Path) -> None:
    """Half the noise of the suite, so that its claim is not proved."""
    path = project / "audits" / "mine.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("laplace(scale=1)") == 1
    path.write_text(text.replace("laplace(scale=1)", "laplace(scale=0.5)"), encoding="utf-8")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def run_action(project: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    install, run, keep = action()["runs"]["steps"]
    assert install["run"] == 'python -m pip install "$GITHUB_ACTION_PATH"'
    assert run["env"] == {"ARGUMENTS": "${{ inputs.arguments }}"}
    assert (keep["if"], keep["with"]["path"]) == ("always()", "dpaudit-report.*")
    assert run["shell"] == install["shell"] == "bash"
    return shell(run["run"], project, ARGUMENTS=arguments)


@needs_bash
def test_the_action_passes_and_fails(project: Path) -> None:
    """It exits as ``dpaudit run`` does and leaves the report that its last step keeps."""
    arguments = action()["inputs"]["arguments"]["default"]
    done = run_action(project, arguments)
    assert done.returncode == 0, done.stderr
    assert "1 row came out as expected" in done.stdout
    assert (project / "dpaudit-report.json").is_file()
    make_false(project)
    assert run_action(project, arguments).returncode == 1


@needs_bash
def test_the_action_without_suites_does_not_pass(tmp_path: Path) -> None:
    """It does not run the audits that ship with dpaudit instead."""
    done = run_action(tmp_path, action()["inputs"]["arguments"]["default"])
    assert done.returncode == 2
    assert "error [E-" in done.stderr


@needs_bash
def test_the_arguments_of_the_action_are_no_commands(project: Path) -> None:
    """Words are passed on, and neither a command nor a pattern in them is run."""
    done = run_action(project, "audits -q --no-html $(touch${IFS}x) ;touch x *")
    assert done.returncode == 2
    assert not (project / "x").exists()
    assert run_action(project, "audits -q --no-html").returncode == 0
    assert not (project / "dpaudit-report.html").exists()


@needs_bash
def test_the_hook_passes_and_fails(project: Path) -> None:
    """Its command runs in the folder of the repository, without file names."""
    described = hook()
    assert (described["language"], described["pass_filenames"]) == ("python", False)
    command = shlex.join([*shlex.split(described["entry"]), *described["args"]])
    done = shell(command, project)
    assert done.returncode == 0, done.stderr
    assert "1 row came out as expected" in done.stdout
    make_false(project)
    assert shell(command, project).returncode == 1
    shutil.rmtree(project / "audits")
    assert shell(command, project).returncode == 2


@needs_bash
def test_the_workflow_that_init_writes_passes_and_fails(project: Path) -> None:
    """Its last command runs here. test_init_command.py runs the test, and the first one installs packages."""
    path = next(name for name in STARTER if name.endswith(".yml"))
    steps = yaml.safe_load((project / path).read_text(encoding="utf-8"))["jobs"]["privacy"]["steps"]
    install, *commands = [step["run"] for step in steps if "run" in step]
    assert install == "python -m pip install dpaudit pytest"
    assert commands == ["python -m pytest tests/test_privacy.py", "dpaudit run audits"]
    assert shell(commands[1], project).returncode == 0
    make_false(project)
    assert shell(commands[1], project).returncode == 1


def test_the_examples_of_the_page_name_what_is_there() -> None:
    """Its workflow uses the action with inputs that exist, and its configuration the hook by its id."""
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    workflow, hooks = (yaml.safe_load(part.split("```")[0]) for part in page.split("```yaml\n")[1:])
    (step,) = [
        step for step in workflow["jobs"]["privacy"]["steps"] if "with" in step and "dpaudit" in step["uses"]
    ]
    assert set(step["with"]) <= set(action()["inputs"])
    assert [item["id"] for item in hooks["repos"][0]["hooks"]] == [hook()["id"]]


@needs_bash
@pytest.mark.parametrize(
    ("words", "count", "expected"),
    [
        ("dpaudit do", 1, ["plain,doctor"]),
        ("dpaudit run --no", 2, ["plain,--no-config", "plain,--no-html"]),
        ("dpaudit run --require ", 3, ["plain,proved"]),
        ("dpaudit run aud", 2, ["file,aud"]),
        ("dpaudit run pap", 2, ["plain,papers", "file,pap"]),
    ],
)
def test_bash_completes_commands_options_values_and_paths(
    tmp_path: Path, words: str, count: int, expected: list[str]
) -> None:
    """As the script asks that ``_DPAUDIT_COMPLETE=bash_source dpaudit`` prints."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(count), "_DPAUDIT_COMPLETE": "bash_complete"}
    done = shell("dpaudit", tmp_path, **asked)
    assert done.stdout.split() == expected


@needs_bash
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_page_names_the_line_for_each_shell(tmp_path: Path, name: str) -> None:
    """The command in it prints a script that the shell accepts, if the shell is here."""
    command = f"_DPAUDIT_COMPLETE={name}_source dpaudit"
    assert command in (DOCS / "ci.md").read_text(encoding="utf-8")
    done = shell(command, tmp_path)
    assert done.returncode == 0
    assert f"_DPAUDIT_COMPLETE={name}_complete" in done.stdout
    if shutil.which(name):
        checked = subprocess.run([name, "-n"], input=done.stdout, text=True, capture_output=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
