"""Pages of the site that are made from other files: the README, the kernel's proofs, the reference.

`mkdocs build` calls these functions (`mkdocs.yml`, hooks).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]

#: Page of the site and the file that it is made from.
ELSEWHERE = {
    "index.md": "README.md",
    "proofs.md": "dpaudit/kernel/proofs.md",
    "contributing.md": "CONTRIBUTING.md",
}

#: The modules of the reference, whose public names are what `__all__` lists.
MODULES = (
    "dpaudit.blackbox.check",
    "dpaudit.blackbox.inputs",
    "dpaudit.blackbox.recorded.record_draws",
    "dpaudit.blackbox.adapters.adapted",
    "dpaudit.blackbox.adapters.opendp_measurements",
    "dpaudit.blackbox.adapters.diffprivlib_objects",
    "dpaudit.blackbox.adapters.google_algorithms",
    "dpaudit.blackbox.adapters.tumult_measurements",
    "dpaudit.blackbox.adapters.accounting_events",
    "dpaudit.prover.prove",
    "dpaudit.prover.data",
    "dpaudit.core.claims.privacy",
    "dpaudit.core.claims.statements",
    "dpaudit.core.views",
    "dpaudit.core.neighbours",
    "dpaudit.coins.base",
    "dpaudit.replay.audit",
    "dpaudit.replay.domains",
    "dpaudit.certify.build",
    "dpaudit.certify.mechanisms",
    "dpaudit.certify.sites",
    "dpaudit.suite",
    "dpaudit.core.suite",
    "dpaudit.core.evidence",
    "dpaudit.suite.regret",
    "dpaudit.report.frames",
    "dpaudit.core.errors",
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of this folder."""
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    reference = "\n\n".join(["# Reference", *(f"::: {module}" for module in MODULES)])
    files.append(File.generated(config, "reference.md", content=reference))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links as they are right in the repository, made right on the site."""
    for page, source in ELSEWHERE.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}").replace(f"]({source}", f"]({page}")
    return markdown.replace("](docs/", "](")
