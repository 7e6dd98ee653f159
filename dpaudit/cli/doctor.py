"""Provide ``dpaudit doctor``: what is installed here, what the machine offers, and what a run would use."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path
from time import monotonic

import click
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dpaudit import __version__
from dpaudit.cli.configuration import Configuration, find_configuration
from dpaudit.cli.console import make_console
from dpaudit.core.errors import InvalidParameterError, code_of
from dpaudit.core.processes.own_fork import OwnFork, can_fork_itself
from dpaudit.report.terminal import one_line
from dpaudit.run.process import available_cpus
from dpaudit.run.targets import PAPERS, default_paths, find_suites

__all__ = ["doctor_command"]

BROKEN = 1

#: Modules with compiled code on which every audit depends. A wrong build of them fails at its import.
COMPILED = ("numpy", "scipy", "flint")

#: Files with the memory limit of a container in bytes: control groups version 2 and 1.
CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

#: The time in seconds for a fork to answer.
FORK_SECONDS = 1.0


@dataclass(frozen=True)
class _Line:
    """One line of the answer: what was looked at, what was found, and whether dpaudit works with it."""

    about: str
    found: str
    works: bool = True

    def __str__(self) -> str:
        return f"{self.about}: {'' if self.works else 'BROKEN: '}{self.found}"


@click.command("doctor")
def doctor_command() -> None:
    """Print what is installed here, what the machine offers, and what dpaudit run would use.

    Exit code 0: nothing that dpaudit needs is broken. 1: a line says BROKEN, such as for a package that is
    missing or too old, or a configuration that dpaudit run would refuse.
    """
    console = make_console()
    lines = [*_packages(), *_machine(), *_project()]
    for line in lines:
        console.print(one_line(line), soft_wrap=True)
    broken = sum(not line.works for line in lines)
    console.print(f"{broken} broken" if broken else "Nothing that dpaudit needs is broken.")
    sys.exit(BROKEN if broken else 0)


def _packages() -> Iterator[_Line]:
    yield _Line("dpaudit", f"{__version__} in {Path(__file__).parents[1]}")
    try:
        found = distribution("dpaudit")
    except PackageNotFoundError:
        yield _Line("packages", "not checked, because this dpaudit is not installed as a package")
        return
    yield _python(found.metadata["Requires-Python"])
    needed = [Requirement(text) for text in found.requires or ()]
    yield from (_dependency(item) for item in needed if _applies(item))
    yield from (_compiled(name) for name in COMPILED if not _imports(name))
    yield from _extras(found, needed)


def _python(wanted: str) -> _Line:
    here = platform.python_version()
    return _Line(
        "Python", f"{here} ({wanted} is needed)", SpecifierSet(wanted).contains(here, prereleases=True)
    )


def _applies(item: Requirement, extra: str = "") -> bool:
    """Return whether this system needs a package, with an extra or without any."""
    return item.marker is None or item.marker.evaluate({"extra": extra})


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _satisfied(item: Requirement) -> bool:
    here = _installed(item.name)
    return here is not None and item.specifier.contains(here, prereleases=True)


def _dependency(item: Requirement) -> _Line:
    here = _installed(item.name) or "not installed"
    if _satisfied(item):
        return _Line(item.name, here)
    return _Line(item.name, f"{here}. Use: pip install '{item.name}{item.specifier}'", works=False)


def _imports(name: str) -> bool:
    try:
        import_module(name)
    except Exception:  # a wrong build may raise anything
        return False
    return True


def _compiled(name: str) -> _Line:
    return _Line(name, "it cannot be imported. Install it again", works=False)


def _extras(found: Distribution, needed: Iterable[Requirement]) -> Iterator[_Line]:
    """Yield what is missing of each optional extra, which is never broken."""
    for extra in found.metadata.get_all("Provides-Extra") or ():
        own = [item for item in needed if not _applies(item) and _applies(item, extra)]
        missing = sorted(item.name for item in own if not _satisfied(item))
        text = (
            f"missing {', '.join(missing)}. Use: pip install 'dpaudit[{extra}]'" if missing else "installed"
        )
        yield _Line(f"extra {extra}", text)


def _machine() -> Iterator[_Line]:
    yield _Line("system", f"{platform.system()} {platform.machine()}")
    yield _Line("processors", str(available_cpus()))
    limit = _memory_limit()
    yield _Line("memory limit", "unknown" if limit is None else f"{limit / 2**30:.1f} GiB")
    yield _Line("fork", "works" if _fork_works() else "does not work: workers start anew, which is slower")


def _fork_works() -> bool:
    if not can_fork_itself():
        return False
    try:
        fork = OwnFork(os.getpid)
    except OSError:  # such as a limit on processes
        return False
    try:
        return fork.read(monotonic() + FORK_SECONDS) not in (None, os.getpid())
    finally:
        fork.end()


def _memory_limit() -> int | None:
    """Return the smallest known limit in bytes: of the machine, of the container, and of this process."""
    return min([*_memory_of_machine(), *_memory_of_container(), *_memory_of_process()], default=None)


def _memory_of_machine() -> Iterator[int]:
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", ()):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _memory_of_container() -> Iterator[int]:
    for name in CGROUP_FILES:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():  # not the word max
            yield int(text)


def _memory_of_process() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield limit


def _project() -> Iterator[_Line]:
    """Yield the configuration and the suites that ``dpaudit run`` would use in the current folder."""
    try:
        configuration = find_configuration(Path.cwd())
    except InvalidParameterError as error:
        yield _refused("configuration", error)
        return
    yield _Line("configuration", str(configuration or "none"))
    try:
        yield _Line("suites", _suites(configuration))
    except InvalidParameterError as error:
        yield _refused("suites", error)


def _suites(configuration: Configuration | None) -> str:
    paths = (configuration.defaults.get("paths") if configuration else None) or default_paths()
    suites = [suite.label for suite in find_suites(paths) if suite.kind != "part"]
    text = f"{len(suites)} in {', '.join(paths)}"
    if configuration is None and paths == [PAPERS]:
        return f"none here, so dpaudit run takes the {text}. dpaudit init writes a first one"
    return text


def _refused(about: str, error: InvalidParameterError) -> _Line:
    return _Line(about, f"[{code_of(error)}] {error}", works=False)
