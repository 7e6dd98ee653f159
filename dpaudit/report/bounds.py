"""Draw the bounds of a row and the claimed value on one line, to scale.

The attack comes from the left (the true value is at least its bound), and the certificate from the right (the
true value is at most its bound). The gap between them is unknown. The part of the attack beyond the claimed
value is the violation.

If the attack goes beyond the certificate, one of the two rests on something false. Each then has half of the
height, so that neither hides the other, and the picture says so in words.

Positions are percentages of the width and the picture has no ``viewBox``, so its text keeps its size on a
phone.
"""

from __future__ import annotations

from markupsafe import Markup

from dpaudit.report.axis import Scale, wants_log
from dpaudit.report.notation import distinct, is_infinite, show
from dpaudit.report.svg import element

__all__ = ["bounds_picture", "bounds_scale"]

#: Lower bound, claimed value, upper bound.
Numbers = tuple[float | None, float | None, float | None]

LEFT, RIGHT = 1.5, 98.5
BAR_TOP, BAR_HEIGHT = 22, 14
TICK_TOP = 60
SMALL_HEIGHT = 18
CROSSED = "the attack goes beyond the certificate, so an assumption of one of them is false"


def _known(number: float | None) -> float | None:
    """Return ``number`` if it is finite, and ``None`` otherwise."""
    return None if number is None or is_infinite(number) else number


def bounds_scale(*, lower: float | None, claimed: float | None, upper: float | None) -> Scale | None:
    """Return the scale of a row's picture in per cent of its width, or ``None`` without finite numbers.

    The scale is linear from 0, or from below the smallest number if that is negative. It is logarithmic, with
    0 at the left end, if the positive numbers differ by more than a factor of 30.
    """
    numbers = [n for n in map(_known, (lower, claimed, upper)) if n is not None]
    if not numbers:
        return None
    if wants_log(numbers):
        return Scale.around(numbers, start=LEFT, end=RIGHT, log=True, pad=0.2)
    return Scale.around(numbers, start=LEFT, end=RIGHT, zero=min(numbers) >= 0, pad=0.25)


def bounds_picture(
    *,
    lower: float | None,
    claimed: float | None,
    upper: float | None,
    at_least: bool = False,
    small: bool = False,
    quantity: str = "",
) -> Markup:
    """Draw a row's bounds as inline SVG, or return empty markup if there is nothing to draw.

    An infinite ``lower`` is an arrow through the whole line. ``None`` and an infinite ``upper`` draw no bar.
    With ``at_least``, the claim is that the value is at least ``claimed``, so a certificate below it is the
    violation. ``small`` draws the one-line form for tables. ``quantity`` names the bounded quantity.
    """
    scale = bounds_scale(lower=lower, claimed=claimed, upper=upper)
    boundless = is_infinite(lower) and lower is not None and lower > 0
    if scale is None and not boundless:
        return Markup("")
    scale = scale or Scale(0.0, 1.0, LEFT, RIGHT)
    texts = distinct(lower, claimed, upper, quantity=quantity)
    top, height = (3, SMALL_HEIGHT - 6) if small else (BAR_TOP, BAR_HEIGHT)
    parts = [element("line", class_="axis", x1="0%", x2="100%", y1=top + height / 2, y2=top + height / 2)]
    crossed = lower is not None and upper is not None and not is_infinite(upper) and lower > upper
    share = height / 2 if crossed else height
    parts += _attack(scale, lower, claimed, boundless, at_least, top, share)
    parts += _certificate(scale, _known(upper), claimed, at_least, top + height - share, share)
    known = _known(claimed)
    if known is not None:
        x = _percent(scale(known))
        parts.append(element("line", class_="claimed", x1=x, x2=x, y1=top - 3, y2=top + height + 3))
    if not small:
        parts += _labels(scale, (lower, claimed, upper), texts, boundless, crossed) + _ticks(scale)
    label = _in_words(texts, (lower, claimed, upper), at_least=at_least) + (
        f", and {CROSSED}" if crossed else ""
    )
    return element(
        "svg",
        element("title", label),
        *parts,
        class_=f"bounds{' small' if small else ''}{' crossed' if crossed else ''}",
        role="img",
        width="100%",
        height=SMALL_HEIGHT if small else TICK_TOP + 22,
        aria_label=label,
    )


def _percent(position: float) -> str:
    return f"{position:.3f}".rstrip("0").rstrip(".") + "%"


def _bar(kind: str, start: float, end: float, top: float, height: float) -> Markup:
    return element(
        "rect", class_=kind, x=_percent(start), width=_percent(max(end - start, 0.0)), y=top, height=height
    )


