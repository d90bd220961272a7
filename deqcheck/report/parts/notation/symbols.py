"""The typographic names of variables: one table, and rules for what is not in it.

An entry is written as it is to be read; `_` and `^` put the letter, the word, the digits or the
braced group after them below or above. Names of other papers, of plugins too, follow the rules:
Greek letters by their names, `norm_A` is ‖A‖, `X_fro` is ‖X‖_F, `sigma_min_Z` is σ_min(Z), what
comes after an underscore stands below.
"""

from __future__ import annotations

import re
from functools import cache

from deqcheck.report.parts.notation.nodes import Glyphs, Piece, Row, Script, Symbol

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "eps": "ε",
    "epsilon": "ε",
    "eta": "η",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "Phi": "Φ",
    "Pi": "Π",
    "theta": "θ",
    "omega": "ω",
}
# What every statement means by a name.
TABLE = {
    "step": "η",
    "my": "m_y",
    "q_D_q": "q^ᵀDq",
    "rHr": "r^ᵀHr",
    "v_H_v": "v^ᵀHv",
    "minus_uHr": "−u^ᵀHr",
    "uZv": "u^ᵀZv",
    "uLv": "u^ᵀLv",
    "r_dyhat": "⟨r, dŷ/dt⟩",
    "u_dyhat": "⟨u, dŷ/dt⟩",
    "gradient": "‖∇L‖",
    "gradient_A": "‖∇_A L‖",
    "gradient_W": "‖∇_W L‖",
    "gradient_b": "‖∇_b L‖",
    "Lopt": "L^*",
    "Lsm": "L_sm",
    "lambda_star": "λ_*",
    "lambda_min_JJt": "λ_min(JJ^ᵀ)",
    "lambda_min_dense": "λ_min^{dense}(D)",
    "lambda_min_sym": "λ_min(sym Q)",
    "lambda_max_DA_over_M": "λ_max(DA/M)",
    "real_part_min": "min Re λ(Q)",
    "modulus_min": "min |λ(Q)|",
    "sigma_N_Phi": "σ_N(Φ)",
    "sigma_min_Wo": "σ_min(W_o)",
    "sigma_w2": "σ_w^2",
    "eta2": "η_2",
    "norm_0": "norm_0",
    "norm_minus": "norm_{−}",
    "norm_plus": "norm_{+}",
    "norm_product": "norm_product",
    "norm_A_over_M": "‖A/M‖",
    "norm_A_minus_A": "‖A − A′‖",
    "norm_W_minus_W": "‖W − W′‖",
    "norm_Z_minus_Z": "‖Z − Z′‖",
    "norm_Z_minus_Zl": "‖Z − Z^l‖",
    "norm_Zl": "‖Z^l‖",
    "norm_U2": "‖U′‖",
    "norm_Ub": "‖(U, b)‖",
    "norm_Wo": "‖W_o‖",
    "norm_dZ": "‖ΔZ‖",
    "norm_dyhat": "‖Δŷ‖",
    "norm_Q_inverse": "‖Q^{−1}‖",
    "norm1_U_inverse": "‖U^{−1}‖_1",
    "norm_bar": "‖z̄‖",
    "norm_k": "‖z_k‖",
    "root_N": "√N",
    "B_star": "B^*",
    "B_Ub": "B_{Ub}",
    "R_bar": "R̄",
    "sum_beta": "Σβ_k",
    "sum_c": "Σc_k",
    "infimum_0R": "inf_R L",
    "infimum_larger": "inf_{2R} L",
    "rho_larger": "ρ_{2R}",
    "smallest_norm_W": "min ‖W_l‖",
    "smallest_sum_U": "smallest_sum(U)",
    "multiple_of_I": "multiple_I",
}
# What a paper, or one statement of it, means by a name.
SCOPED: dict[str, dict[str, str]] = {
    "hieu2022": {
        "X": "‖X‖_F",
        "Z": "‖Z‖_F",
        "lA": "λ_A",
        "lU": "λ_U",
        "lu": "λ_u",
        "dA": "‖ΔA‖",
        "dB": "‖ΔB‖",
        "dU": "‖ΔU‖",
        "dW": "‖ΔW‖",
        "dZ": "‖ΔZ‖_F",
        "du": "‖Δu‖",
        "dyhat": "‖Δŷ‖",
    },
    # Of one parameter at a time, which the name of the check tells.
    "hieu2022/gradients": {"gradient": "‖∇_P L‖"},
    "hieu2022/lem3.3.7": {"gradient": "‖∇_P L‖"},
    "hieu2022/thmA.0.1": {"dA": "‖dA‖", "dZ": "‖dZ‖_F"},
    "xie2021": {"X_norm": "‖X‖_F", "Z_norm": "‖Z‖_F", "G_norm": "‖G‖_F", "norm_X": "‖X‖_F"},
    "xie2021/eq20": {"norm_W": "‖∂Z/∂W‖", "norm_U": "‖∂Z/∂U‖", "norm_b": "‖∂Z/∂b‖"},
    "xie2021/jacobian": {"norm_dZ": "‖∂Z/∂θ‖"},
    "xie2021/lem15": {"norm_W": "‖∂Z/∂W‖", "norm_U": "‖∂Z/∂U‖", "norm_b": "‖∂Z/∂b‖"},
    "xie2021/lem17": {"norm_dx": "‖∂Z/∂x‖"},
    "xie2021/lem18": {"norm_dZ": "‖∂Z/∂W_o‖"},
    # Of the proximal objective.
    "xie2021/skip": {"gradient": "gradient"},
}
# These tell which one of several, and stand below what they tell it of.
_BELOW = {"next", "before", "end", "min", "max", "best", "sup"}


