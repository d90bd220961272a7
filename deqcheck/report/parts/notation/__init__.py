"""Formulas to be read: in Unicode, LaTeX and MathML, all from the formula that is computed.

`scope` is the id of the statement whose names they are. Text that is no formula stays as it is.
"""

from __future__ import annotations

from deqcheck.records.formula import Formula, FormulaError
from deqcheck.report.parts.markup import Markup, tag
from deqcheck.report.parts.notation import latex, mathml, plain
from deqcheck.report.parts.notation.reading import read
from deqcheck.report.parts.notation.symbols import symbol


def in_unicode(formula: str, scope: str = "") -> str:
    """One line for a terminal."""
    try:
        return plain.written(read(formula, scope))
    except FormulaError:
        return formula


def in_latex(formula: str, scope: str = "") -> str:
    """For math mode."""
    try:
        return latex.written(read(formula, scope))
    except FormulaError:
        return rf"\mathrm{{{latex.escaped(formula)}}}"


def in_mathml(formula: str, scope: str = "") -> Markup:
    """For a page, with the plain text."""
    try:
        return mathml.written(read(formula, scope), formula)
    except FormulaError:
        return tag("span", formula)


def names(formula: str, scope: str = "") -> dict[str, str]:
    """The variables of a formula, as it is computed, and how Unicode writes them."""
    found = sorted(Formula(formula).names)
    return {name: plain.name(symbol(name, scope).row) for name in found}
