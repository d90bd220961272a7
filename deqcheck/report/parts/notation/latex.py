"""Formulas in LaTeX with amsmath; matplotlib's mathtext reads them, too."""

from __future__ import annotations

from deqcheck.report.parts.notation.nodes import (
    ATOM,
    POWER,
    PRODUCT,
    SUM,
    Absolute,
    Call,
    Glyphs,
    Negative,
    Node,
    Number,
    Piece,
    Power,
    Product,
    Quotient,
    Relation,
    Root,
    Row,
    Sum,
    Symbol,
    tightness,
)
from deqcheck.report.parts.notation.symbols import GREEK

RELATIONS = {"<=": r"\leq", ">=": r"\geq", "==": "=", "<": "<", ">": ">"}
_NAMED = {"min", "max", "inf", "sup", "exp", "log", "cosh"}
_SIGNS = {
    **{letter: rf"\{'varepsilon' if letter == 'ε' else name} " for name, letter in GREEK.items()},
    "‖": r"\|",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "∇": r"\nabla ",
    "∂": r"\partial ",
    "Δ": r"\Delta ",
    "Σ": r"\sum ",
    "−": "-",
    "′": "'",
    "ᵀ": r"\top ",
    "ŷ": r"\hat{y}",
    "z̄": r"\bar{z}",
    "R̄": r"\bar{R}",
    " ": r"\,",
}


_PROSE = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},
    "\\": r"\textbackslash{}",
    "^": r"\^{}",
    "~": r"\~{}",
}


def written(relation: Relation) -> str:
    return f"{_text(relation.left)} {RELATIONS[relation.sign]} {_text(relation.right)}"


def name(row: Row) -> str:
    if row[0] == Glyphs("√"):
        return rf"\sqrt{{{name(row[1:])}}}"
    return "".join(_piece(piece) for piece in row).strip()


def escaped(text: str) -> str:
    """Prose of ours, whose signs mean something else in LaTeX."""
    return "".join(_PROSE.get(sign, sign) for sign in text)


def _piece(piece: Piece) -> str:
    if isinstance(piece, Glyphs):
        if piece.word:
            return rf"\{piece.text} " if piece.text in _NAMED else rf"\mathrm{{{piece.text}}}"
        if len(piece.text) > 1 and piece.text not in _SIGNS and not piece.text.isdigit():
            return rf"\mathrm{{{escaped(piece.text)}}}"
        return _SIGNS.get(piece.text, piece.text)
    below = f"_{{{name(piece.below)}}}" if piece.below else ""
    above = f"^{{{name(piece.above)}}}" if piece.above else ""
    return f"{_piece(piece.base).strip()}{below}{above}"


def _within(node: Node, tight: int) -> str:
    return _text(node) if tightness(node) >= tight else _bracketed(_text(node))


def _bracketed(text: str) -> str:
    return rf"\left({text}\right)"


def _text(node: Node) -> str:
    if isinstance(node, Number):
        return _number(node.text)
    if isinstance(node, Symbol):
        return name(node.row)
    if isinstance(node, Power):
        return f"{_within(node.base, ATOM)}^{{{_text(node.exponent)}}}"
    if isinstance(node, Product):
        return _product(node)
    if isinstance(node, Quotient):
        return rf"\frac{{{_text(node.over)}}}{{{_text(node.under)}}}"
    if isinstance(node, Sum):
        return _sum(node)
    if isinstance(node, Negative):
        return f"-{_within(node.term, PRODUCT)}"
    if isinstance(node, Root):
        return rf"\sqrt{{{_text(node.under)}}}"
    if isinstance(node, Absolute):
        return rf"\left|{_text(node.value)}\right|"
    assert isinstance(node, Call)
    return rf"\{node.function}{_bracketed(', '.join(map(_text, node.arguments)))}"


def _product(node: Product) -> str:
    first, *rest = node.factors
    parts = [_within(first, PRODUCT)]
    for before, factor in zip(node.factors, rest, strict=False):
        parts.append(r" \cdot " if dotted(before, factor) else r" \, ")
        # A fraction holds together by its line.
        parts.append(_within(factor, PRODUCT if isinstance(factor, Quotient) else POWER))
    return "".join(parts)


def dotted(before: Node, factor: Node) -> bool:
    """Whether a product needs its dot: a number after something, or words beside each other."""
    return isinstance(_first(factor), Number) or any(_wordy(_first(n)) for n in (before, factor))


def _first(node: Node) -> Node:
    return _first(node.base) if isinstance(node, Power) else node


def _wordy(node: Node) -> bool:
    if not isinstance(node, Symbol):
        return False
    bases = (piece if isinstance(piece, Glyphs) else piece.base for piece in node.row)
    return any(isinstance(base, Glyphs) and base.word for base in bases)


def _number(text: str) -> str:
    digits, _, power = text.partition("e")
    if not power:
        return text
    ten = f"10^{{{int(power)}}}"
    return ten if digits in ("1", "1.0") else rf"{digits} \cdot {ten}"


def _sum(node: Sum) -> str:
    (_, first), *rest = node.terms
    signed = (f" {'-' if minus else '+'} {_within(each, PRODUCT)}" for minus, each in rest)
    return _within(first, SUM) + "".join(signed)
