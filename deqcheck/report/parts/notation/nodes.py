"""The expression tree of a formula, as it is typeset: one tree for every way of writing it."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.frozen import dataclass


@dataclass(frozen=True)
class Glyphs:
    """A run of a name: a letter, a word, digits, or a sign such as ‖."""

    text: str

    @property
    def word(self) -> bool:
        return len(self.text) > 1 and self.text.isalpha()


@dataclass(frozen=True)
class Script:
    """What stands below or above the glyphs before it."""

    base: Piece
    below: Row | None = None
    above: Row | None = None


Piece: TypeAlias = Glyphs | Script
Row: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True)
class Number:
    text: str


@dataclass(frozen=True)
class Symbol:
    """A variable by its typographic name; one unit may be raised to a power as it is."""

    name: str
    row: Row
    unit: bool


@dataclass(frozen=True)
class Power:
    base: Node
    exponent: Node


@dataclass(frozen=True)
class Product:
    factors: tuple[Node, ...]


@dataclass(frozen=True)
class Quotient:
    over: Node
    under: Node


@dataclass(frozen=True)
class Sum:
    """Terms, and whether each is subtracted; the first is not."""

    terms: tuple[tuple[bool, Node], ...]


@dataclass(frozen=True)
class Negative:
    term: Node


@dataclass(frozen=True)
class Root:
    under: Node


@dataclass(frozen=True)
class Absolute:
    value: Node


@dataclass(frozen=True)
class Call:
    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = (
    Number | Symbol | Power | Product | Quotient | Sum | Negative | Root | Absolute | Call
)

# How tightly a node holds together; what holds less than is asked for goes into brackets.
SUM, PRODUCT, POWER, ATOM = range(1, 5)


def tightness(node: Node) -> int:
    if isinstance(node, Sum | Negative):
        return SUM
    if isinstance(node, Product | Quotient):
        return PRODUCT
    if isinstance(node, Power):
        return POWER
    if isinstance(node, Symbol) and not node.unit:
        first = node.row[0]
        return SUM if isinstance(first, Glyphs) and first.text in "−Σ" else POWER
    # 2·10⁻¹² is a product.
    if isinstance(node, Number) and "e" in node.text:
        return PRODUCT
    return ATOM


@dataclass(frozen=True)
class Relation:
    left: Node
    sign: str
    right: Node
