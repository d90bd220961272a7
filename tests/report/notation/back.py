"""From what a reader sees back to a formula that Python evaluates, without deqcheck's tree.

Each reader turns one way of writing into an expression in the names of the variables, which it
knows by their typographic names.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵏˡⁿᵗ", "0123456789+-()klnt", strict=True))
SIGNS = {"≤": "<=", "≥": ">=", "=": "==", "<": "<", ">": ">"}


def _substituted(text: str, names: Mapping[str, str]) -> str:
    """Every typographic name in the text by its variable; longer names first."""
    spelt = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(re.escape, spelt))
    # A name begins and ends where no other letter goes on, and a call is none.
    word = rf"(?<![\w{{\\]){'(?:' + pattern + ')'}(?![A-Za-z])"
    return re.sub(word, lambda found: f" {names[found[0]]} ", text)


def from_unicode(text: str, names: Mapping[str, str]) -> tuple[str, str, str]:
    left, sign, right = re.split(r" ([≤≥=<>]) ", text)
    return _plain(left, names), SIGNS[sign], _plain(right, names)


def _plain(text: str, names: Mapping[str, str]) -> str:
    text = _substituted(text, names)
    run = f"[{''.join(RAISED)}]+"
    text = re.sub(rf" ?({run})", lambda found: f"**({''.join(RAISED[c] for c in found[1])})", text)
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text)
    for seen, meant in {"·": "*", "−": "-", "√": "sqrt", "^": "**"}.items():
        text = text.replace(seen, meant)
    return text.strip()


def from_latex(text: str, names: Mapping[str, str]) -> tuple[str, str, str]:
    left, sign, right = re.split(r" (\\leq|\\geq|=|<|>) ", text)
    relation = {r"\leq": "<=", r"\geq": ">=", "=": "=="}.get(sign, sign)
    return _tex(left, names), relation, _tex(right, names)


def _tex(text: str, names: Mapping[str, str]) -> str:
    # Innermost braces first, since a fraction holds others.
    for i, spelt in enumerate(sorted(names, key=len, reverse=True)):
        text = re.sub(rf"(?<![A-Za-z\\{{]){re.escape(spelt)}(?![A-Za-z_])", f"@{i}@", text)
        text = re.sub(rf"(?<=[{{]){re.escape(spelt)}(?![A-Za-z_])", f"@{i}@", text)
    group = r"\{([^{}]*)\}"
    before = None
    while before != text:
        before = text
        text = re.sub(rf"\\frac{group}{group}", r"((\1)/(\2))", text)
        text = re.sub(rf"\\sqrt{group}", r"sqrt(\1)", text)
        text = re.sub(rf"\^{group}", r"**(\1)", text)
    text = text.replace(r"\left|", "abs(").replace(r"\right|", ")")
    text = text.replace(r"\left(", "(").replace(r"\right)", ")")
    text = re.sub(r"\\(exp|log|cosh|min|max)\b", r"\1", text)
    text = text.replace(r"\cdot", "*").replace(r"\,", "*")
    for i, spelt in enumerate(sorted(names, key=len, reverse=True)):
        text = text.replace(f"@{i}@", f" {names[spelt]} ")
    return text.strip()


def from_mathml(markup: str, names: Mapping[str, str]) -> tuple[str, str, str]:
    """`names` by their markup."""
    for spelt in sorted(names, key=len, reverse=True):
        markup = markup.replace(spelt, f"<var>{names[spelt]}</var>")
    root = ET.fromstring(markup)
    read = "".join(_element(part) for part in root.iter("math"))
    left, sign, right = re.split(r"([≤≥=<>])", read)
    return left, SIGNS[sign], right


def _element(e: ET.Element) -> str:
    inner = [_element(child) for child in e]
    if e.tag == "mfrac":
        return f"(({inner[0]})/({inner[1]}))"
    if e.tag == "msup":
        return f"({inner[0]})**({inner[1]})"
    if e.tag == "msqrt":
        return f"sqrt({''.join(inner)})"
    if e.tag == "var":
        return f" {e.text} "
    if e.tag == "mrow" and [c.text for c in (e[0], e[-1])] == ["|", "|"]:
        return f"abs({''.join(inner[1:-1])})"
    if e.tag in ("math", "mrow"):
        return "".join(inner)
    assert e.tag in ("mo", "mn", "mi"), e.tag
    known = {"−": "-", "⋅": "*", "\u2062": "*", "\u2061": ""}
    return known.get(e.text or "", (e.text or "").replace("−", "-"))
