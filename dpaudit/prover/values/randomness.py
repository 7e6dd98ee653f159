"""The generators that a followed program draws from: numpy's, and dpaudit's coins."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit import distributions as distributions
from dpaudit.core.exact import exact as exact_number
from dpaudit.core.harness import installed_folders, is_harness_file
from dpaudit.core.views import PUBLIC, Principal
from dpaudit.kernel.values.elementwise import whole_limit
from dpaudit.kernel.values.expressions import polynomial
from dpaudit.kernel.values.polynomials import Poly, upper_root
from dpaudit.prover.values.numpy_rules import place_of_rule
from dpaudit.prover.values.operations import binary, content, expression_of, is_plain, seen, shape_of, show
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.values import (
    Array,
    Choice,
    Draw,
    Entries,
    Filtered,
    Generator,
    Private,
    Public,
    Symbol,
    Transposed,
    Uniform,
)

__all__ = [
    "DISTRIBUTIONS",
    "GENERATOR",
    "Distribution",
    "call_coins",
    "call_generator",
    "make_distribution",
    "make_selection",
]

#: Distributions of dpaudit that a program may name, the parameter that is the scale, and what they are called
#: here.
DISTRIBUTIONS: dict[Any, str] = {
    distributions.Laplace: "laplace",
    distributions.Gaussian: "gaussian",
    distributions.DiscreteLaplace: "discrete-laplace",
    distributions.Exponential: "exponential",
    distributions.Gumbel: "gumbel",
    distributions.Bernoulli: "bernoulli",
}


def _signature(spec: str) -> inspect.Signature:
    return inspect.signature(eval(f"lambda {spec}: None"))  # a literal of this file


GENERATOR = {
    "laplace": _signature("loc=0.0, scale=1.0, size=None"),
    "normal": _signature("loc=0.0, scale=1.0, size=None"),
    "gumbel": _signature("loc=0.0, scale=1.0, size=None"),
    "exponential": _signature("scale=1.0, size=None"),
    "standard_normal": _signature("size=None"),
    "random": _signature("size=None"),
    "uniform": _signature("low=0.0, high=1.0, size=None"),
    "integers": _signature("low, high=None, size=None"),
    "choice": _signature("a, size=None, replace=True, p=None"),
}
METHODS = {
    "laplace": "laplace",
    "normal": "gaussian",
    "gumbel": "gumbel",
    "exponential": "exponential",
    "standard_normal": "gaussian",
}
_SELECTION = _signature("scores, noise")
COINS = {
    "draw": _signature("distribution, *, site"),
    "release": _signature("value, noise, *, site, to=None"),
    "reveal": _signature("value, *, site, to=None"),
    "observe": _signature("distribution, *, site, to=None"),
}


@dataclass(frozen=True, eq=False)
class Distribution(Symbol):
    """A distribution that a program made, with a scale that may be an outcome."""

    distribution: str
    scale: Any


@dataclass(frozen=True, eq=False)
class Selection(Symbol):
    """The distribution of the place of the largest noisy score, as a program made it."""

    scores: Any
    noise: Distribution


def _require_own(run: Run, distribution: type) -> None:
    """The distribution's methods are dpaudit's or Python's own: a program may have replaced one."""
    folders = ("<", *installed_folders())
    for base in distribution.__mro__:
        for name, value in vars(base).items():
            function = getattr(value, "fget", None) or getattr(value, "func", value)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if code is None:
                continue
            if not (is_harness_file(code.co_filename) or code.co_filename.startswith(folders)):
                run.refuse(f"the method {name} of {distribution.__name__} was replaced")


def make_distribution(
    run: Run, distribution: type, arguments: list[Any], options: dict[str, Any]
) -> Distribution:
    """``Laplace(scale=2)``: what a program gets of dpaudit's distributions."""
    _require_own(run, distribution)
    if arguments or len(options) != 1:
        run.refuse(f"{distribution.__name__} takes one named parameter")
    [(name, value)] = options.items()
    if distribution is distributions.Bernoulli:
        inner = content(value)
        if name != "p" or (isinstance(inner, Symbol) and not isinstance(inner, Private)):
            run.refuse("Bernoulli(p=...) takes a constant or private probability")
        return Distribution(
            "bernoulli", inner if isinstance(inner, Private) else run.plain(exact_number, inner)
        )
    if name not in ("scale", "sigma", "variance") or (name == "scale") == (
        distribution is distributions.Gaussian
    ):
        run.refuse(f"{distribution.__name__} has no parameter {name}")
    inner = content(value)
    if isinstance(inner, Symbol) and not isinstance(inner, Public):
        run.refuse("the scale of noise is private")
    if not isinstance(inner, Symbol):
        number = run.plain(exact_number, inner)
        inner = number if name != "variance" else number / upper_root(number)  # a root from below
        if number <= 0:
            run.refuse("a scale of noise that is not positive")
    elif name == "variance":
        run.refuse("a variance that is an outcome (write sigma=)")
    return Distribution(DISTRIBUTIONS[distribution], inner)


