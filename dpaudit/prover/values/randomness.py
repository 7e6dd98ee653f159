"""Follow draws from numpy generators and from dpaudit's coins."""

from __future__ import annotations

import inspect
import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit import distributions as distributions
from dpaudit.core.exact import dyadic
from dpaudit.core.exact import exact as exact_number
from dpaudit.core.harness import installed_folders, is_harness_file
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.kernel.values.elementwise import whole_limit
from dpaudit.kernel.values.expressions import polynomial
from dpaudit.kernel.values.heavy_tails import degrees_of
from dpaudit.kernel.values.polynomials import upper_root
from dpaudit.kernel.values.tables import MAX_ROWS
from dpaudit.prover.values.amplification import Subsample, subsampled_sum
from dpaudit.prover.values.audiences import audience_of
from dpaudit.prover.values.correlated import correlated_draw
from dpaudit.prover.values.counts import COUNTS, counted
from dpaudit.prover.values.fixed_samples import new_sample
from dpaudit.prover.values.numpy_rules import place_of_rule
from dpaudit.prover.values.operations import (
    LATER,
    add_to_output,
    binary,
    content,
    expression_of,
    is_plain,
    published,
    shape_of,
    symbols_in,
)
from dpaudit.prover.values.run import Run, exact
from dpaudit.prover.values.samples import apply
from dpaudit.prover.values.scaled_noise import scaled_draw
from dpaudit.prover.values.tabulated import Tabulated, tabulated_outcome
from dpaudit.prover.values.values import (
    Array,
    Choice,
    Entries,
    Filtered,
    Generator,
    Joined,
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
    "Moved",
    "bound_call",
    "call_coins",
    "call_generator",
    "distribution_of",
    "generator_of",
    "make_constant",
    "make_distribution",
    "make_family",
    "make_selection",
    "real_argument",
    "released_with",
    "require_own",
    "shifted",
]

#: The distributions of dpaudit that a program may use, and their names in the record.
DISTRIBUTIONS: dict[Any, str] = {
    distributions.Laplace: "laplace",
    distributions.Cauchy: "cauchy",
    distributions.Gaussian: "gaussian",
    distributions.DiscreteLaplace: "discrete-laplace",
    distributions.DiscreteGaussian: "discrete-gaussian",
    distributions.Exponential: "exponential",
    distributions.Gumbel: "gumbel",
    distributions.Bernoulli: "bernoulli",
}

#: Integer noise of which users may hold shares, its name in the record, and other names of its parameters.
FAMILIES: dict[Any, tuple[str, dict[str, str]]] = {
    distributions.PolyaDifference: ("polya-difference", {}),
    distributions.Skellam: ("skellam", {}),
    distributions.Binomial: ("binomial", {"p": "probability"}),
}
#: The same for distributions that have a scale if they are not shared.
SHARED: dict[Any, tuple[str, dict[str, str]]] = {
    **FAMILIES,
    distributions.DiscreteGaussian: ("discrete-gaussian", {"sigma2": "variance"}),
}

#: Noise that may be added to a private value.
ADDITIVE = (
    "laplace", "cauchy", "gaussian", "discrete-laplace", "discrete-gaussian",
    *(name for name, _ in FAMILIES.values())
)  # fmt: skip


def _signature(spec: str) -> inspect.Signature:
    return inspect.signature(
        eval(f"lambda {spec}: None", {"SERVER": SERVER})
    )  # a literal in this file, never user input


