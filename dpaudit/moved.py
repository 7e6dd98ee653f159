"""Import modules by their public names, and by their former names with a warning.

Before its present rooms (docs/map.md) the package had 22 folders and 14 single files. Their names work for
one release, and the warning gives the new name.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

__all__ = ["install", "new_name"]

_ROOMS = {
    "laws": "distributions",
    "private_values": "prover.values",
    "processes": "core.processes",
    "proofs": "certify",
    "recorder": "blackbox.recorded",
    "regret": "suite.regret",
    "replays": "replay",
    "report_file": "report.file",
    "reports": "report",
    "rows": "suite",
    "runner": "run",
    "statistics": "blackbox.statistics",
    "witnesses": "certify.witnesses",
    **{
        name: f"core.{name}"
        for name in (
            *(
                "conversions",
                "data",
                "estimates",
                "exact",
                "exact_functions",
                "harness",
                "neighbours",
                "pairs",
            ),
            *("plots", "raised", "rounding_modes", "row_verdicts", "skeletons", "tables", "verdicts"),
        )
    },
}

#: Modules whose files were renamed as well, by their path after the folders moved.
_FILES = {
    "blackbox.carried": "blackbox.state_leak_test",
    "blackbox.clock": "blackbox.deadline",
    "blackbox.fresh": "blackbox.fork_test",
    "blackbox.heard": "blackbox.recorded_draws",
    "blackbox.recorded.chosen": "blackbox.recorded.choices",
    "blackbox.recorded.ears": "blackbox.recorded.rng_proxies",
    "blackbox.recorded.port": "blackbox.recorded.rewrite",
    "blackbox.recorded.price": "blackbox.recorded.cost",
    "blackbox.recorded.tape": "blackbox.recorded.trace",
    "certify.witnesses.program_laws": "certify.witnesses.program_distributions",
    "coins.unseen": "coins.hidden",
    "core.processes.nursery": "core.processes.fork_server",
    "kernel.t2.noise_law": "kernel.t2.noise_distribution",
    "kernel.t2.special_laws": "kernel.t2.special_distributions",
    "prover.endless": "prover.step_limit",
    "prover.shear": "prover.change_of_variables",
    "prover.touches": "prover.affected",
    "replay.channel_prices": "replay.channel_costs",
    "replay.entered": "replay.watch",
    "replay.enumerated": "replay.enumeration",
    "replay.followed": "replay.aggregate_histories",
    "replay.gathering": "replay.replay_plan",
    "replay.misfits": "replay.certificate_matching",
    "replay.moved_noise": "replay.shifted_noise",
    "replay.together": "replay.combined_histories",
    "replay.witnessing": "replay.witness_search",
    "report.frames": "report.file.report",
    "suite.proved": "suite.program_proofs",
}

#: Public names of modules that are deeper in the package. They stay, without a warning.
_PUBLIC = {
    "adapters": "blackbox.adapters",
    "claims": "core.claims",
    "errors": "core.errors",
    "mechanisms": "certify.build",
    "views": "core.views",
}
_PLACES = {**_ROOMS, **_PUBLIC}


def install() -> None:
    """Add the finder before all others.

    Behind them it would be too late: a former package is the present one, so Python would find a file of that
    package by itself and load it a second time.
    """
    if not any(isinstance(finder, _OtherNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OtherNames())


def new_name(name: str) -> str | None:
    """Return the place of a module that has another name, or None."""
    package, _, path = name.partition(".")
    if package != "dpaudit" or not path:
        return None
    room, dot, inner = path.partition(".")
    moved = f"{_PLACES.get(room, room)}{dot}{inner}"
    moved = _FILES.get(moved, moved)
    return None if moved == path else f"dpaudit.{moved}"


# Without the base classes of `importlib.abc`, which imports modules that a folder on the path may shadow.
class _OtherNames:
    """Find a module of the package by its public or former name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        moved = new_name(fullname)
        return None if moved is None else ModuleSpec(fullname, cast("Any", _Present(moved)))


class _Present:
    """Load the module itself under its other name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name.split(".")[1] not in _PUBLIC:
            text = f"{spec.name} was renamed: import {self.name}. The former name works for one release."
            warnings.warn(text, DeprecationWarning, stacklevel=2)  # `warnings` skips the import system itself
        module = import_module(self.name)
        self.spec = module.__spec__
        return _OtherPackage(spec.name, module) if hasattr(module, "__path__") else module

    def exec_module(self, module: ModuleType) -> None:
        if not isinstance(module, _OtherPackage):
            module.__spec__ = self.spec  # the import system has put the other one in its place


class _OtherPackage(ModuleType):
    """A package under its other name, with the same names in it.

    It is an object of its own, because the import system binds submodules to it: the import of
    the former module ``rows.privacy`` would put it in the place of the decorator ``privacy`` of the suite.
    """

    def __init__(self, name: str, present: ModuleType) -> None:
        super().__init__(name, present.__doc__)
        self.__dict__.update(_present=present, __path__=[])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_present"], name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__") or not hasattr(self.__dict__["_present"], name):
            super().__setattr__(name, value)
