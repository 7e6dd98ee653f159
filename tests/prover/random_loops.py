"""Generate random loops over data of any length as text: like sparse vector, with memory, redraws,
releases."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from dpaudit.distributions import Bernoulli, Exponential, Laplace

__all__ = ["loop_program", "random_loop"]

SCALES = ("1", "2", "4", "8")


def loop_program(source: str) -> Callable[..., Any]:
    """Return the function ``program`` that a text defines."""
    names: dict[str, Any] = {
        distribution.__name__: distribution for distribution in (Bernoulli, Exponential, Laplace)
    }
    exec(compile(source, "<generated>", "exec"), names)
    made = names["program"]
    assert callable(made)
    return made


def random_loop(rng: random.Random, *, outcomes: float = 0.0) -> str:
    """Return one program with random kept, compared and shown values.

    With the probability ``outcomes``, an outcome enters the threshold, and later outcomes follow. Only proofs
    for every size support that.
    """
    lines = ["def program(coins, data):"]

    def line(depth: int, text: str) -> None:
        lines.append("    " * depth + text)

    def draw(site: str) -> str:
        distribution = "Exponential" if rng.random() < 0.1 else "Laplace"
        return f'coins.draw({distribution}(scale="{rng.choice(SCALES)}"), site="{site}")'

    threshold, memory = rng.random() < 0.8, rng.random() < 0.4
    cut_off, redraws = rng.choice((1, 1, 2, 9)), rng.random() < 0.2
    public = rng.random() < outcomes
    line(1, f"limit = {draw('limit') if threshold else 0}")
    if public:
        line(1, 'seen = coins.release(0, Laplace(scale="1"), site="seen")')
        line(1, f"limit = {rng.choice(('limit + seen', 'seen', 'seen - limit', 'limit - seen / 2'))}")
    line(1, "count = 0")
    line(1, "kept = 0")
    if rng.random() < 0.2:
        line(1, 'if coins.draw(Bernoulli(p="1/2"), site="coin") == 1:')
        line(2, "limit = limit + 1")
    line(1, "for value in data:")
    noisy = rng.choice(("value", "value", "2 * value", "value - kept" if memory else "value"))
    line(2, f"noisy = {noisy} + {draw('query')}" if rng.random() < 0.85 else f"noisy = {noisy}")
    line(2, f"if noisy {rng.choice(('>=', '>', '<'))} limit{rng.choice(('', ' + 1'))}:")
    _show(line, rng, ("True", "'up'", "noisy - limit", "noisy", "count", "RELEASE"))
    line(3, "count += 1")
    if public and rng.random() < 0.5:
        line(
            3, f'seen = coins.release({rng.choice(("0", "value", "noisy"))}, Laplace(scale="4"), site="more")'
        )
        line(3, f"limit = {rng.choice(('limit + seen', 'seen', 'limit'))}")
    if redraws:
        line(3, f"limit = {draw('again')}")
    if cut_off < 9:
        line(3, f"if count == {cut_off}:")
        line(4, "return")
    line(2, "else:")
    _show(line, rng, ("False", "'down'", "0", "False"))
    if memory:
        line(2, f"kept = {rng.choice(('value', 'noisy', 'kept + value', 'value / 2'))}")
    if rng.random() < 0.2:
        line(1, f'coins.release(kept, Laplace(scale="{rng.choice(SCALES)}"), site="kept")')
    return "\n".join(lines) + "\n"


def _show(line: Callable[[int, str], None], rng: random.Random, choices: tuple[str, ...]) -> None:
    what = rng.choice((choices[0], choices[0], *choices))
    if what == "RELEASE":
        line(3, f'coins.release(value, Laplace(scale="{rng.choice(SCALES)}"), site="released")')
    else:
        line(3, f'coins.reveal({what}, site="shown")')