GENERATOR = {
    "laplace": _signature("loc=0.0, scale=1.0, size=None"),
    "normal": _signature("loc=0.0, scale=1.0, size=None"),
    "gumbel": _signature("loc=0.0, scale=1.0, size=None"),
    "exponential": _signature("scale=1.0, size=None"),
    "standard_normal": _signature("size=None"),
    "standard_cauchy": _signature("size=None"),
    "standard_t": _signature("df, size=None"),
    "random": _signature("size=None"),
    "uniform": _signature("low=0.0, high=1.0, size=None"),
    "integers": _signature("low, high=None, size=None"),
    "choice": _signature("a, size=None, replace=True, p=None"),
    "permutation": _signature("x, axis=0"),
    "geometric": _signature("p, size=None"),
    "logseries": _signature("p, size=None"),
    "negative_binomial": _signature("n, p, size=None"),
    "binomial": _signature("n, p, size=None"),
    "poisson": _signature("lam=1.0, size=None"),
}
METHODS = {
    "laplace": "laplace",
    "normal": "gaussian",
    "gumbel": "gumbel",
    "exponential": "exponential",
    "standard_normal": "gaussian",
    "standard_cauchy": "cauchy",
}
_SELECTION = _signature("scores, noise")
COINS = {
    "draw": _signature("distribution, *, site"),
    "release": _signature("value, noise, *, site, to=None"),
    "reveal": _signature("value, *, site, to=None"),
    "observe": _signature("distribution, *, site, to=None"),
    "channel": _signature("kernel, *, site, to=None"),
    "aggregate": _signature("distributions, through, *, site, to=SERVER"),
}


@dataclass(frozen=True, eq=False)
class Distribution(Symbol):
    """A distribution that the program constructed, with a scale that may be an outcome.

    ``real`` is the distribution itself, if its parameter is a constant.
    """

    distribution: str
    scale: Any
    real: Any = None

    def equals(self, other: Distribution) -> bool:
        """Return whether both are the same distribution with the same constant parameters."""
        mine, others = self.real, other.real
        return mine is not None and type(mine) is type(others) and mine.parameters() == others.parameters()


@dataclass(frozen=True, eq=False)
class Moved(Symbol):
    """The distribution ``noise.shift(offset)``, as the program constructed it."""

    noise: Distribution
    offset: Any


@dataclass(frozen=True, eq=False)
class Wrapped(Symbol):
    """The distribution of (noise + offset) mod ``modulus``, as the program constructed it."""

    noise: Distribution
    modulus: int
    offset: Any


@dataclass(frozen=True, eq=False)
class Selection(Symbol):
    """The distribution of the position of the largest noisy score, as the program constructed it."""

    scores: Any
    noise: Distribution


def require_own(run: Run, distribution: type, instance: Any = None) -> None:
    """Refuse a distribution or channel of which the program replaced a method."""
    if any(callable(value) for value in getattr(instance, "__dict__", {}).values()):
        run.refuse(f"a method of one {distribution.__name__} was replaced by other code")
    folders = ("<", *installed_folders())
    for base in distribution.__mro__:
        for name, value in vars(base).items():
            function = getattr(value, "fget", None) or getattr(value, "func", value)
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if code is None:
                continue
            if not (is_harness_file(code.co_filename) or code.co_filename.startswith(folders)):
                run.refuse(f"the method {name} of {distribution.__name__} was replaced by other code")


def make_distribution(
    run: Run, distribution: type, arguments: list[Any], options: dict[str, Any]
) -> Distribution:
    """Construct a distribution such as ``Laplace(scale=2)``."""
    require_own(run, distribution)
    if arguments or len(options) != 1:
        run.refuse(f"{distribution.__name__} requires exactly one keyword argument")
    [(name, value)] = options.items()
    if distribution is distributions.Bernoulli:
        inner = content(value)
        if name != "p" or (isinstance(inner, Symbol) and not isinstance(inner, Private)):
            run.refuse("Bernoulli(p=...) requires a constant or private probability")
        return Distribution(
            "bernoulli", inner if isinstance(inner, Private) else run.plain(exact_number, inner)
        )
    parameters = {"gaussian": ("sigma", "variance"), "discrete-gaussian": ("sigma2",)}
    if name not in parameters.get(DISTRIBUTIONS[distribution], ("scale",)):
        run.refuse(f"{distribution.__name__} has no parameter {name}")
    inner = content(value)
    if isinstance(inner, Symbol) and not isinstance(inner, Public):
        run.refuse("the scale of the noise must be public, got a private one")
    if not isinstance(inner, Symbol):
        number = run.plain(exact_number, inner)
        if number <= 0:
            run.refuse("the scale of the noise must be positive and finite")
        squared = name in ("variance", "sigma2")
        inner = number / upper_root(number) if squared else number  # sigma, rounded down
        return Distribution(DISTRIBUTIONS[distribution], inner, run.plain(distribution, **{name: number}))
    if name in ("variance", "sigma2"):
        run.refuse("a released value cannot be a variance (use sigma=)")
    return Distribution(DISTRIBUTIONS[distribution], inner)


