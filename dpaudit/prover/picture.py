"""Draw a proof at one size as text: the tree of decisions, with the shift of the noise at each leaf.

The picture is made from the certificate alone, so that it shows what is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

__all__ = ["path_tree"]


def path_tree(certificate: Mapping[str, Any]) -> str:
    """Return the tree of a certificate of ``program_t0`` as text, one line per node.

    A leaf has the shift of the noise for its most expensive change of the data, and the cost.
    """
    return "\n".join(_Picture(certificate).lines(0, "", _Trail())) + "\n"


@dataclass(frozen=True)
class _Trail:
    """The scales of the draws so far, and the released forms with their scales."""

    draws: tuple[Fraction, ...] = ()
    releases: tuple[tuple[Mapping[str, str], Fraction], ...] = ()

    def cost(self, change: str, moved: Sequence[str]) -> Fraction:
        """Return the cost if the data change by ``change`` and the draws by ``moved``."""
        steps = {f"x{i}": Fraction(step) for i, step in enumerate(change.split(","))}
        steps |= {f"n{i}": Fraction(step) for i, step in enumerate(moved)}
        hidden = sum((abs(Fraction(s)) / b for s, b in zip(moved, self.draws, strict=True)), Fraction(0))
        shown = (
            abs(sum((Fraction(v) * steps.get(name, 0) for name, v in form.items() if name), Fraction(0))) / b
            for form, b in self.releases
        )
        return hidden + sum(shown, Fraction(0))


class _Picture:
    def __init__(self, certificate: Mapping[str, Any]) -> None:
        self.tree: Sequence[Any] = certificate["tree"]
        self.cells = {path: cell for cell in certificate["cells"] for path in cell["paths"]}
        self.paths = 0

    def lines(self, place: int, margin: str, trail: _Trail) -> Iterator[str]:
        """Yield the node at ``place`` and all nodes below it. ``trail`` has the draws and releases above."""
        kind, *rest = self.tree[place]
        if kind == "end":
            self.paths += 1
            yield f"{margin}{self._moved(self.paths - 1, trail)}"
        elif kind == "draw":
            distribution, scale, below = rest
            yield f"{margin}draw n{len(trail.draws)}: {distribution}, scale {scale}"
            further = replace(trail, draws=(*trail.draws, Fraction(scale)))
            yield from self.lines(below, margin, further)
        elif kind == "compare":
            form, strict, *answers = rest
            yield f"{margin}{form_text(form)} {'<' if strict else '<='} 0?"
            yield from self._answers(["yes", "no"], answers, margin, trail)
        elif kind == "release":
            form, distribution, scale, below = rest
            yield f"{margin}release {form_text(form)} + {distribution}, scale {scale}"
            further = replace(trail, releases=(*trail.releases, (form, Fraction(scale))))
            yield from self.lines(below, margin, further)
        elif kind in ("show", "form"):
            what, below = rest
            yield f"{margin}show {_shown(what)}"
            yield from self.lines(below, margin, trail)
        else:  # a question about public values or a finite draw, whose answers are listed in order
            what, answers = rest[0], rest[-1]
            yield f"{margin}{kind} {_shown(what)}"
            below = answers if isinstance(answers, list) else [answers]
            yield from self._answers([str(i) for i in range(len(below))], below, margin, trail)

    def _answers(
        self, names: Sequence[str], answers: Sequence[Any], margin: str, trail: _Trail
    ) -> Iterator[str]:
        for i, (name, below) in enumerate(zip(names, answers, strict=True)):
            last = i == len(answers) - 1
            yield f"{margin}{'└' if last else '├'}─ {name}:"
            inner = margin + ("   " if last else "│  ")
            if isinstance(below, int):
                yield from self.lines(below, inner, trail)
            else:
                yield f"{inner}impossible, by {len(below)} multipliers"

    def _moved(self, path: int, trail: _Trail) -> str:
        shifts = self.cells[path].get("shifts")
        if shifts is None:
            return "end: change of variables, a shown number is solved for one draw"
        costs = {change: trail.cost(change, moved) for change, moved in shifts.items()}
        change = max(costs, key=lambda key: costs[key])
        moved = ", ".join(f"n{i} by {shift}" for i, shift in enumerate(shifts[change]))
        kept = f"shifting {moved} keeps this path and" if moved else "this"
        return f"end: data change by ({change.replace(',', ', ')}): {kept} costs {costs[change]}"


def form_text(form: Mapping[str, str]) -> str:
    """Return a linear form as readable text, such as ``n0 - n1 - x0 + 2``."""
    text = ""
    for name, value in form.items():
        number = Fraction(value)
        size = "" if abs(number) == 1 and name else str(abs(number))
        text += f" {'-' if number < 0 else '+'} {size}{' ' if size and name else ''}{name}"
    return text.removeprefix(" + ").lstrip() if text else "0"


def _shown(part: Any) -> str:
    if isinstance(part, Mapping):
        return form_text(part)
    return str(part).partition(":")[2] or str(part)
