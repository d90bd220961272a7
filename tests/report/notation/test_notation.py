"""Every formula of the catalogue, read back from what is shown, computes what is judged."""

from __future__ import annotations

import math
import re
from functools import cache

import pytest

from deqcheck import registry
from deqcheck.records.formula import Formula
from deqcheck.report.parts.notation import in_latex, in_mathml, in_unicode, latex, mathml, plain
from deqcheck.report.parts.notation.symbols import SCOPED, TABLE, symbol
from deqcheck.seeds import rng

from .back import from_latex, from_mathml, from_unicode

FUNCTIONS = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "cosh": math.cosh}
FUNCTIONS |= {"min": min, "max": max, "abs": abs}
PAPERS = sorted({id_.partition("/")[0] for id_ in registry.statements()})


@cache
def formulas() -> dict[tuple[str, str], None]:
    """Each with the statement that has it; where all statements mean the same, the first."""
    found = {}
    for s in registry.statements().values():
        scoped = s.id if s.id in SCOPED else s.paper()
        for check in s.checks():
            found[check.formula.text, scoped] = None
    return found


def of(paper: str) -> list[tuple[str, str]]:
    return [(text, scope) for text, scope in formulas() if scope.partition("/")[0] == paper]


def values(formula: str) -> dict[str, float]:
    """Small enough that every root and logarithm exists, and no two alike."""
    draw = rng(0, f"notation.{formula}")
    return {name: float(draw.uniform(0.05, 0.3)) for name in sorted(Formula(formula).names)}


def computed(formula: str, given: dict[str, float]) -> tuple[float, float]:
    left, right = Formula(formula).sides(given)
    return float(left.value), float(right.value)


def evaluated(sides: tuple[str, str, str], given: dict[str, float]) -> tuple[float, float]:
    left, _, right = sides
    return tuple(eval(side, {"__builtins__": {}}, {**FUNCTIONS, **given}) for side in (left, right))  # type: ignore[return-value]


def row(name: str, scope: str):  # type: ignore[no-untyped-def]
    return symbol(name, scope).row


@pytest.mark.parametrize("paper", PAPERS)
def test_all_three_read_back_to_the_formula_that_is_computed(paper: str) -> None:
    assert of(paper)
    for formula, scope in of(paper):
        given = values(formula)
        by_name = {
            "unicode": {plain.name(row(n, scope)): n for n in given},
            "latex": {latex.name(row(n, scope)): n for n in given},
            "mathml": {str(mathml._row(row(n, scope))): n for n in given},
        }
        seen = {
            "unicode": from_unicode(in_unicode(formula, scope), by_name["unicode"]),
            "latex": from_latex(in_latex(formula, scope), by_name["latex"]),
            "mathml": from_mathml(in_mathml(formula, scope), by_name["mathml"]),
        }
        for way, sides in seen.items():
            # No two variables of a formula look the same.
            assert len(by_name[way]) == len(given), (way, formula)
            assert sides[1] == Formula(formula).relation, (way, formula)
            assert evaluated(sides, given) == pytest.approx(
                computed(formula, given), rel=1e-12, abs=1e-15
            ), (way, formula, sides)


def test_a_wrong_sign_or_power_would_be_noticed() -> None:
    given = values("a^2 <= exp(-2*b)")
    names = {"a": "a", "b": "b"}
    right = computed("a^2 <= exp(-2*b)", given)
    for wrong in ("a³ ≤ exp(−2·b)", "a² ≤ exp(2·b)", "a² ≤ exp(−2/b)"):
        assert evaluated(from_unicode(wrong, names), given) != pytest.approx(right)


@pytest.mark.parametrize("paper", PAPERS)
def test_names_of_one_statement_are_told_apart(paper: str) -> None:
    for s in registry.statements().values():
        names = set().union(*(check.formula.names for check in s.checks()), set())
        seen: dict[str, str] = {}
        for name in sorted(names) if s.paper() == paper else ():
            shown = plain.name(row(name, s.id))
            assert seen.setdefault(shown, name) == name, f"{s.id}: {name} and {seen[shown]}"