def make_family(run: Run, real: Any, *, parties: int = 1) -> Distribution:
    """Return the sum of equal shares of integer noise, with its parameters as the record writes them."""
    kind = type(real)
    require_own(run, kind, real)
    if parties == 1 and kind is distributions.DiscreteGaussian:
        return make_distribution(run, kind, [], real.parameters())
    if kind not in SHARED:
        run.refuse(f"{kind.__name__} noise in shares is not supported")
    name, others = SHARED[kind]
    given = {others.get(key, key): str(number) for key, number in real.parameters().items()}
    return Distribution(name, {"parties": parties, **given}, real)


def make_constant(run: Run, kind: type, arguments: list[Any], options: dict[str, Any]) -> Distribution:
    """Construct integer noise with constant parameters, such as ``Skellam(variance=4)``."""
    require_own(run, kind)
    if not is_plain([*arguments, *options.values()]):
        run.refuse(f"{kind.__name__} requires constants")
    return make_family(run, run.plain(kind, *map(content, arguments), **options))


def shifted(run: Run, noise: Distribution, arguments: list[Any], options: dict[str, Any]) -> Moved:
    """Follow ``noise.shift(offset)``."""
    if len(arguments) != 1 or options:
        run.refuse("shift() takes exactly one offset by position")
    if noise.distribution not in ADDITIVE:
        run.refuse(f"a shifted {noise.distribution} distribution is not supported")
    if isinstance(arguments[0], Array):
        arguments[0].shared = True
    return Moved(noise, arguments[0])


def make_selection(run: Run, arguments: list[Any], options: dict[str, Any]) -> Selection:
    """Construct ``NoisyArgmax(scores, noise)``, which adds independent noise to each score."""
    require_own(run, distributions.NoisyArgmax)
    try:
        given = _SELECTION.bind(*arguments, **options).arguments
    except TypeError as error:
        run.refuse(f"NoisyArgmax: {error}")
    scores, noise = given["scores"], given["noise"]
    if not isinstance(noise, Distribution) or noise.distribution not in ("laplace", "exponential", "gumbel"):
        run.refuse("NoisyArgmax requires Laplace, Exponential or Gumbel noise")
    if isinstance(scores, Array):  # the distribution may keep the array without a copy
        scores.shared = True
    return Selection(content(scores), noise)


def _select(run: Run, distribution: Selection) -> Any:
    """Publish the position of the largest noisy score, as the argmax of the scores plus one draw each."""
    inner = distribution.scores
    if not isinstance(inner, Private) or inner.info.kind == "b":
        return run.refuse("NoisyArgmax requires an array of private numbers")
    shape = inner.shape
    if len(shape) != 1 or type(shape[0]) is not int or (inner.info.records and run.s.length_is_private):
        run.refuse("NoisyArgmax requires a vector with a fixed number of scores")
    limits = [whole_limit(run.s, end) for end in (inner.info.low, inner.info.high)]
    # NoisyArgmax raises for integers beyond 2^62.
    if inner.info.kind == "i" and any(limit is None or limit > 2**62 for limit in limits):
        run.refuse("NoisyArgmax requires integer scores bounded by 2^62")
    scale = distribution.noise.scale
    draw = run.new_draw(
        distribution.noise.distribution,
        ["number", str(scale)] if isinstance(scale, Fraction) else _scale(run, scale),
        shape,
        python=False,
    )
    noisy = binary(run, "add", Array(inner), Array(draw))
    return published(run, place_of_rule(True)(run, noisy))