def _attack(
    scale: Scale,
    lower: float | None,
    claimed: float | None,
    boundless: bool,
    at_least: bool,
    top: float,
    height: float,
) -> list[Markup]:
    if boundless:
        start = (
            scale(claimed) if _known(claimed) is not None and claimed is not None and not at_least else LEFT
        )
        bars = [_bar("attack", 0.0, start, top, height), _bar("attack beyond", start, RIGHT, top, height)]
        return [*bars, _head("attack beyond", RIGHT, top, height, right=True)]
    known = _known(lower)
    if known is None:
        return []
    end = scale(known)
    limit = _known(claimed)
    if limit is None or at_least or known <= limit:
        return [_bar("attack", 0.0, end, top, height), _head("attack", end, top, height, right=True)]
    split = scale(limit)
    bars = [_bar("attack", 0.0, split, top, height), _bar("attack beyond", split, end, top, height)]
    return [*bars, _head("attack beyond", end, top, height, right=True)]


def _certificate(
    scale: Scale, upper: float | None, claimed: float | None, at_least: bool, top: float, height: float
) -> list[Markup]:
    if upper is None:
        return []
    start, limit = scale(upper), _known(claimed)
    if at_least and limit is not None and upper < limit:
        split = scale(limit)
        bars = [
            _bar("certificate beyond", start, split, top, height),
            _bar("certificate", split, 100.0, top, height),
        ]
        return [*bars, _head("certificate beyond", start, top, height, right=False)]
    return [
        _bar("certificate", start, 100.0, top, height),
        _head("certificate", start, top, height, right=False),
    ]


def _head(kind: str, position: float, top: float, height: float, *, right: bool) -> Markup:
    """Draw the edge of a bar with a small triangle in the direction of the bound."""
    size = height / 2 - 2
    tip = size if right else -size
    shape = element("path", class_="head", d=f"M0 {-size:g}L{tip:g} 0L0 {size:g}Z")
    edge = element("line", class_="edge", x1=0, x2=0, y1=-height / 2, y2=height / 2)
    # A nested svg has its position in per cent and its contents in pixels.
    return element(
        "svg",
        edge,
        shape,
        class_=kind,
        x=_percent(position),
        y=top + height / 2,
        overflow="visible",
        width=1,
        height=1,
    )


def _labels(
    scale: Scale, numbers: Numbers, texts: tuple[str, str, str], boundless: bool, crossed: bool
) -> list[Markup]:
    (lower, claimed, upper), (low_text, claim_text, high_text) = numbers, texts
    labels = []
    if claimed is not None and _known(claimed) is not None:
        labels.append(_label("claimed", f"claimed {claim_text}", scale(claimed), 12, "middle"))
    if boundless:
        labels.append(_label("attack", "≥ ∞", RIGHT, BAR_TOP + BAR_HEIGHT + 16, "end"))
    elif lower is not None and _known(lower) is not None:
        outward = "start" if crossed else "end"
        labels.append(_label("attack", f"≥ {low_text}", scale(lower), BAR_TOP + BAR_HEIGHT + 16, outward))
    if upper is not None and _known(upper) is not None:
        outward = "end" if crossed else "start"
        labels.append(
            _label("certificate", f"≤ {high_text}", scale(upper), BAR_TOP + BAR_HEIGHT + 16, outward)
        )
    return labels


def _label(kind: str, text: str, position: float, y: float, anchor: str) -> Markup:
    """Draw a label next to its mark, turned inward at the ends of the line."""
    if position < 14:
        anchor = "start"
    elif position > 86:
        anchor = "end"
    away = {"start": 3, "end": -3, "middle": 0}[anchor]
    return element(
        "text", text, class_=f"mark {kind}", x=_percent(position), dx=away, y=y, text_anchor=anchor
    )


def _ticks(scale: Scale) -> list[Markup]:
    marks = [element("line", class_="rule", x1="0%", x2="100%", y1=TICK_TOP, y2=TICK_TOP)]
    for tick in scale.ticks(4):
        x = scale(tick)
        marks.append(
            element("line", class_="rule", x1=_percent(x), x2=_percent(x), y1=TICK_TOP, y2=TICK_TOP + 4)
        )
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        marks.append(
            element("text", show(tick), class_="tick", x=_percent(x), y=TICK_TOP + 17, text_anchor=anchor)
        )
    return marks


def _in_words(texts: tuple[str, str, str], numbers: Numbers, *, at_least: bool) -> str:
    (low, claim, high), (lower, claimed, upper) = texts, numbers
    parts = [
        "no claimed number" if claimed is None else f"claimed {'at least' if at_least else 'at most'} {claim}"
    ]
    parts.append("no lower bound" if lower is None else f"lower bound {low}")
    parts.append("no upper bound" if upper is None or is_infinite(upper) else f"upper bound {high}")
    return ", ".join(parts)
