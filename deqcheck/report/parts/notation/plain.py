"""Formulas in a line of Unicode, for the terminal."""

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

RELATIONS = {"<=": "≤", ">=": "≥", "==": "=", "<": "<", ">": ">"}
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_RAISED = str.maketrans("0123456789+−()klnt", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵏˡⁿᵗ")


def written(relation: Relation) -> str:
    return f"{_text(relation.left)} {RELATIONS[relation.sign]} {_text(relation.right)}"


def name(row: Row) -> str:
    """The typographic name of a variable: λ₀, σ_min(Z), ‖X‖_F."""
    return "".join(_piece(piece) for piece in row)


def _piece(piece: object) -> str:
    if isinstance(piece, Glyphs):
        return piece.text
    base, below, above = (getattr(piece, part) for part in ("base", "below", "above"))
    low, high = (name(part) if part else "" for part in (below, above))
    if low:
        low = low.translate(_LOWERED) if low.isdigit() else f"_{low}"
    return f"{_piece(base)}{low}{_raised(high) if high else ''}"


def _raised(text: str) -> str:
    """In small letters above the line, where there are such."""
    small = text.translate(_RAISED)
    if not any(a == b for a, b in zip(small, text, strict=True)):
        return small
    return text if text in ("ᵀ", "′") else f"^{text}"


def _within(node: Node, tight: int) -> str:
    # √(a)² could be either, so a root is no atom here.
    held = POWER if isinstance(node, Root) else tightness(node)
    return _text(node) if held >= tight else f"({_text(node)})"


def _text(node: Node) -> str:
    if isinstance(node, Number):
        return _number(node.text)
    if isinstance(node, Symbol):
        return name(node.row)
    if isinstance(node, Power):
        return _within(node.base, ATOM) + _exponent(node.exponent)
    if isinstance(node, Product):
        first, *rest = node.factors
        return "·".join((_within(first, PRODUCT), *(_within(each, POWER) for each in rest)))
    if isinstance(node, Quotient):
        return f"{_within(node.over, PRODUCT)}/{_within(node.under, POWER)}"
    if isinstance(node, Sum):
        return _sum(node)
    if isinstance(node, Negative):
        return f"−{_within(node.term, PRODUCT)}"
    if isinstance(node, Root):
        return f"√({_text(node.under)})"
    if isinstance(node, Absolute):
        return f"|{_text(node.value)}|"
    assert isinstance(node, Call)
    return f"{node.function}({', '.join(map(_text, node.arguments))})"


def _exponent(node: Node) -> str:
    text = _text(node)
    small = _raised(text.replace(" ", ""))
    return f"^{_within(node, ATOM)}" if small.startswith("^") else small


def _number(text: str) -> str:
    """1e-12 as a power of ten."""
    digits, _, power = text.partition("e")
    if not power:
        return text
    ten = "10" + _raised(str(int(power)).replace("-", "−"))
    return ten if digits in ("1", "1.0") else f"{digits}·{ten}"


def _sum(node: Sum) -> str:
    (_, first), *rest = node.terms
    signed = (f" {'−' if minus else '+'} {_within(each, PRODUCT)}" for minus, each in rest)
    return _within(first, SUM) + "".join(signed)