# Names for which there are rules; others stay as they are.
_REGULAR = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def symbol(name: str, scope: str = "") -> Symbol:
    """A variable of the statement with the id `scope`."""
    row = _row(_entry(name, scope)) if _REGULAR.fullmatch(name) else (Glyphs(name),)
    return Symbol(name, row, _is_unit(row))


def _entry(name: str, scope: str) -> str:
    for place in (scope, scope.partition("/")[0]):
        if name in SCOPED.get(place, {}):
            return SCOPED[place][name]
    return TABLE.get(name) or _ruled(name)


def _ruled(name: str) -> str:
    """By the rules, in the writing of the table."""
    head, *tail = name.split("_")
    norm = re.fullmatch(r"norm([12]?)", head)
    if norm and tail:
        return f"‖{_under(tail)}‖{'_' + norm[1] if norm[1] else ''}"
    if tail in (["fro"], ["norm"]):
        return f"‖{_letter(head)}‖{'_F' if tail == ['fro'] else ''}"
    if head == "rank" and tail:
        return f"rank({_under(tail)})"
    if len(tail) > 1 and tail[0] in ("min", "max"):
        return f"{_letter(head)}_{tail[0]}({_under(tail[1:])})"
    if not tail:
        return _letter(head)
    if len(_letter(head)) > 1 and not _stands_below(tail):
        return " ".join((head, *tail))
    # Nothing stands below what is below already.
    below = " ".join(_letter(part).replace("_", "").strip("{}") for part in tail)
    return f"{_letter(head)}_{{{below}}}" if "_" not in _letter(head) else f"{head} {below}"


def _stands_below(tail: list[str]) -> bool:
    """Of a word: a letter, a number, or which one it is; other words go on."""
    return len(tail) == 1 and (tail[0] in _BELOW or len(_letter(tail[0])) <= 2)


def _under(parts: list[str]) -> str:
    return " ".join(_letter(part) for part in parts)


def _letter(word: str) -> str:
    """A Greek letter by its name, and digits below a letter."""
    stem = word.rstrip("0123456789")
    digits = word[len(stem) :]
    letter = GREEK.get(stem, stem)
    if digits and stem:
        return f"{letter}_{digits}"
    if re.fullmatch(r"d(yhat|[A-Za-z])", word):
        return f"d{'ŷ' if word == 'dyhat' else word[1:]}"
    return letter + digits if not stem else letter


_TOKENS = re.compile(r"[_^]|\{[^{}]*\}|[A-Za-z][a-z]{2,}|sm|Re|\d+|.\u0304|.", re.DOTALL)


@cache
def _row(text: str) -> Row:
    found: list[Piece] = []
    tokens = _TOKENS.findall(text)
    while tokens:
        token = tokens.pop(0)
        if token in "_^":
            following = tokens.pop(0)
            group = _row(following[1:-1]) if following[0] == "{" else _row(following)
            base = found.pop()
            inner = base if isinstance(base, Script) else Script(base)
            if token == "_" and inner.below:
                group = (*inner.below, Glyphs(" "), *group)
            below = group if token == "_" else inner.below
            above = group if token == "^" else inner.above
            found.append(Script(inner.base, below, above))
        else:
            found += _row(token[1:-1]) if token.startswith("{") else (Glyphs(token),)
    return tuple(found)


def _is_unit(row: Row) -> bool:
    """Whether brackets hold it together, or it is one letter or word, with what is below."""
    first, last = row[0], row[-1]
    if len(row) == 1:
        return not (isinstance(first, Script) and first.above)
    ends = tuple(p.base if isinstance(p, Script) else p for p in (first, last))
    closed = tuple(end.text if isinstance(end, Glyphs) else "" for end in ends)
    if closed in (("‖", "‖"), ("⟨", "⟩")):
        return True
    # σ_min(Z), rank(A)
    opening = row[1]
    return closed[1] == ")" and isinstance(opening, Glyphs) and opening.text == "("
