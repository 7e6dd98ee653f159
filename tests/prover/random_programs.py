"""Generate random small programs as text for the fuzz: nested comparisons, and common shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaudit.distributions import Bernoulli, Categorical, DiscreteLaplace, Exponential, Laplace

__all__ = ["Generated", "generate"]

SCALES = ("1/2", "1", "2", "3", "4", "8")
TEXTS = ('"a"', '"b"', '"c"', "True", "1")


@dataclass(frozen=True)
class Generated:
    """A program as text and as a function, with its data and adjacency."""

    source: str
    size: int
    integers: bool
    one_way: bool
    unit: bool

    def program(self) -> Callable[..., Any]:
        distributions = (Bernoulli, Categorical, DiscreteLaplace, Exponential, Laplace)
        names: dict[str, Any] = {distribution.__name__: distribution for distribution in distributions}
        exec(compile(self.source, "<generated>", "exec"), names)
        made = names["program"]
        assert callable(made)
        return made


class Writer:
    """Lines of one program, made by one random generator."""

    def __init__(self, rng: random.Random, size: int, noise: str) -> None:
        self.rng, self.size, self.noise = rng, size, noise
        self.lines: list[str] = ["def program(coins, data):"]
        self.names: list[str] = []

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def distribution(self) -> str:
        kind = self.noise
        if kind == "Laplace" and self.rng.random() < 0.1:
            kind = "Exponential"
        return f'{kind}(scale="{self.rng.choice(SCALES[:4] if kind == "DiscreteLaplace" else SCALES)}")'

    def draw(self, depth: int) -> str:
        name = f"n{len(self.names)}"
        self.names.append(name)
        self.line(depth, f'{name} = coins.draw({self.distribution()}, site="{name}")')
        return name

    def record(self) -> str:
        factor = self.rng.choice(("", "", "", "", "2 * "))
        return f"{factor}data[{self.rng.randrange(self.size)}]"

    def form(self, *, noisy: float = 0.8) -> str:
        terms = [self.record()] if self.rng.random() < 0.8 else []
        if self.names and (not terms or self.rng.random() < noisy):
            terms.append(self.rng.choice(self.names))
        if self.rng.random() < 0.2:
            terms.append(self.record())
        if not terms or self.rng.random() < 0.2:
            terms.append(str(self.rng.randint(-2, 2)))
        signed = [terms[0], *(self.rng.choice((" + ", " - ", " + ")) + term for term in terms[1:])]
        return "".join(signed)

    def condition(self) -> str:
        right = self.rng.choice(("0", "1", "-1", *self.names, self.form()))
        return f"{self.form()} {self.rng.choice(('<', '<=', '>', '>='))} {right}"

    def show(self, depth: int, text: str) -> None:
        self.line(depth, f'coins.reveal({text}, site="shown")')

    def release(self, depth: int) -> None:
        distribution = "DiscreteLaplace" if self.noise == "DiscreteLaplace" else "Laplace"
        scale = self.rng.choice(SCALES[:4])
        self.line(
            depth, f'coins.release({self.form(noisy=0.2)}, {distribution}(scale="{scale}"), site="released")'
        )

    def block(self, depth: int, left: int) -> int:
        """Write statements at a depth with at most ``left`` comparisons. Return the number that remain."""
        for _ in range(self.rng.randint(1, 2)):
            kind = self.rng.random()
            if kind < 0.55 and left > 0 and depth < 5:
                self.line(depth, f"if {self.condition()}:")
                left = self.block(depth + 1, left - 1)
                if self.rng.random() < 0.7:
                    self.line(depth, "else:")
                    left = self.block(depth + 1, left)
            elif kind < 0.75:
                self.show(depth, self.rng.choice(TEXTS))
            elif kind < 0.83:
                self.release(depth)
            elif kind < 0.88 and self.names:
                self.show(depth, self.form(noisy=1) + f" + 0 * {self.names[0]}")
            elif kind < 0.94 and len(self.names) < 3:
                self.draw(depth)
                if depth > 1:
                    self.names.pop()  # not drawn on other paths
            else:
                self.show(depth, '"d"')
                self.line(depth, "return")
                break
        return left


def tree(writer: Writer) -> None:
    """Write nested comparisons of random forms."""
    rng = writer.rng
    for _ in range(rng.randint(1, 3)):
        writer.draw(1)
    if rng.random() < 0.15:
        writer.line(1, 'coin = coins.draw(Bernoulli(p="1/4"), site="coin")')
        writer.line(1, "if coin == 1:")
        writer.block(2, 1)
    writer.block(1, 3)
    writer.show(1, '"end"')


def sparse_vector(writer: Writer) -> None:
    """Write sparse vector or a wrong variant: scales, cut-off, gaps, redrawn thresholds."""
    rng = writer.rng
    distribution = writer.noise
    threshold, query = rng.choice(SCALES[1:5]), rng.choice(SCALES[1:])
    cut = rng.choice((1, 1, 1, 2))
    writer.line(1, f'T = coins.draw({distribution}(scale="{threshold}"), site="T")')
    writer.line(1, "count = 0")
    writer.line(1, "for x in data:")
    noise = "" if rng.random() < 0.1 else f' + coins.draw({distribution}(scale="{query}"), site="q")'
    writer.line(2, f"v = {rng.choice(('x', 'x', 'x', '2 * x', '-x'))}{noise}")
    writer.line(2, f"if v {rng.choice(('>=', '>', '<'))} T:")
    how = rng.random()
    if how < 0.2 and distribution == "Laplace":
        writer.show(3, rng.choice(("v", "v - T", "v - T")))
    elif how < 0.4:
        writer.line(3, f'coins.release(x, {distribution}(scale="{rng.choice(SCALES[:4])}"), site="r")')
    else:
        writer.show(3, "True")
    writer.line(3, "count += 1")
    writer.line(3, f"if count >= {cut}:")
    writer.line(4, "return")
    if cut > 1 and rng.random() < 0.5:
        writer.line(3, f'T = coins.draw({distribution}(scale="{threshold}"), site="T")')
    writer.line(2, "else:")
    writer.show(3, "False")


def noisy_maximum(writer: Writer) -> None:
    """Write the position of the noisy maximum, with ties, gaps and other distributions."""
    rng = writer.rng
    distribution = (
        rng.choice((writer.noise, writer.noise, "Exponential")) if writer.noise == "Laplace" else writer.noise
    )
    writer.line(1, "best = None")
    writer.line(1, "winner = 0")
    writer.line(1, "for i in range(len(data)):")
    writer.line(2, f'v = data[i] + coins.draw({distribution}(scale="{rng.choice(SCALES[:5])}"), site="n")')
    writer.line(2, f"if best is None or v {rng.choice(('>', '>='))} best:")
    writer.line(3, "best = v")
    writer.line(3, "winner = i")
    writer.show(1, "winner")
    if rng.random() < 0.2:
        writer.show(1, rng.choice(("best", "best > 0", '"done"')))


def sums(writer: Writer) -> None:
    """Write prefix sums, released or compared with fresh noise."""
    rng = writer.rng
    distribution = writer.noise
    writer.line(1, "s = 0")
    writer.line(1, "for x in data:")
    writer.line(2, f"s = {rng.choice(('s + x', 's + x', 'x', 's - x'))}")
    if rng.random() < 0.5:
        writer.line(2, f'coins.release(s, {distribution}(scale="{rng.choice(SCALES)}"), site="r")')
    else:
        drawn = f'coins.draw({distribution}(scale="{rng.choice(SCALES)}"), site="n")'
        writer.line(2, f"if s + {drawn} > {rng.randint(-1, 2)}:")
        writer.show(3, '"over"')
        writer.line(3, rng.choice(("return", "s = 0")))
    writer.show(1, '"end"')


def clamped(writer: Writer) -> None:
    """Write branches on data alone, then noise."""
    rng = writer.rng
    low, high = sorted(rng.sample(range(-2, 4), 2))
    writer.line(1, f"x = {writer.record()}")
    writer.line(1, f"if x < {low}:")
    writer.line(2, f"x = {rng.choice((low, low, high))}")
    writer.line(1, f"elif x > {high}:")
    writer.line(2, f"x = {rng.choice((high, high, low))}")
    if rng.random() < 0.5:
        writer.line(1, f'coins.release(x, {writer.noise}(scale="{rng.choice(SCALES[:4])}"), site="r")')
    else:
        writer.line(1, f"n = coins.draw({writer.distribution()}, site='n')")
        writer.show(1, f"x + n {rng.choice(('>', '<='))} 0")


def hidden_coins(writer: Writer) -> None:
    """Write a hidden coin, finite or by noise, that chooses between two mechanisms."""
    rng = writer.rng
    if rng.random() < 0.5:
        writer.line(1, f'coin = coins.draw(Bernoulli(p="{rng.choice(("1/2", "1/4"))}"), site="coin") == 1')
    else:
        writer.line(1, f"coin = coins.draw({writer.distribution()}, site='coin') {rng.choice(('>', '>='))} 0")
    one, two = rng.choice(SCALES[:5]), rng.choice(SCALES[:5])
    forms = [writer.record(), writer.record()]
    how = rng.random()
    for form, scale, word in zip(forms, (one, two), ("if coin:", "else:"), strict=True):
        writer.line(1, word)
        if how < 0.4:
            writer.line(2, f'coins.release({form}, {writer.noise}(scale="{scale}"), site="r")')
        elif how < 0.7:
            writer.show(2, f'{form} + coins.draw({writer.noise}(scale="{scale}"), site="n") > 0')
        else:
            writer.show(2, f'{form} + coins.draw({writer.noise}(scale="{scale}"), site="n")')


SHAPES = (tree, tree, tree, sparse_vector, sparse_vector, noisy_maximum, sums, clamped, hidden_coins)


def generate(seed: int) -> Generated:
    """Return program number ``seed``."""
    rng = random.Random(seed)
    integers = rng.random() < 0.2
    size = rng.randint(1, 2 if integers else 3)
    writer = Writer(rng, size, "DiscreteLaplace" if integers else "Laplace")
    rng.choice(SHAPES)(writer)
    unit = rng.random() < 0.15
    return Generated("\n".join(writer.lines) + "\n", size, integers, not unit and rng.random() < 0.25, unit)
