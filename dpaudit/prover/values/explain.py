"""Format the record of a proof as a readable table of steps and releases."""

from __future__ import annotations

from typing import Any

from dpaudit.kernel.values.check import derived, setting_of
from dpaudit.kernel.values.info import Info
from dpaudit.prover.values.prove import ValuesProof

__all__ = ["explained"]

MAX_ROWS = 200


def explained(proof: ValuesProof) -> str:
    """Return the steps and releases of a proof as text, or the verdict and reason if nothing was recorded."""
    record = proof.record
    if record is None:
        return f"{proof.verdict}: {proof.reason}"
    s = setting_of(record["data"], record["adjacency"], record["view"])
    infos = derived(s, record["nodes"])
    rows = [("step", "line", "operation", "shape", "range", "change L1, L2², L∞")]
    for k, ((op, ids, _), info) in enumerate(zip(record["nodes"], infos, strict=True)):
        if op == "const":
            continue
        line = proof.lines[k] if k < len(proof.lines) else ""
        operands = " ".join(_operand(record["nodes"], j) for j in ids)
        rows.append((f"#{k}", line, f"{op} {operands}".strip(), _shape(info), _range(info), _change(info)))
    if len(rows) > MAX_ROWS:
        rows = [*rows[:MAX_ROWS], ("...", "", f"{len(rows) - MAX_ROWS} more steps", "", "", "")]
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([*lines, *_releases(record)])


def _operand(nodes: list[Any], k: int) -> str:
    op, _, params = nodes[k]
    values = params.get("values", [])
    return values[0] if op == "const" and len(values) == 1 else f"#{k}"


def _shape(info: Info) -> str:
    return (
        "("
        + ", ".join(repr(extent) if not isinstance(extent, int) else str(extent) for extent in info.shape)
        + ")"
    )


def _range(info: Info) -> str:
    return f"[{'-∞' if info.low is None else info.low}, {'∞' if info.high is None else info.high}]"


def _change(info: Info) -> str:
    if not info.private:
        return "public"
    return ", ".join(
        "∞" if bound is None else repr(bound) for bound in (info.change1, info.change2, info.change)
    )


def _releases(record: dict[str, Any]) -> list[str]:
    found = []
    for release in record["releases"]:
        noise = "" if release.get("draw") is None else f" with draw {release['draw']}"
        scale = f" times #{release['by']}" if "by" in release else ""
        given = f" after the test of #{release['given']['test']['node']}" if "given" in release else ""
        found.append(f"release of #{release['node']}: {release['law']}{noise}{scale}{given}")
    return found