def make_selection(run: Run, arguments: list[Any], options: dict[str, Any]) -> Selection:
    """``NoisyArgmax(scores, noise)``: independent noise for each score, without ties."""
    _require_own(run, distributions.NoisyArgmax)
    try:
        given = _SELECTION.bind(*arguments, **options).arguments
    except TypeError as error:
        run.refuse(f"NoisyArgmax: {error}")
    scores, noise = given["scores"], given["noise"]
    if not isinstance(noise, Distribution) or noise.distribution not in ("laplace", "exponential", "gumbel"):
        run.refuse("NoisyArgmax is followed with Laplace, Exponential or Gumbel noise")
    if isinstance(scores, Array):  # the distribution may hold the array itself, or a copy: it must not change
        scores.shared = True
    return Selection(content(scores), noise)


def _select(run: Run, distribution: Selection) -> Any:
    """Show the place of the largest noisy score: the argmax of scores and a draw for each of them."""
    inner = distribution.scores
    if not isinstance(inner, Private) or inner.info.kind == "b":
        return run.refuse("NoisyArgmax is followed for an array of private numbers")
    shape = inner.shape
    if len(shape) != 1 or type(shape[0]) is not int or (inner.info.records and run.s.length_is_private):
        run.refuse("NoisyArgmax is followed for a vector of a known number of scores")
    limits = [whole_limit(run.s, end) for end in (inner.info.low, inner.info.high)]
    if inner.info.kind == "i" and any(
        limit is None or limit > 2**62 for limit in limits
    ):  # the distribution raises
        run.refuse("NoisyArgmax of whole numbers that may be beyond 2^62")
    scale = distribution.noise.scale
    draw = run.new_draw(
        distribution.noise.distribution,
        ["number", str(scale)] if isinstance(scale, Fraction) else _scale(run, scale),
        shape,
        python=False,
    )
    noisy = binary(run, "add", Array(inner), Array(draw))
    return seen(run, place_of_rule(True)(run, noisy))


def call_generator(
    run: Run, name: str, arguments: list[Any], options: dict[str, Any], *, legacy: bool = False
) -> Any:
    """``rng.laplace(...)`` and the like; ``legacy``: of numpy's own generator."""
    if name not in GENERATOR:
        run.refuse(
            f"rng.{name} is not followed (laplace, normal, exponential, gumbel, random, integers, choice are)"
        )
    try:
        bound = GENERATOR[name].bind(*arguments, **options)
    except TypeError as error:
        run.refuse(f"rng.{name}: {error}")
    given = dict(bound.arguments)
    if run.generator is not None:  # a run on real data
        method = getattr(np.random if legacy else run.generator, name)
        return run.plain(
            method, *[_real(a) for a in arguments], **{key: _real(a) for key, a in options.items()}
        )
    if name in METHODS:
        return _noise(run, METHODS[name], given.get("loc", 0), given.get("scale", 1), given.get("size"))
    if name == "choice":
        return _choice(run, **given)
    if name == "integers":
        return _integers(run, **given)
    if name == "uniform" and (given.get("low", 0), given.get("high", 1)) != (0, 1):
        run.refuse("rng.uniform other than on [0, 1)")
    shape = _shape(run, given.get("size"))
    run.uniforms += 1
    return _array(Uniform(run.uniforms, shape, _uniforms(run, shape)))


def _real(value: Any) -> Any:
    inner = content(value)
    return type(inner)(_real(item) for item in inner) if isinstance(inner, list | tuple) else inner


def _array(value: Any) -> Any:
    return value if value.shape == () else Array(value)


def _uniforms(run: Run, shape: Any) -> list[Any]:
    samples: list[Any] = []
    for side in run.worlds.sides:
        sizes = run.worlds.shape(shape, side)
        repeat = side % 2 and sizes == np.shape(samples[-1])
        samples.append(samples[-1] if repeat else run.rng.random(sizes) if sizes else float(run.rng.random()))
    return samples


