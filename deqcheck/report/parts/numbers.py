"""Numbers as people read them."""

from __future__ import annotations

import math

from deqcheck.records.measured import Measured
from deqcheck.report.parts.render_options import RenderOptions

DIGITS, ALL_DIGITS = 4, 17


def number(x: float | None, digits: int = DIGITS) -> str:
    return "unknown" if x is None or math.isnan(x) else f"{x:.{digits}g}"


def with_error(m: Measured, options: RenderOptions, digits: int = DIGITS) -> str:
    """`0.885 ± 2e-15`; an exact value stands alone."""
    if m.exact:
        return number(m.value, digits)
    sign = "±" if options.unicode else "+-"
    return f"{number(m.value, digits)} {sign} {number(m.error, 1)}"


def comparison(left: Measured, relation: str, right: Measured, options: RenderOptions) -> str:
    """Both sides, with as many digits as it takes to tell them apart."""
    digits = DIGITS
    if left.value != right.value:
        while digits < ALL_DIGITS and number(left.value, digits) == number(right.value, digits):
            digits += 1
    return f"{with_error(left, options, digits)} {relation} {with_error(right, options, digits)}"
