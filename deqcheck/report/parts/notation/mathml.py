"""Formulas in MathML Core, which browsers lay out themselves; the plain text goes with them.

A browser breaks no line within an element `math`, so a long formula becomes several of them, cut
before its signs.
"""

from __future__ import annotations

from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.notation.latex import dotted
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
from deqcheck.report.parts.notation.plain import RELATIONS

# Longer ones, counted in the plain text, may be broken.
LONG = 40
_TIMES, _APPLIED = "\u2062", "\u2061"
_SIGNS = "‖⟨⟩|(),/+−√ΣΔ∇∂ᵀ′*"


def written(relation: Relation, plain: str) -> Markup:
    """To be read by eye, with the plain text for whoever cannot."""
    sign = tag("mo", RELATIONS[relation.sign])
    if len(plain) > LONG:
        right = _pieces(relation.right)
        parts = [*_pieces(relation.left), join(sign, right[0]), *right[1:]]
    else:
        parts = [join(_text(relation.left), sign, _text(relation.right))]
    # The blanks are where a line may end.
    shown = join(*(item for part in parts for item in (tag("math", tag("mrow", part)), " ")))
    return tag(
        "span",
        tag("span", plain, class_="plain"),
        tag("span", shown, aria_hidden="true"),
        class_="math",
    )


def _pieces(node: Node) -> list[Markup]:
    """What may stand on lines of its own, one after the other."""
    if isinstance(node, Sum):
        found: list[Markup] = []
        for i, (minus, term) in enumerate(node.terms):
            first, *rest = _held(term, SUM if i == 0 else PRODUCT)
            sign = tag("mo", "−" if minus else "+", form="infix") if i else None
            found += [join(sign, first), *rest]
        return found
    if isinstance(node, Product):
        return _product_pieces(node)
    if isinstance(node, Call):
        return _call_pieces(node)
    return [_text(node)]


def _call_pieces(node: Call) -> list[Markup]:
    """A line may end after a comma."""
    listed = [_text(each) for each in node.arguments]
    head = join(tag("mi", node.function), tag("mo", _APPLIED), _fence("("))
    followed = [join(each, tag("mo", ",")) for each in listed[:-1]]
    return _closed([join(head, (*followed, listed[-1])[0]), *(*followed, listed[-1])[1:]])


def _held(node: Node, tight: int) -> list[Markup]:
    if tightness(node) >= tight:
        return _pieces(node)
    first, *rest = _pieces(node)
    return _closed([join(_fence("("), first), *rest])


def _closed(pieces: list[Markup]) -> list[Markup]:
    return [*pieces[:-1], join(pieces[-1], _fence(")"))]


def _product_pieces(node: Product) -> list[Markup]:
    found: list[Markup] = [Markup("")]
    for i, factor in enumerate(node.factors):
        first, *rest = _held(factor, _needed(i, factor))
        sign = _between(node.factors[i - 1], factor) if i else None
        found[-1] = join(found[-1], sign, first)
        found += rest
    return found


def _needed(i: int, factor: Node) -> int:
    return PRODUCT if i == 0 or isinstance(factor, Quotient) else POWER


def _between(before: Node, factor: Node) -> Markup:
    return tag("mo", "⋅" if dotted(before, factor) else _TIMES)


def _fence(sign: str) -> Markup:
    return tag("mo", sign, stretchy="false")


def _row(row: Row) -> Markup:
    pieces = [_piece(piece) for piece in row]
    return pieces[0] if len(pieces) == 1 else tag("mrow", *pieces)


def _piece(piece: Piece) -> Markup:
    if isinstance(piece, Glyphs):
        if piece.text == " ":
            return tag("mspace", width="0.25em")
        if piece.text.isdigit():
            return tag("mn", piece.text)
        return _fence(piece.text) if piece.text in _SIGNS else tag("mi", piece.text)
    base = _piece(piece.base)
    if piece.below and piece.above:
        return tag("msubsup", base, _row(piece.below), _row(piece.above))
    if piece.below:
        return tag("msub", base, _row(piece.below))
    assert piece.above is not None
    return tag("msup", base, _row(piece.above))


def _within(node: Node, tight: int) -> Markup:
    return _text(node) if tightness(node) >= tight else _bracketed(_text(node))


def _bracketed(inner: Markup) -> Markup:
    return tag("mrow", tag("mo", "("), inner, tag("mo", ")"))


def _text(node: Node) -> Markup:
    if isinstance(node, Number):
        return _number(node.text)
    if isinstance(node, Symbol):
        return _row(node.row)
    if isinstance(node, Power):
        return tag("msup", _within(node.base, ATOM), _text(node.exponent))
    if isinstance(node, Product):
        parts = [_within(factor, _needed(i, factor)) for i, factor in enumerate(node.factors)]
        signs = map(_between, node.factors, node.factors[1:])
        rest = (item for pair in zip(signs, parts[1:], strict=True) for item in pair)
        return tag("mrow", parts[0], *rest)
    if isinstance(node, Quotient):
        return tag("mfrac", _text(node.over), _text(node.under))
    if isinstance(node, Sum):
        return tag("mrow", *_pieces_of_sum(node))
    if isinstance(node, Negative):
        return tag("mrow", tag("mo", "−", form="prefix"), _within(node.term, PRODUCT))
    if isinstance(node, Root):
        return tag("msqrt", _text(node.under))
    if isinstance(node, Absolute):
        return tag("mrow", tag("mo", "|"), _text(node.value), tag("mo", "|"))
    assert isinstance(node, Call)
    comma = tag("mo", ",")
    listed = [part for each in node.arguments for part in (comma, _text(each))][1:]
    return tag("mrow", tag("mi", node.function), tag("mo", _APPLIED), _bracketed(join(*listed)))


def _pieces_of_sum(node: Sum) -> list[Markup]:
    (_, first), *rest = node.terms
    found = [_within(first, SUM)]
    for minus, term in rest:
        found += [tag("mo", "−" if minus else "+"), _within(term, PRODUCT)]
    return found


def _number(text: str) -> Markup:
    digits, _, power = text.partition("e")
    if not power:
        return tag("mn", text)
    ten = tag("msup", tag("mn", "10"), tag("mn", str(int(power)).replace("-", "−")))
    return ten if digits in ("1", "1.0") else tag("mrow", tag("mn", digits), tag("mo", "⋅"), ten)