def call_generator(
    run: Run, name: str, arguments: list[Any], options: dict[str, Any], *, legacy: bool = False
) -> Any:
    """Follow ``rng.laplace(...)`` and similar calls. ``legacy`` selects numpy's global generator."""
    if name not in GENERATOR:
        run.refuse(f"rng.{name} is not supported (use one of {', '.join(GENERATOR)})")
    try:
        bound = GENERATOR[name].bind(*arguments, **options)
    except TypeError as error:
        run.refuse(f"rng.{name}: {error}")
    given = dict(bound.arguments)
    if run.generator is not None:  # a run on real data draws real numbers
        method = getattr(np.random if legacy else run.generator, name)
        return run.plain(
            method,
            *[real_argument(a) for a in arguments],
            **{key: real_argument(a) for key, a in options.items()},
        )
    if name in METHODS:
        return _noise(run, METHODS[name], given.get("loc", 0), given.get("scale", 1), given.get("size"))
    if name == "standard_t":
        return _noise(run, _student(run, given["df"]), 0, 1, given.get("size"))
    if name == "choice":
        return _choice(run, **given)
    if name == "permutation":
        return _permutation(run, **given)
    if name == "integers":
        return _integers(run, **given)
    if name in COUNTS:
        return counted(run, name, given)
    if name == "uniform" and (given.get("low", 0), given.get("high", 1)) != (0, 1):
        run.refuse("rng.uniform is only supported on [0, 1)")
    shape = _shape(run, given.get("size"))
    run.uniforms += 1
    return _array(Uniform(run.uniforms, shape, _uniforms(run, shape)))


def _student(run: Run, degrees: Any) -> str:
    """Return the name of Student noise in the record."""
    inner = content(degrees)
    if not is_plain(inner):
        run.refuse("the degrees of freedom must be a constant")
    if isinstance(inner, str):  # numpy raises
        run.refuse("the degrees of freedom must be a number, got text")
    law = f"student-{run.plain(dyadic, inner)}"
    if degrees_of(law) is None:
        run.refuse(
            f"the degrees of freedom must be a positive number of at most four digits, got {inner!r:.40}"
        )
    return law


def real_argument(value: Any) -> Any:
    inner = content(value)
    return type(inner)(real_argument(item) for item in inner) if isinstance(inner, list | tuple) else inner


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
    """Return a size as a shape of numbers and the public number of records."""
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
        run.refuse("the size of the noise depends on a released value")
    if isinstance(inner, Symbol):
        run.refuse("the size of the noise is private")
    if type(inner) not in (int, np.int64) or inner < 0:
        run.refuse(f"the size of a draw must be a nonnegative integer, got {inner!r:.40}")
    return (int(inner),)


def _scale(run: Run, scale: Any) -> Any:
    inner = content(scale)
    if isinstance(inner, Public) and inner.shape == ():
        return inner.expression
    if isinstance(inner, Symbol | np.ndarray | list | tuple):
        run.refuse("the scale of the noise must be a single public number")
    if (
        not isinstance(inner, int | float | Fraction | np.integer | np.floating)
        or not math.isfinite(inner)
        or inner <= 0
    ):
        run.refuse("the scale of the noise must be positive and finite")
    return ["number", str(exact(inner))]


def _noise(run: Run, distribution: str, loc: Any, scale: Any, size: Any) -> Any:
    shape = _shape(run, size)
    inner = content(loc)
    zero = not isinstance(inner, Symbol) and np.ndim(inner) == 0 and inner == 0
    if not zero and size is None:
        if isinstance(inner, Filtered | Transposed):
            run.refuse("the size of the noise is private")
        known = shape_of(loc)
        if known is None:
            run.refuse("noise is drawn around a released value of unknown shape")
        shape = known
        if isinstance(inner, Private) and inner.info.records and run.s.length_is_private:
            run.refuse("the size of the noise is private")
    python = size is None and shape == ()
    if isinstance(content(scale), Private | Joined) and python:
        noise: Any = scaled_draw(
            run, content(scale), run.new_draw(distribution, ["number", "1"], (), python=True)
        )
    else:
        draw = run.new_draw(distribution, _scale(run, scale), shape, python=python)
        found = correlated_draw(run, draw)
        noise = Array(found) if shape else found
    return noise if zero else binary(run, "add", loc, noise)


