"""The audits of the papers ride along in a wheel; an editable install reads them where they are."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BundledAudits(BuildHookInterface[Any]):
    """Puts ``audits/`` into the package of a standard wheel, as data (docs/design.md, rule 19)."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"]["audits"] = "dpaudit/_bundled/audits"