def _shape(run: Run, size: Any) -> tuple[Any, ...]:
    """A size as a shape: numbers and the public number of records."""
    inner = content(size)
    if inner is None:
        return ()
    if isinstance(inner, tuple):
        return tuple(extent for one in inner for extent in _shape(run, one))
    if isinstance(inner, Public) and inner.shape == ():
        found = polynomial(run.s, inner.expression)
        if found.symbols <= {"N"}:
            number = found.number
            return (int(number) if number is not None else found,)
        run.refuse("noise of a size that an outcome decides")
    if isinstance(inner, Symbol):
        run.refuse("noise of a private size")
    if type(inner) not in (int, np.int64) or inner < 0:
        run.refuse(f"a size {inner!r}")
    return (int(inner),)


def _scale(run: Run, scale: Any) -> Any:
    inner = content(scale)
    if isinstance(inner, Public) and inner.shape == ():
        return inner.expression
    if isinstance(inner, Symbol | np.ndarray | list | tuple):
        run.refuse("the scale of noise is private, an array, or no number")
    if (
        not isinstance(inner, int | float | Fraction | np.integer | np.floating)
        or not math.isfinite(inner)
        or inner <= 0
    ):
        run.refuse("a scale of noise that is not positive")
    return ["number", str(exact(inner))]


def _noise(run: Run, distribution: str, loc: Any, scale: Any, size: Any) -> Any:
    shape = _shape(run, size)
    inner = content(loc)
    zero = not isinstance(inner, Symbol) and np.ndim(inner) == 0 and inner == 0
    if not zero and size is None:
        if isinstance(inner, Filtered | Transposed):
            run.refuse("noise of a private size")
        known = shape_of(loc)
        if known is None:
            run.refuse("noise around an outcome whose shape is not known")
        shape = known
        if isinstance(inner, Private) and inner.info.records and run.s.length_is_private:
            run.refuse("noise of a private size")
    draw = run.new_draw(distribution, _scale(run, scale), shape, python=size is None and shape == ())
    noise = Array(draw) if shape else draw
    return noise if zero else binary(run, "add", loc, noise)


def _integers(run: Run, low: Any, high: Any = None, size: Any = None) -> Any:
    if not is_plain([low, high]):
        run.refuse("rng.integers with ends that are private or outcomes")
    shape = _shape(run, size)
    start, stop = (0, low) if high is None else (low, high)
    if type(start) is not int or type(stop) is not int or stop <= start:
        run.refuse("rng.integers needs whole numbers low < high")
    run.uniforms += 1
    samples = [
        apply(lambda u: _whole(start + np.floor(u * (stop - start))), u) for u in _uniforms(run, shape)
    ]
    found = Choice(run.uniforms, stop, shape, samples)
    return _array(found) if start == 0 else seen(run, _array(found))


def _whole(value: Any) -> Any:
    array = np.asarray(value).astype(np.int64)
    return array if array.shape else array[()]