def _integers(run: Run, low: Any, high: Any = None, size: Any = None) -> Any:
    if not is_plain([low, high]):
        run.refuse("rng.integers requires constant bounds, got private or released values")
    shape = _shape(run, size)
    start, stop = (0, low) if high is None else (low, high)
    if type(start) is not int or type(stop) is not int or stop <= start:
        run.refuse(f"rng.integers requires integers low < high, got {start!r:.40} and {stop!r:.40}")
    run.uniforms += 1
    samples = [
        apply(lambda u: _whole(start + np.floor(u * (stop - start))), u) for u in _uniforms(run, shape)
    ]
    found = _array(Choice(run.uniforms, stop, shape, samples, first=start))
    return found if start in (0, 1) else published(run, found)


def _whole(value: Any) -> Any:
    array = np.asarray(value).astype(np.int64)
    return array if array.shape else array[()]


def _choice(run: Run, a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
    if any(not isinstance(one, Public) for one in symbols_in(p)) and isinstance(content(p), list | tuple):
        run.refuse("rng.choice with a list of private probabilities is not supported (use np.array)")
    inner, chances = content(a), content(p)
    if size is not None:
        return _choices(run, inner, size, replace, p)
    if isinstance(inner, Symbol) or not is_plain(inner):
        run.refuse("rng.choice requires constant options, got private or released values")
    count = (
        inner
        if type(inner) is int
        else len(inner)
        if isinstance(inner, list | tuple | range | np.ndarray)
        else None
    )
    if count is None or count < 1:
        run.refuse("rng.choice requires a positive integer or a nonempty list, tuple, range or array")
    if isinstance(chances, Private):
        place = _softmax_choice(run, chances, int(count or 0))
    elif isinstance(chances, Symbol):
        run.refuse("rng.choice with released probabilities requires size=...")
    else:
        place = run.chosen(int(count or 1), chances)
    if type(inner) is int:
        return place
    if not isinstance(inner, np.ndarray):
        inner = np.asarray(inner)
    if inner.dtype.kind not in "bifU" or inner.ndim != 1:
        run.refuse("rng.choice requires a vector of numbers or text")
    samples = [apply(lambda k: inner[k], one) for one in place.samples]
    expression, options = ["function", "chosen", expression_of(run, inner), place.expression], inner.tolist()
    few = (place.expression, options) if inner.dtype.kind == "i" and len(options) <= MAX_ROWS else None
    return Public(expression, (), inner.dtype.kind, samples, place=few)


def _choices(run: Run, inner: Any, size: Any, replace: Any, p: Any) -> Any:
    """Make several public choices, with constant or released probabilities."""
    shape = _shape(run, size)
    sample = _sample(run, inner, shape, p) if replace is False else None
    if sample is not None:
        return sample
    chances = None if p is None else content(published(run, p))
    if type(inner) is not int or isinstance(chances, Private) or type(replace) is not bool:
        run.refuse("rng.choice with size=... requires an integer number of options and public probabilities")
    samples = [_whole(np.zeros(run.worlds.shape(shape, side))) for side in run.worlds.sides]
    return _array(run.outcome(shape=shape, kind="i", samples=samples, python=False))


def _sample(run: Run, inner: Any, shape: tuple[Any, ...], p: Any) -> Any:
    """Return positions of records, or records, drawn without replacement, or None for another choice."""
    rows = isinstance(inner, Private) and inner.info.records == 1
    number = isinstance(inner, int | np.integer | Public)
    if p is not None or len(shape) != 1 or type(shape[0]) is not int or not (rows or number):
        return None
    found = new_sample(run, inner.shape[:1] if rows else _shape(run, inner), shape[0])
    if found is None:
        return None
    return LATER["index"](run, Array(inner), Array(found)) if rows else Array(found)


def _permutation(run: Run, x: Any, axis: Any = 0) -> Any:
    found = new_sample(run, _shape(run, x), None) if axis == 0 else None
    if found is None:
        run.refuse("rng.permutation is only supported for the number of records under replace-one")
    return Array(found)


def _softmax_choice(run: Run, chances: Private, count: int) -> Public:
    if "softmax" not in chances.info.facts or chances.shape != (count,):
        run.refuse(
            "rng.choice with private probabilities requires p = exp(v) / exp(v).sum(), one for each option"
        )
    release = {"law": "choice", "node": chances.node, "count": 1}
    samples = [apply(lambda one: np.int64(np.argmax(one)), one) for one in chances.samples]
    return run.released(release, chances.info, shape=(), kind="i", samples=samples, python=False, count=count)


def call_coins(run: Run, name: str, arguments: list[Any], options: dict[str, Any]) -> Any:
    """Follow ``coins.draw``, ``coins.release``, ``coins.reveal`` and ``coins.observe``."""
    given = bound_call(run, name, arguments, options)
    if name == "reveal":
        value, people = given["value"], given["to"]
        add_to_output(run, value, None if PUBLIC in people else sorted(one.name for one in people))
        if run.generator is not None:
            run.plain(run.generator.reveal, real_argument(value), site=given["site"], to=people)
        return value
    distribution = given["noise" if name == "release" else "distribution"]
    if isinstance(distribution, Selection | Moved | Wrapped | Tabulated | Subsample) and name == "observe":
        if run.generator is not None:  # a run on real data draws real numbers
            observe, people = run.generator.observe, given["to"]
            return run.plain(lambda: observe(distribution_of(distribution), site=given["site"], to=people))
        if isinstance(distribution, Selection):
            return _select(run, distribution)
        if isinstance(distribution, Moved):
            return released_with(run, distribution.offset, distribution.noise)
        if isinstance(distribution, Wrapped):
            found = released_with(run, distribution.offset, distribution.noise)
            return modulo(run, found, distribution.modulus)
        if isinstance(distribution, Subsample):
            return subsampled_sum(run, distribution)
        return tabulated_outcome(run, distribution)
    if not isinstance(distribution, Distribution):
        run.refuse("coins require a distribution of dpaudit, such as Laplace(scale=2)")
    if run.generator is not None:  # a run on real data draws real numbers
        value = [real_argument(given["value"])] if name == "release" else []
        to = {"to": given["to"]} if "to" in given else {}
        return run.plain(
            getattr(run.generator, name), *value, distribution_of(distribution), site=given["site"], **to
        )
    if distribution.distribution == "bernoulli":
        return _coin(run, distribution, name)
    if name == "release":
        return released_with(run, given["value"], distribution)
    noise = run.new_draw(distribution.distribution, _scale_in_record(run, distribution), (), python=True)
    return correlated_draw(run, noise) if name == "draw" else published(run, noise)


def _scale_in_record(run: Run, distribution: Distribution) -> Any:
    scale = distribution.scale
    if isinstance(scale, dict):
        return scale
    return ["number", str(scale)] if isinstance(scale, Fraction) else _scale(run, scale)


def bound_call(run: Run, name: str, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a primitive of the coins, with its audience."""
    if name not in COINS:
        run.refuse(f"coins.{name} is not supported (use one of {', '.join(COINS)})")
    try:
        bound = COINS[name].bind(*arguments, **options)
    except TypeError as error:
        run.refuse(f"coins.{name}: {error}")
    if run.repeating:
        run.refuse("coins show their outcomes, and are not supported in a loop with a random number of runs")
    given = dict(bound.arguments)
    if "to" in COINS[name].parameters:
        # A release to any audience counts in full, which only enlarges what the adversary sees.
        given["to"] = audience_of(run, given.get("to"))
        if run.on_plain_data and PUBLIC not in given["to"]:
            run.refuse("a counterexample is only sought if everything is shown to the public")
    if not isinstance(given["site"], str):
        run.refuse("site must be a string")
    return given


def released_with(run: Run, value: Any, distribution: Distribution) -> Any:
    """Publish a value plus noise of the distribution, drawn separately for each entry."""
    inner = content(value)
    if isinstance(inner, Entries):
        value = Array(run.lift(value))
        inner = content(value)
    if isinstance(inner, list | tuple):
        run.refuse("a list cannot be released (use np.array)")
    shape = shape_of(value)
    if (
        shape is None
        or isinstance(inner, Filtered | Transposed)
        or (isinstance(inner, Private) and inner.info.records and run.s.length_is_private)
    ):
        run.refuse("the size of the noise is private")
    if distribution.distribution not in ADDITIVE:
        run.refuse(f"{distribution.distribution} noise cannot be added to a value (use Laplace or Gaussian)")
    require_own(run, distributions.Shifted)
    if isinstance(inner, Private) and inner.info.kind == "i":
        limits = [whole_limit(run.s, end) for end in (inner.info.low, inner.info.high)]
        # A shifted distribution raises for integers from 2^62, and so for some data only.
        if any(limit is None or limit >= 2**62 for limit in limits):
            run.refuse("coins require integers whose absolute values are below 2^62 (clip them)")
    scale = _scale_in_record(run, distribution)
    draw = run.new_draw(distribution.distribution, scale, shape or (), python=shape == ())
    noisy = binary(run, "add", value, Array(draw) if shape else draw)
    return published(run, noisy)


def modulo(run: Run, found: Any, modulus: int) -> Any:
    """Return an outcome modulo a constant, which is post-processing."""
    return run.verify(binary(run, "mod", found, modulus), operator.mod, found, modulus)


def _coin(run: Run, distribution: Distribution, name: str) -> Any:
    """Draw a Bernoulli coin. A hidden coin is treated as public, which only enlarges the output."""
    if name == "release":
        run.refuse("coins.release with Bernoulli noise is not supported")
    u = [float(run.rng.random()) for _ in run.worlds.sides]
    if not isinstance(distribution.scale, Private):
        samples = [int(one < float(distribution.scale)) for one in u]
        return run.outcome(shape=(), kind="i", samples=samples, python=True, count=2)
    if name == "draw":
        return _hidden_coin(run, distribution.scale, u)
    if distribution.scale.shape != ():
        run.refuse("Bernoulli requires a single probability, got an array")
    drawn = [apply(lambda p, v=v: int(v < p), run.sample(distribution.scale, k)) for k, v in enumerate(u)]
    release = {"law": "bernoulli", "node": distribution.scale.node}
    return run.released(
        release, distribution.scale.info, shape=(), kind="i", samples=drawn, python=True, count=2
    )


def _hidden_coin(run: Run, chance: Private, uniforms: list[float]) -> Private:
    """Return a coin that nobody sees, as a private bit. Both sides use the same uniform numbers."""
    low, high = chance.info.low, chance.info.high
    if chance.shape != () or low is None or not run.s.at_most(0, low) or not run.s.at_most(high, 1):
        run.refuse("a hidden coin requires a single probability that is provably in [0, 1]")
    run.uniforms += 1
    params = {
        "law": "bernoulli",
        "low": "0",
        "high": "1",
        "number": run.uniforms,
        "kind": "i",
        "python": True,
    }
    pairs = [uniforms[side - side % 2] for side in run.worlds.sides]
    samples = [apply(lambda p, v=v: int(v < p), one) for v, one in zip(pairs, chance.samples, strict=True)]
    return run.step("hidden_draw", [chance], params, samples)


def distribution_of(distribution: Any) -> Any:
    """Return the distribution itself, to draw real numbers from."""
    if isinstance(distribution, Selection):
        return distributions.NoisyArgmax(
            real_argument(distribution.scores), distribution_of(distribution.noise)
        )
    if isinstance(distribution, Moved):
        return distribution_of(distribution.noise).shift(real_argument(distribution.offset))
    if isinstance(distribution, Wrapped):
        noise, offset = distribution_of(distribution.noise), real_argument(distribution.offset)
        return distributions.WrappedMod(noise, modulus=distribution.modulus, offset=offset)
    if isinstance(distribution, Tabulated | Subsample):
        return distribution.real()
    if distribution.real is not None:
        return distribution.real
    real = next(one for one, name in DISTRIBUTIONS.items() if name == distribution.distribution)
    if real is distributions.Bernoulli:
        return real(p=distribution.scale)
    return (
        real(sigma=distribution.scale) if real is distributions.Gaussian else real(scale=distribution.scale)
    )


def generator_of(run: Run, arguments: list[Any], options: dict[str, Any]) -> Generator:
    """Follow ``np.random.default_rng()``. A seed is refused, because the noise must be secret."""
    if arguments or options:
        run.refuse("the generator has a fixed seed, so its noise is not secret")
    return Generator()