def test_the_table_has_no_entry_that_nobody_uses() -> None:
    used: dict[str, set[str]] = {"": set()}
    for s in registry.statements().values():
        for check in s.checks():
            for scope in ("", s.paper(), s.id):
                used.setdefault(scope, set()).update(check.formula.names)
    assert set(TABLE) <= used[""]
    for scope, names in SCOPED.items():
        assert set(names) <= used[scope], scope


@pytest.mark.parametrize(
    ("formula", "unicode", "tex"),
    [
        ("lambda0^2 >= 2*norm_A", "λ₀² ≥ 2·‖A‖", r"\lambda_{0}^{2} \geq 2 \, \|A\|"),
        ("sigma_min_Z > 0", "σ_min(Z) > 0", r"\sigma_{\min}(Z) > 0"),
        ("X_fro <= norm1_B", "‖X‖_F ≤ ‖B‖₁", r"\|X\|_{F} \leq \|B\|_{1}"),
        ("gap/gap_0 <= exp(-2*k)", "gap/gap₀ ≤ exp(−2·k)", None),
        ("a - (b - c) == (a + b)^k", "a − (b − c) = (a + b)ᵏ", None),
        ("a/(b*c) < (a/b)^2.5", "a/(b·c) < (a/b)^2.5", None),
        ("sqrt(a)^2 < 1e-12", "(√(a))² < 10⁻¹²", r"\sqrt{a}^{2} < 10^{-12}"),
        ("kink_margin > distance_W", "kink margin > distance_W", None),
    ],
)
def test_how_it_looks(formula: str, unicode: str, tex: str | None) -> None:
    assert in_unicode(formula) == unicode
    assert tex is None or in_latex(formula) == tex


ODD = ("_x", "a__b", "norm_", "x1_y2", "T_1_norm2", "lambda1_min_Z", "gap_0_1", "abc12", "é_1")


def test_names_of_others_are_written_somehow_and_told_apart() -> None:
    names = (*ODD, "lambda_min_Z", "x1", "y2", "T_1", "gap_0", "abc")
    for write in (in_unicode, in_latex, in_mathml):
        shown = {
            str(write(f"{name}^2 > 2*{name}")).partition("</span>")[2]
            or write(f"{name}^2 > 2*{name}")
            for name in names
        }
        assert len(shown) == len(names)


def test_what_is_no_formula_stays_as_it_is() -> None:
    assert in_unicode("lambda > 0") == "lambda > 0"
    assert in_latex("a_b") == r"\mathrm{a\_b}"
    assert in_mathml("<b>") == "<span>&lt;b&gt;</span>"


def test_a_long_formula_may_be_broken_and_keeps_its_plain_text() -> None:
    formula = "a <= " + " + ".join(f"b{i}*(c{i} + d{i}*e{i})" for i in range(5))
    markup = in_mathml(formula)
    assert markup.count("<math>") == 11
    assert formula.replace("<", "&lt;") in markup
    assert re.sub(r"\s", "", re.sub(r"<[^>]*>", "", markup.partition("</span>")[2]))


def test_mathtext_draws_every_command() -> None:
    """matplotlib refuses what it does not know, as LaTeX does."""
    matplotlib = pytest.importorskip("matplotlib.mathtext")
    shown: dict[str, str] = {}
    for formula, scope in formulas():
        for name in Formula(formula).names:
            symbol_ = latex.name(row(name, scope))
            for command in re.findall(r"\\[A-Za-z|]+|_|\^|'", symbol_):
                shown.setdefault(command, symbol_)
    calls = in_latex("exp(a) <= log(b) + cosh(c) + min(a, b) + max(a, sqrt(b)) + abs(c)/2e-12")
    assert len(shown) > 20
    matplotlib.MathTextParser("path").parse(f"${calls} + {' + '.join(shown.values())}$")