def _choice(run: Run, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    inner, chances = content(a), content(p)
    if size is not None:
        return _choices(run, inner, size, replace, p)
    if isinstance(inner, Symbol) or not is_plain(inner):
        run.refuse("rng.choice among private values or outcomes")
    count = (
        inner
        if type(inner) is int
        else len(inner)
        if isinstance(inner, list | tuple | range | np.ndarray)
        else None
    )
    if count is None or count < 1:
        run.refuse("rng.choice of such a collection")
    if isinstance(chances, Private):
        place = _softmax_choice(run, chances, int(count or 0))
    elif isinstance(chances, Symbol):
        run.refuse("rng.choice with probabilities that are outcomes")
    else:
        samples = [
            apply(lambda u: np.int64(u * (count or 1)), float(run.rng.random())) for _ in run.worlds.sides
        ]
        place = run.outcome(shape=(), kind="i", samples=samples, python=False, count=count)
    if type(inner) is int:
        return place
    if not isinstance(inner, np.ndarray):
        inner = np.asarray(inner)
    if inner.dtype.kind not in "bifU" or inner.ndim != 1:
        run.refuse("rng.choice among entries that are no numbers or text")
    samples = [apply(lambda k: inner[k], one) for one in place.samples]
    return Public(
        ["function", "chosen", expression_of(run, inner), place.expression], (), inner.dtype.kind, samples
    )


def _choices(run: Run, inner: Any, size: Any, replace: Any, p: Any) -> Any:
    """Several public choices, by constant chances or by chances that were published."""
    shape = _shape(run, size)
    chances = None if p is None else content(seen(run, p))
    if type(inner) is not int or isinstance(chances, Private) or type(replace) is not bool:
        run.refuse("several choices are followed among a number of places, with public chances")
    samples = [_whole(np.zeros(run.worlds.shape(shape, side))) for side in run.worlds.sides]
    return _array(run.outcome(shape=shape, kind="i", samples=samples, python=False))


def _softmax_choice(run: Run, chances: Private, count: int) -> Public:
    if "softmax" not in chances.info.facts or chances.shape != (count,):
        run.refuse("rng.choice with private probabilities is followed for p = exp(v) / exp(v).sum()")
    release = {"law": "choice", "node": chances.node, "count": 1}
    samples = [apply(lambda one: np.int64(np.argmax(one)), one) for one in chances.samples]
    return run.released(release, chances.info, shape=(), kind="i", samples=samples, python=False, count=count)


def call_coins(run: Run, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    """``coins.draw``, ``coins.release`` and ``coins.reveal``."""
    if name not in COINS:
        run.refuse(f"coins.{name} is not followed (draw, release and reveal are)")
    try:
        bound = COINS[name].bind(*arguments, **options)
    except TypeError as error:
        run.refuse(f"coins.{name}: {error}")
    given = dict(bound.arguments)
    to = given.get("to")
    if to is not None and not (type(to) is Principal and to == PUBLIC):
        run.refuse("a release to somebody else than the public")
    if not isinstance(given["site"], str):
        run.refuse("a site is a text")
    if name == "reveal":
        value = given["value"]
        show(run, value)
        if run.generator is not None:
            run.plain(run.generator.reveal, _real(value), site=given["site"])
        return value
    distribution = given["noise" if name == "release" else "distribution"]
    if isinstance(distribution, Selection) and name == "observe":
        if run.generator is not None:  # a run on real data
            real = distributions.NoisyArgmax(_real(distribution.scores), _distribution_of(distribution.noise))
            return run.plain(run.generator.observe, real, site=given["site"])
        return _select(run, distribution)
    if not isinstance(distribution, Distribution):
        run.refuse("coins take a distribution of dpaudit, such as Laplace(scale=2)")
    if run.generator is not None:  # a run on real data
        value = [_real(given["value"])] if name == "release" else []
        return run.plain(
            getattr(run.generator, name), *value, _distribution_of(distribution), site=given["site"]
        )
    if distribution.distribution == "bernoulli":
        return _coin(run, distribution, name)
    scale = (
        ["number", str(distribution.scale)]
        if isinstance(distribution.scale, Fraction)
        else _scale(run, distribution.scale)
    )
    if name != "release":
        noise = run.new_draw(distribution.distribution, scale, (), python=True)
        return noise if name == "draw" else seen(run, noise)
    value = given["value"]
    inner = content(value)
    if isinstance(inner, Entries):
        value = Array(run.lift(value))
        inner = content(value)
    if isinstance(inner, list | tuple):
        run.refuse("a list is released (write np.array)")
    shape = shape_of(value)
    if (
        shape is None
        or isinstance(inner, Filtered | Transposed)
        or (isinstance(inner, Private) and inner.info.records and run.s.length_is_private)
    ):
        run.refuse("noise of a private size")
    draw = run.new_draw(distribution.distribution, scale, shape or (), python=shape == ())
    noisy = binary(run, "add", value, Array(draw) if shape else draw)
    return seen(run, noisy)


def _coin(run: Run, distribution: Distribution, name: str) -> Any:
    """A coin of dpaudit's coins. A hidden one is counted as seen, which only adds to what is shown."""
    if name == "release":
        run.refuse("a release with the noise of a coin")
    u = [float(run.rng.random()) for _ in run.worlds.sides]
    if not isinstance(distribution.scale, Private):
        samples = [int(one < float(distribution.scale)) for one in u]
        return run.outcome(shape=(), kind="i", samples=samples, python=True, count=2)
    if name == "draw":
        run.refuse("a hidden coin whose probability is private (show it: coins.observe)")
    if distribution.scale.shape != ():
        run.refuse("a Bernoulli distribution with an array of probabilities")
    drawn = [apply(lambda p, v=v: int(v < p), run.sample(distribution.scale, k)) for k, v in enumerate(u)]
    release = {"law": "bernoulli", "node": distribution.scale.node}
    return run.released(
        release, distribution.scale.info, shape=(), kind="i", samples=drawn, python=True, count=2
    )


def _distribution_of(distribution: Distribution) -> Any:
    """The distribution itself, to draw real numbers from."""
    real = next(one for one, name in DISTRIBUTIONS.items() if name == distribution.distribution)
    if real is distributions.Bernoulli:
        return real(p=distribution.scale)
    return (
        real(sigma=distribution.scale) if real is distributions.Gaussian else real(scale=distribution.scale)
    )


def generator_of(run: Run, arguments: list[Any], options: dict[str, Any]) -> Generator:
    """``np.random.default_rng()``: without a seed, a generator that nobody knows."""
    if arguments or options:
        run.refuse("a seeded generator: its noise is known to everybody")
    return Generator()


__all__ += ["Draw", "Poly", "generator_of"]
