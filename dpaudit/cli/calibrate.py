"""``dpaudit calibrate``: how little noise does a claim need?

For a mechanism and a claim it finds the smallest noise parameter that the kernel certifies, and holds a given
parameter (``--have``) against it: claimed, certified, slack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import click
from rich.table import Table

from dpaudit.certificates import build
from dpaudit.certificates.calibrate import smallest_parameter
from dpaudit.certificates.proof import Proof
from dpaudit.claims import ApproxDP, Claim, PureDP
from dpaudit.cli.console import make_console
from dpaudit.errors import CertificateError, InvalidParameterError
from dpaudit.exact import exact, positive

__all__ = ["MECHANISMS", "calibrate_command"]


@dataclass(frozen=True)
class Mechanism:
    """A mechanism with one noise parameter: what that is, and the proof for a sensitivity and a parameter."""

    parameter: str
    proof: Callable[[Fraction, Fraction], Proof]
    needs_delta: bool = False


MECHANISMS = {
    "laplace": Mechanism("scale", lambda s, b: build.laplace_mechanism(sensitivity=s, scale=b)),
    "discrete-laplace": Mechanism(
        "scale", lambda s, b: build.discrete_laplace_mechanism(sensitivity=s, scale=b)
    ),
    "noisy-max": Mechanism(
        "scale", lambda s, b: build.report_noisy_max(sensitivity=s, scale=b, range="general")
    ),
    "noisy-max-monotone": Mechanism(
        "scale", lambda s, b: build.report_noisy_max(sensitivity=s, scale=b, range="monotone")
    ),
    # Threshold noise of the parameter, query noise of twice the parameter: one answer "above".
    "above-threshold": Mechanism(
        "threshold scale",
        lambda s, b: build.above_threshold(sensitivity=s, threshold_scale=b, query_scale=2 * b),
    ),
    "gaussian": Mechanism(
        "standard deviation", lambda s, b: build.gaussian_mechanism(sensitivity=s, scale=b), needs_delta=True
    ),
    "skellam": Mechanism(
        "variance", lambda s, v: build.integer_noise("skellam", sensitivity=s, variance=v), needs_delta=True
    ),
    "discrete-gaussian": Mechanism(
        "variance",
        lambda s, v: build.integer_noise("discrete-gaussian-sum", sensitivity=s, variance=v, count=1),
        needs_delta=True,
    ),
}


@click.command("calibrate")
@click.argument("mechanism", type=click.Choice(["all", *MECHANISMS]), default="all")
@click.option("--epsilon", default="1", show_default=True, help="The claim's epsilon, exact: 0.1, 1/3.")
@click.option("--delta", default=None, help="The claim's delta; without it the claim is pure.")
@click.option("--sensitivity", default="1", show_default=True, help="How far one record moves the query.")
@click.option("--steps", default=1, show_default=True, help="Runs of the mechanism on the same data.")
@click.option("--have", default=None, help="The parameter in use: its certified bound and slack are shown.")
def calibrate_command(
    mechanism: str, epsilon: str, delta: str | None, sensitivity: str, steps: int, have: str | None
) -> None:
    """Find the smallest noise parameter of MECHANISM that the kernel certifies for a claim.

    ``all`` shows every mechanism: those with a pure guarantee at epsilon, the others at (epsilon, 1e-6)
    unless --delta says otherwise.
    """
    if steps < 1:
        raise InvalidParameterError(f"steps must be 1 or more, got {steps}; pass the number of runs.")
    query = positive(sensitivity, name="sensitivity")
    table = Table(box=None, pad_edge=False)
    for title in (
        "mechanism",
        "claim",
        "parameter",
        "smallest certified",
        "bound there",
        "too small",
        "have",
        "its bound",
        "slack",
    ):
        table.add_column(title)
    for name in MECHANISMS if mechanism == "all" else [mechanism]:
        table.add_row(name, *_row(MECHANISMS[name], epsilon, delta, query, steps, have))
    make_console().print(table)


def _row(
    kind: Mechanism, epsilon: str, delta: str | None, sensitivity: Fraction, steps: int, have: str | None
) -> tuple[str, ...]:
    claim = _claim(kind, epsilon, delta)

    def proof(parameter: Fraction) -> Proof:
        one = kind.proof(sensitivity, parameter)
        return one if steps == 1 else build.compose_sequential([one], times=[steps])

    found = smallest_parameter(claim, proof, start=sensitivity * steps / exact(epsilon))
    words = f"ε={epsilon}" if isinstance(claim, PureDP) else f"ε={epsilon}, δ={float(claim.bound or 0):g}"
    shown = (words, kind.parameter, _up(found.parameter), _up(found.certificate.bound), _up(found.refused))
    return (*shown, *_have(claim, proof, have))


def _claim(kind: Mechanism, epsilon: str, delta: str | None) -> Claim:
    if delta is None and not kind.needs_delta:
        return PureDP(epsilon=epsilon)
    return ApproxDP(epsilon=epsilon, delta="1e-6" if delta is None else delta)


def _have(claim: Claim, proof: Callable[[Fraction], Proof], have: str | None) -> tuple[str, str, str]:
    """The parameter in use, what is certified for it, and claimed / certified."""
    if have is None:
        return "", "", ""
    try:
        bound = proof(positive(have, name="have")).certify(claim).bound
    except CertificateError:
        return have, "none", ""
    slack = "" if claim.bound is None or bound == 0 else f"{float(claim.bound / bound):.4g}x"
    return have, _up(bound), slack


def _up(number: Fraction) -> str:
    """Six digits, rounded up: a printed bound or parameter is never below the certified one."""
    rounded = f"{float(number):.6g}"
    if exact(rounded) >= number:
        return rounded
    magnitude = exact(f"1e{int(f'{float(number):.0e}'.split('e')[1]) - 5}")
    return f"{float(exact(rounded) + magnitude):.6g}"
