"""Make the pages of the site that come from other files: the README, the kernel's proofs, the reference.

`mkdocs build` calls ``on_files`` and ``on_page_markdown`` (`mkdocs.yml`, hooks).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]

#: Page of the site and the file that it is made from.
ELSEWHERE = {
    "index.md": "README.md",
    "proofs.md": "dpaudit/kernel/proofs.md",
    "contributing.md": "CONTRIBUTING.md",
}

#: Pages of the reference: the public name of a module, where it is, and what it is for.
REFERENCE = {
    "dpaudit": ("dpaudit", "The functions and classes that most users need"),
    "dpaudit.claims": ("dpaudit.core.claims", "Everything that can be claimed"),
    "dpaudit.views": ("dpaudit.core.views", "Who sees what"),
    "dpaudit.distributions": ("dpaudit.distributions", "What a program draws"),
    "dpaudit.coins": ("dpaudit.coins", "How a program draws, and what became of its draws"),
    "dpaudit.mechanisms": ("dpaudit.certify.build", "Constructors of certificates"),
    "dpaudit.suite": ("dpaudit.suite", "Rows, groups and audits of programs"),
    "dpaudit.suite.regret": ("dpaudit.suite.regret", "Simulated regret"),
    "dpaudit.replay": ("dpaudit.replay", "Inputs of the audit of a program"),
    "dpaudit.prover": ("dpaudit.prover", "Proofs of plain programs"),
    "dpaudit.blackbox": ("dpaudit.blackbox", "Inputs and results of `check`"),
    "dpaudit.adapters": ("dpaudit.blackbox.adapters", "Objects of other libraries"),
    "dpaudit.errors": ("dpaudit.core.errors", "Errors"),
}


def page_of(module: str) -> str:
    """Return the file name of a module's page."""
    return f"reference/{module.removeprefix('dpaudit.') if module != 'dpaudit' else 'top'}.md"


def reference(public: str) -> str:
    """Return the page of one module: each name of its ``__all__``, under the name by which it is imported."""
    where, title = REFERENCE[public]
    module = import_module(where)
    lines = [f"# {title}", f"`from {public} import ...`" if "." in public else "`import dpaudit`"]
    for name in sorted(module.__all__, key=str.lower):
        options = "    options:\n      show_root_heading: false\n      heading_level: 3"
        lines += [f"## `{public}.{name}`", f"::: {home(module, name)}\n{options}"]
    return "\n\n".join(lines) + "\n"


def home(module: ModuleType, name: str) -> str:
    """Return the dotted name of the place where a name of a module is defined."""
    value = getattr(module, name)
    if isinstance(value, ModuleType):
        return value.__name__
    where = str(getattr(value, "__module__", ""))
    if where.startswith("dpaudit.") and hasattr(value, "__qualname__"):
        return f"{where}.{getattr(value, '__qualname__', name)}"
    return next(places(module, name, value))


def places(module: ModuleType, name: str, value: Any) -> Iterator[str]:
    """Yield the modules that hold a constant under this name, the most deeply nested first."""
    held = (
        found
        for found, other in list(sys.modules.items())
        if found.startswith(module.__name__) and name in getattr(other, "__dict__", {})
    )
    for found in sorted(held, key=lambda text: -text.count(".")):
        if vars(sys.modules[found])[name] is value:
            yield f"{found}.{name}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files of this folder."""
    from mkdocs.structure.files import File

    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for module in REFERENCE:
        files.append(File.generated(config, page_of(module), content=reference(module)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Change links of the repository to links of the site."""
    for page, source in ELSEWHERE.items():
        markdown = markdown.replace(f"](../{source}", f"]({page}").replace(f"]({source}", f"]({page}")
    return markdown.replace("](docs/", "](")
