"""Checks a certificate of deqcheck. Nothing but the standard library; made to be read.

    python verifier.py FILE.json [--show]

A certificate says: on this instance (arrays of rational numbers) these claims hold or are violated.
A claim is a formula over names; a name stands for a row of a table, which is an operation on rows
before it or an array of the instance. All of it is computed again here, from the arrays alone, in
intervals with rational ends. The certificate helps only with what is easier to check than to find:
which units of an equilibrium are active, and between which numbers an eigenvalue lies; both are
proved. What cannot be computed here is `not re-checked`.

Trusted are this file and Python. Whether formulas and rows say what the paper says is for the
reader: --show prints them, and `deqcheck verify` compares them with its catalogue.

Exit code 0: every claim is re-checked, or listed as not re-checked. 1: the digest is wrong, or a
claim does not follow. 2: not a certificate. 3: nothing could be re-checked.
"""

# mypy: ignore-errors

import ast
import hashlib
import json
import sys
from fractions import Fraction
from functools import reduce
from math import isqrt
from typing import Any

SCHEMA = "deqcheck-certificate/1"
CHECKED, UNCHECKED, FAILS = "re-checked", "not re-checked", "FAILS"
# Numbers of more bits are rounded outward; a claim that this leaves open is computed again, finer.
# The last ones are for exact numbers, with which equalities are decided.
BITS = (256, 1024, 16384)
# Numbers above 2^RANGE or below its inverse are left alone: exponents must not fill the memory.
RANGE = 100_000
# Products of numbers that one row may take, with the fewest bits (a descent as many as two rows),
# and steps of a descent.
WORK, STEPS = 2_000_000, 200
# Parts of a row that help to compute it, and are proved; they define nothing.
WITNESSES = ("pattern", "within", "near")
# Filled in below by `deqcheck verify --source`: statement -> check -> formulas.
CATALOGUE: dict[str, Any] = {}


class Unchecked(Exception):
    """It cannot be computed here: why."""


class Imprecise(Exception):
    """More bits may help."""


class Wrong(Exception):
    """The certificate says something that is not so: what."""


class Limits:
    bits, left = BITS[0], WORK


def spend(work):
    Limits.left -= work
    if Limits.left < 0:
        raise Unchecked("too large")


# ---- 1. Numbers: intervals [lo, hi] with rational ends, exact where lo == hi --------------------


def rounded(x, up):
    """x, or where it is long a number of `bits` bits below or above it."""
    p, q = x.numerator, x.denominator
    if p.bit_length() <= Limits.bits and q.bit_length() <= Limits.bits:
        return x
    size = p.bit_length() - q.bit_length()
    if abs(size) > RANGE:
        raise Unchecked("a number out of range")
    shift = Limits.bits - size
    p, q = (p << shift, q) if shift > 0 else (p, q << -shift)
    whole = -(-p // q) if up else p // q
    return Fraction(whole, 1 << shift) if shift > 0 else Fraction(whole << -shift)


class Number:
    """Of the root of a rational number also its `square` is kept, which is exact."""

    __slots__ = ("exact", "hi", "lo", "square")

    def __init__(self, lo, hi=None, square=None):
        self.lo = rounded(lo, False)
        self.hi = rounded(lo if hi is None else hi, True)
        self.exact = self.lo == self.hi
        self.square = square if square is not None and square.exact else None

    def squared(self):
        """Exactly, or None."""
        found = self.square if self.square is not None else self * self if self.exact else None
        return found if found is not None and found.exact else None

    def __add__(self, other):
        if self is NONE or other is NONE:
            return other if self is NONE else self
        return Number(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self):
        return Number(-self.hi, -self.lo)

    def __sub__(self, other):
        return Number(self.lo - other.hi, self.hi - other.lo)

    def __mul__(self, other):
        if self is NONE or other is NONE:
            return NONE
        if self.exact and other.exact:
            return Number(self.lo * other.lo)
        if self is other and self.square is not None:
            return self.square
        if self.lo >= 0:
            lo = (self.lo if other.lo >= 0 else self.hi) * other.lo
            ends = lo, (self.hi if other.hi >= 0 else self.lo) * other.hi
        elif other.lo >= 0:
            return other * self
        else:
            ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        square = None
        if self.square is not None or other.square is not None:
            parts = self.squared(), other.squared()
            square = parts[0] * parts[1] if None not in parts else None
        return Number(min(ends), max(ends), square)

    def __truediv__(self, other):
        if other.lo <= 0 <= other.hi:
            raise Unchecked("a division by 0") if other.exact else Imprecise
        square = None if other.square is None else UNIT / other.square
        return self * Number(1 / other.hi, 1 / other.lo, square)

    def __abs__(self):
        if self.lo < 0 < self.hi:
            return Number(ZERO, max(-self.lo, self.hi))
        return self if self.lo >= 0 else -self

    def sign(self):
        """-1, 0 or 1."""
        if self.lo > 0 or self.hi < 0 or self.exact:
            return (self.lo > 0) - (self.hi < 0)
        raise Imprecise


ZERO, ONE = Fraction(0), Fraction(1)
NONE, UNIT, TWO = Number(ZERO), Number(ONE), Number(Fraction(2))


def fraction(text: Any) -> Fraction:
    """From p/q or a decimal; an exponent of six digits would fill the memory. A truth value is no
    number, nor is a double, whose digits JSON does not fix."""
    if isinstance(text, bool | float):
        raise Wrong("a number that is not written as p/q")
    if isinstance(text, str) and len(text.lower().partition("e")[2]) > 5:
        raise Wrong("a number out of range")
    return Fraction(text)


def number(text):
    return Number(fraction(text))


def larger(a, b):
    if a.lo >= b.hi or b.lo >= a.hi:
        return a if a.lo >= b.hi else b
    return Number(max(a.lo, b.lo), max(a.hi, b.hi))


def smaller(a, b):
    if a.lo >= b.hi or b.lo >= a.hi:
        return b if a.lo >= b.hi else a
    return Number(min(a.lo, b.lo), min(a.hi, b.hi))


def inexact():
    if Limits.bits == BITS[-1]:
        raise Unchecked(f"open at {BITS[-2]} bits")


def root_end(x, up):
    """Below or above the square root of x >= 0; met where that is rational."""
    p, q = x.numerator, x.denominator
    if isqrt(p) ** 2 == p and isqrt(q) ** 2 == q:
        return Fraction(isqrt(p), isqrt(q))
    shift = max(0, min(Limits.bits, BITS[-2]) - (p.bit_length() - q.bit_length()) // 2)
    return Fraction(isqrt((p << 2 * shift) // q) + up, 1 << shift)


def root(a):
    """Of max(a, 0): a number whose root is taken is not negative, whatever its interval says."""
    if a.hi < 0:
        raise Unchecked("the root of a negative number")
    return Number(root_end(max(a.lo, ZERO), False), root_end(a.hi, True), a)


def exp_end(x, up):
    """exp(x) = exp(y)^(2^k), |y| <= 1/2, by the series in integers times 2^-scale: each of n terms
    is wrong by less than 4 units, and so is what follows when a term has no unit left."""
    if not x:
        return ONE
    inexact()
    spend(20)
    k = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
    if k > 17:
        raise Unchecked("an exponential out of range")
    scale = Limits.bits + 2 * k + 16
    y, term, found, n = (x.numerator << scale) // (x.denominator << k), 1 << scale, 0, 0
    while term not in (0, -1):
        found, n = found + term, n + 1
        term = (term * y >> scale) // n
    spread = 4 * n + 4
    ends = Number(Fraction(found - spread, 1 << scale), Fraction(found + spread, 1 << scale))
    for _ in range(k):
        ends = ends * ends
    return ends.hi if up else ends.lo


def exp(a):
    return Number(exp_end(a.lo, False), exp_end(a.hi, True))


def atanh_twice(y):
    """2 (y + y^3/3 + y^5/5 + ...) for 0 <= y <= 1/3, in integers times 2^-scale: each term is wrong
    by less than 4 units, and so is what follows when a power has no unit left."""
    scale = Limits.bits + 16
    y = (y.numerator << scale) // y.denominator
    power, found, n = y, 0, 1
    while power:
        found, power, n = found + power // n, power * (y * y >> scale) >> scale, n + 2
    spread, unit = 2 * n + 4, Fraction(1, 1 << scale - 1)
    return Number((found - spread) * unit, (found + spread) * unit)


def log_at(x):
    """log x = e log 2 + 2 atanh((m - 1)/(m + 1)) with x = m 2^e, 1 <= m < 2."""
    if x == 1:
        return NONE
    inexact()
    e = x.numerator.bit_length() - x.denominator.bit_length()
    e -= x < Fraction(2) ** e
    m = x / Fraction(2) ** e
    return Number(Fraction(e)) * atanh_twice(Fraction(1, 3)) + atanh_twice((m - 1) / (m + 1))


def log(a):
    if a.lo <= 0:
        raise Imprecise if a.hi > 0 else Unchecked("the logarithm of a number that is not positive")
    return Number(log_at(a.lo).lo, log_at(a.hi).hi)


def raised(a, b):
    if b.exact and b.lo.denominator == 1 and 0 <= b.lo <= 64:
        odd, half = int(b.lo) % 2, int(b.lo) // 2
        return reduce(Number.__mul__, [a] * odd + [a * a] * half or [UNIT])
    return exp(log(a) * b)


# ---- 2. Matrices: lists of rows -----------------------------------------------------------------


def pairs(a, b):
    return zip(a, b, strict=True)


def matrix(rows, columns, entry):
    spend(rows * columns)
    return [[entry(i, j) for j in range(columns)] for i in range(rows)]


def width(a):
    return len(a[0]) if a else 0


def eye(n):
    return matrix(n, n, lambda i, j: UNIT if i == j else NONE)


def turned(a):
    return [list(column) for column in zip(*a, strict=True)]


def entries(a):
    return [x for row in a for x in row]


def total(numbers):
    return reduce(Number.__add__, numbers, NONE)


def squares(numbers):
    return total(x * x for x in numbers)


def product(a, b):
    columns = turned(b)
    spend(len(a) * width(a) * len(columns))
    return [[total(x * y for x, y in pairs(row, c)) for c in columns] for row in a]


def mapped(f, *matrices):
    spend(len(matrices[0]) * width(matrices[0]))
    return [[f(*xs) for xs in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def plus(a, b):
    return mapped(Number.__add__, a, b)


def minus(a, b):
    return mapped(Number.__sub__, a, b)


def scaled(c, a):
    return mapped(lambda x: c * x, a)


def pivot(numbers):
    """The place of the number that is farthest from 0; None where all are 0."""
    sizes = [max(x.lo, -x.hi) for x in numbers]
    best = max(range(len(sizes)), key=sizes.__getitem__, default=None)
    if best is None or sizes[best] > 0:
        return best
    if all(x.exact for x in numbers):
        return None
    raise Imprecise


def eliminated(a, columns):
    """Row echelon form by the first columns, and the columns of its pivots."""
    rows, found, r = [list(row) for row in a], [], 0
    for j in range(columns):
        best = pivot([row[j] for row in rows[r:]])
        if best is None:
            continue
        rows[r], rows[r + best] = rows[r + best], rows[r]
        spend((len(rows) - r) * (len(rows[r]) - j))
        for i in range(r + 1, len(rows)):
            f = rows[i][j] / rows[r][j]
            rest = [x - f * y for x, y in pairs(rows[i][j + 1 :], rows[r][j + 1 :])]
            rows[i] = [*rows[i][:j], NONE, *rest]
        found.append(j)
        r += 1
    return rows, found


def rank(a):
    return len(eliminated(a, width(a))[1])


def solution(a, b):
    n = len(a)
    if any(len(row) != n for row in a):
        raise Wrong("a system that is not square")
    rows, found = eliminated([x + y for x, y in pairs(a, b)], n)
    if len(found) < n:
        raise Unchecked("a singular system")
    x = [None] * n
    for i in reversed(range(n)):
        right = rows[i][n:]
        for k in range(i + 1, n):
            right = [p - rows[i][k] * q for p, q in pairs(right, x[k])]
        x[i] = [p / rows[i][i] for p in right]
    return x


def negative(a):
    """How many eigenvalues of a symmetric matrix are negative: as many as pivots of L D L^T, by
    the law of inertia. That none is 0 is seen on the way."""
    left, count = [list(row) for row in a], 0
    spend(len(a) ** 3 // 3)
    while left:
        best = pivot([left[i][i] for i in range(len(left))])
        if best is None:
            raise Imprecise
        row, d = left[best], left[best][best]
        count += d.sign() < 0
        rest = [i for i in range(len(left)) if i != best]
        factors = {i: left[i][best] / d for i in rest}
        left = [[left[i][j] - factors[i] * row[j] for j in rest] for i in rest]
    return count


def below(a, c):
    """How many eigenvalues are below c, which is none of them."""
    return negative(minus(a, scaled(Number(c), eye(len(a)))))


def eigenvalue(a, k, within=None):
    """The k-th smallest of a symmetric matrix, from 0, or from the largest, -1, on; the
    certificate says between which numbers."""
    n = len(a)
    if any(x.lo > y.hi or y.lo > x.hi for x, y in pairs(entries(a), entries(turned(a)))):
        raise Unchecked("eigenvalues of a matrix that is not symmetric")
    if within is None:
        raise Unchecked("an eigenvalue without an enclosure")
    # What its two halves cannot be told apart by is not there: (a + a^T)/2 is a.
    a = scaled(Number(Fraction(1, 2)), plus(a, turned(a)))
    k, lo, hi = range(n)[k], *map(fraction, within)
    # An eigenvalue that is known exactly is so often one as I - a lacks rank.
    near = Fraction(1, 1 << (Limits.bits // 4)) * max(abs(lo), ONE) if lo == hi else ZERO
    before, after = below(a, lo - near), below(a, hi + near)
    if not before <= k < after:
        raise Wrong("an eigenvalue is not where the certificate says")
    if near and after - before != n - rank(minus(a, scaled(Number(lo), eye(n)))):
        raise Imprecise
    return Number(lo, hi)


def singular_value(a, k, within=None):
    """The k-th largest, from 1: the root of an eigenvalue of a a^T or a^T a."""
    if k < 1:
        raise Wrong("singular values are counted from 1")
    lo, hi = map(fraction, within or (0, 0))
    fewer = k > min(len(a), width(a))
    if fewer and not lo <= 0 <= hi:
        raise Wrong("a singular value that is not there is 0")
    if not fewer and within is not None and hi == 0 and rank(a) >= k:
        raise Wrong("a singular value is not 0")
    if fewer or (within is not None and hi == 0):
        return NONE
    gram = product(a, turned(a)) if len(a) < width(a) else product(turned(a), a)
    return root(eigenvalue(gram, -k, within))


def onto_row_space(a):
    """R^T (R R^T)^-1 R with independent rows R of a."""
    R = [a[i] for i in eliminated(turned(a), len(a))[1]]
    return product(turned(R), solution(product(R, turned(R)), R)) if R else product(turned(a), a)


def determinant(a):
    if not a:
        return UNIT
    spend(len(a))
    minors = [determinant([row[:j] + row[j + 1 :] for row in a[1:]]) for j in range(len(a))]
    return total((-x if j % 2 else x) * minors[j] for j, x in enumerate(a[0]))


def kronecker(a, b):
    spend(len(a) * width(a) * len(b) * width(b))
    p, q = len(b), width(b)
    return matrix(len(a) * p, width(a) * q, lambda i, j: a[i // p][j // q] * b[i % p][j % q])


def khatri_rao(a, b):
    """Of each pair of columns the Kronecker product."""
    return turned([[x * y for x in p for y in q] for p, q in pairs(turned(a), turned(b))])


# ---- 3. Equilibria z = relu(W z + c), and the softmax -------------------------------------------


def unique(W):
    """Raises Unchecked unless there is at most one for every c: W contracts in the 2-norm, or the
    symmetric part of I - W is positive definite, or |W| x < x for an x > 0, so that W contracts in
    a weighted maximum norm."""
    n, one, doubt = len(W), eye(len(W)), False
    for proved in (
        lambda: not negative(minus(one, product(turned(W), W))),
        lambda: not negative(minus(plus(one, one), plus(W, turned(W)))),
        lambda: all(x.sign() > 0 for (x,) in solution(minus(one, mapped(abs, W)), [[UNIT]] * n)),
    ):
        try:
            if proved():
                return
        except Imprecise:
            doubt = True
        except Unchecked:
            pass
    raise Imprecise if doubt else Unchecked("nothing shows that the equilibrium is the only one")


def on_active(W, active, right, transposed=False):
    """x with (I - W) x = right on the active units, or (I - W)^T x = right; 0 elsewhere."""
    system = [[(UNIT if i == k else NONE) - W[i][k] for k in active] for i in active]
    found = solution(turned(system) if transposed else system, [[right[i]] for i in active])
    x = [NONE] * len(W)
    for i, (value,) in pairs(active, found):
        x[i] = value
    return x


def misplaced(word, z, h):
    """The units that are not where the pattern says: active ones are positive, the others have a
    pre-activation that is not. Which of the two a unit at 0 is called has no effect on z."""
    if set(word) - {"0", "1"}:
        raise Wrong("a pattern is written in 0 and 1")
    wrong = [
        (x.sign() <= 0 if on == "1" else y.hi > 0 and y.sign() > 0)
        for on, x, y in zip(word, z, h, strict=True)
    ]
    return [i for i, out in enumerate(wrong) if out]


def equilibrium(W, C, pattern, moved=False):
    """A column for each sample, and its active units: those of the pattern, unless it is that of
    an earlier step."""
    if pattern is None:
        raise Unchecked("an equilibrium without a pattern")
    unique(W)
    columns, words, m = [], [], len(W)
    if len(C) != m:
        raise Wrong("W and C are not of one equilibrium")
    for j, (word, c) in enumerate(pairs(pattern, turned(C))):
        for _ in range(2 * m + 2):
            active = [i for i, on in zip(range(m), word, strict=True) if on == "1"]
            z = on_active(W, active, c)
            h = [c[i] + total(W[i][k] * z[k] for k in active) for i in range(m)]
            wrong = misplaced(word, z, h)
            if not wrong:
                break
            if not moved:
                raise Wrong(f"the pattern of sample {j} is not that of an equilibrium")
            word = "".join("10"[int(on)] if i in wrong else on for i, on in enumerate(word))
        else:
            raise Unchecked("the pattern was not found")
        columns.append(z)
        words.append(word)
    return turned(columns), words


def linear(W, H, B, transposed):
    """Columns x with (I - W) x = b, or its transpose, on the units that are active in H."""
    columns = []
    for j, h in enumerate(turned(H)):
        active = [i for i, x in enumerate(h) if x.sign() > 0]
        b = [row[j if width(B) > 1 else 0] for row in B]
        columns.append(on_active(W, active, b, transposed))
    return turned(columns)


def tanh(x):
    return UNIT - TWO / (exp(x + x) + UNIT)


def clipped(x):
    return larger(smaller(x, UNIT), -UNIT)


def within_one(x):
    return UNIT if (x + UNIT).sign() > 0 and (x - UNIT).sign() <= 0 else NONE


# The activations s of OptEq: s, s', how many kinks it has, and inf s'; sup s' is 1 for all of them.
# At a kink s' is the slope to the left.
ACTIVATIONS = {
    "identity": (lambda x: x, lambda x: UNIT, NONE, UNIT),
    "relu": (lambda x: larger(x, NONE), lambda x: UNIT if x.sign() > 0 else NONE, UNIT, NONE),
    "hardtanh": (clipped, within_one, TWO, NONE),
    "tanh": (tanh, lambda x: UNIT - tanh(x) * tanh(x), NONE, NONE),
    "softplus": (lambda x: log(UNIT + exp(x)), lambda x: UNIT / (UNIT + exp(-x)), NONE, NONE),
}


def activation(kind, k=None):
    """Of this kind; with k, the mix k t + (1 - k) s(t)."""
    if kind not in ACTIVATIONS:
        raise Unchecked(f"{kind} is no activation that is known here")
    s, slope, kinks, lowest = ACTIVATIONS[kind]
    if k is None:
        return s, slope, kinks, lowest
    k = number(k)
    rest = UNIT - k
    if k.lo < 0 or k.hi > 1:
        raise Wrong("a share that is not between 0 and 1")
    return (lambda x: k * x + rest * s(x), lambda x: k + rest * slope(x), kinks, k + rest * lowest)


def square_norm(W):
    """A number above |W|^2: of some next to 1 the least that is seen to be one."""
    gram = product(W, turned(W))
    for j in (2, 4, 8, 16, 32, 48, 0):
        c = ONE - Fraction(1, 1 << j) if j else ONE + Fraction(1, 1 << 40)
        try:
            if not negative(minus(scaled(Number(c), eye(len(W))), gram)):
                return Number(c)
        except Imprecise:
            pass
    return squares(entries(W))


def opteq_equilibrium(*parts, alpha, kind, k=None, near=None):
    """Z = f_L(...f_1(Z)) with f(Z) = a W^T s(W Z + C) + (1 - a) Z. Since 0 <= s' <= 1 each f has
    the Lipschitz constant a |W|^2 + 1 - a; where their product q is below 1, there is one
    equilibrium, and from any state it is at most residual/(1 - q) away."""
    if near is None:
        raise Unchecked("an equilibrium without a state next to it")
    a, s = number(alpha), activation(kind, k)[0]
    if a.lo < 0 or a.hi > 1:
        raise Wrong("a share that is not between 0 and 1")
    weights, drives = parts[: len(parts) // 2], parts[len(parts) // 2 :]
    start = Z = mapped(number, near)
    q = UNIT
    for W, C in pairs(weights, drives):
        q = q * (a * square_norm(W) + UNIT - a)
        G = mapped(s, plus(product(W, Z), C))
        Z = plus(scaled(a, product(turned(W), G)), scaled(UNIT - a, Z))
    if q.hi >= 1:
        raise Unchecked("nothing shows that the equilibrium is the only one")
    residual = root(squares(entries(minus(Z, start))))
    if residual.lo > Fraction(1, 1 << 64) * (1 + max(abs(x).hi for x in entries(start))):
        raise Wrong("there is no equilibrium next to the state")
    away = (residual / (UNIT - q)).hi
    return mapped(lambda x: Number(x.lo - away, x.hi + away), start)


def softmax(A):
    """Of each column: s_i = 1/sum_k exp(a_k - a_i)."""

    def entry(i, j):
        return UNIT / total([UNIT] + [exp(A[k][j] - A[i][j]) for k in range(len(A)) if k != i])

    return matrix(len(A), width(A), entry)


# ---- 4. The rows: what each operation means, of other rows and of the numbers that it has -------

VOCABULARY = {
    "number": lambda value: number(value),
    # What a check is free to choose: its claim is about these numbers.
    "chosen": lambda value: mapped(number, value) if isinstance(value, list) else number(value),
    "plus": Number.__add__,
    "times": Number.__mul__,
    "over": Number.__truediv__,
    "minus": Number.__neg__,
    "size": abs,
    "root": root,
    "exp": exp,
    "log": log,
    "log1p": lambda a: log(UNIT + a),
    "smaller": smaller,
    "larger": larger,
    "identity": lambda n: eye(n),
    "constant": lambda rows, columns, value: matrix(rows, columns, lambda i, j: number(value)),
    "literal": lambda entries: mapped(number, entries),
    "product": product,
    "sum": plus,
    "difference": minus,
    "transpose": turned,
    "scaled": scaled,
    "hadamard": lambda a, b: mapped(Number.__mul__, a, b),
    "columns_scaled": lambda a, c: [[x * y for x, (y,) in pairs(row, c)] for row in a],
    "power": lambda a, n: spend(n) or reduce(product, [a] * n),
    "relu": lambda a: mapped(lambda x: larger(x, NONE), a),
    "where_positive": lambda a, b: mapped(lambda x, y: y if x.sign() > 0 else NONE, a, b),
    "moduli": lambda a: mapped(abs, a),
    "stacked": lambda a, b: a + b,
    "column": lambda a, j: [[row[j]] for row in a],
    "columns": lambda a, first, last: [row[first:last] for row in a],
    "commutation": lambda n: matrix(
        n * n, n * n, lambda i, j: UNIT if divmod(i, n) == divmod(j, n)[::-1] else NONE
    ),
    "diagonal": lambda a: [[a[i][i]] for i in range(min(len(a), width(a)))],
    "vec": lambda a: [[x] for x in entries(turned(a))],
    "unvec": lambda a, rows, columns: matrix(rows, columns, lambda i, j: a[j * rows + i][0]),
    "kronecker": kronecker,
    "khatri_rao": khatri_rao,
    "solution": solution,
    "inverse": lambda a: solution(a, eye(len(a))),
    "onto_row_space": onto_row_space,
    "entry": lambda a, i, j: a[i][j],
    "count": lambda a, axis: number(width(a) if axis else len(a)),
    "sum_of_squares": lambda a: squares(entries(a)),
    "summed": lambda a: total(entries(a)),
    "trace": lambda a: total(a[i][i] for i in range(len(a))),
    "smallest": lambda a: reduce(smaller, entries(a)),
    "largest": lambda a: reduce(larger, entries(a)),
    "norm1": lambda a: reduce(larger, [total(map(abs, column)) for column in turned(a)]),
    "largest_square": lambda a: reduce(larger, map(squares, turned(a))),
    "shortest_column": lambda a: root(reduce(smaller, map(squares, turned(a)))),
    "determinant": determinant,
    "rank": lambda a: number(rank(a)),
    "eigenvalue": eigenvalue,
    "singular_value": singular_value,
    # There is one, and no other: that is proved whenever the row of Z is made.
    "equilibria": lambda Z: UNIT,
    "relu_adjoint": lambda W, H, B: linear(W, H, B, True),
    "relu_tangent": lambda W, H, B: linear(W, H, B, False),
    "activation": lambda a, kind, k=None: mapped(activation(kind, k)[0], a),
    "activation_slope": lambda a, kind, k=None: mapped(activation(kind, k)[1], a),
    "opteq_equilibrium": opteq_equilibrium,
    "softmax": softmax,
}


class Table:
    """The rows with one set of arrays, each computed once; `before` is the step before."""

    def __init__(self, rows, arrays, before=None):
        self.rows, self.arrays, self.before, self.known, self.words = rows, arrays, before, {}, {}
        self.spent = 0

    def behind(self, place):
        """The rows of which a row is made, and itself, in order."""
        found, left = set(), [(place, len(self.rows))]
        while left:
            here, end = left.pop()
            if not 0 <= here < end:
                raise Wrong("a row that is made of later ones")
            if here not in found:
                found.add(here)
                left += [(earlier, here) for earlier in self.rows[here].get("of", [])]
        return sorted(found)

    def at(self, place):
        if place not in self.known:
            for here in self.behind(place):
                if here not in self.known:
                    Limits.left = allowed = WORK * BITS[0] // Limits.bits
                    try:
                        self.known[here] = self.made(here)
                    except (Imprecise, Unchecked, Wrong) as stop:
                        self.known[here] = stop
                    self.spent += allowed - Limits.left
        if isinstance(self.known[place], Exception):
            raise self.known[place]
        return self.known[place]

    def made(self, place):
        row = dict(self.rows[place])
        op, of = row.pop("op"), row.pop("of", [])
        if op == "equilibria" and self.rows[of[0]]["op"] != "relu_equilibrium":
            raise Wrong("equilibria of what is none")
        parts = [self.at(earlier) for earlier in of]
        if op == "array":
            return self.arrays[row["name"]]
        if op == "relu_equilibrium":
            moved = self.before is not None
            pattern = self.before.pattern(place) if moved else row.get("pattern")
            found, self.words[place] = equilibrium(*parts, pattern, moved)
            return found
        if op not in VOCABULARY:
            raise Unchecked(f"{op} is not part of the vocabulary")
        if self.before is not None and ("within" in row or "near" in row):
            raise Unchecked("a witness of a later step")
        return VOCABULARY[op](*parts, **row)

    def derived(self, place):
        """Whether it is made of arrays (of the instance, or written out, as drawn points are) or
        of what is chosen, not of numbers alone."""
        ops = {self.rows[here]["op"] for here in self.behind(place)}
        return bool(ops & {"array", "literal", "chosen"})

    def pattern(self, place):
        self.at(place)
        return self.words[place]


class Descent:
    """The tables of the steps theta - step * gradient, as far as they were asked for."""

    def __init__(self, body):
        arrays = {n: mapped(number, a) for n, a in body["instance"]["arrays"].items()}
        self.tables, self.told = [Table(body["rows"], arrays)], body.get("descent")
        self.given = {n: number(x) for n, x in body["instance"]["numbers"].items()}
        for name, (array, axis) in body["instance"]["sizes"].items():
            self.given[name] = number(width(arrays[array]) if axis else len(arrays[array]))
        if self.told and number(self.told["step"]).lo != self.given["step"].lo:
            raise Wrong("the step of the descent is not that of the instance")
        told = body["instance"].get("activation")
        if told and told["kind"] in ACTIVATIONS:
            _, _, kinks, lowest = activation(**told)
            self.given |= {"kinks": kinks, "kappa": lowest, "slope": UNIT}

    def settled(self, name, value, constants):
        """A number that is not made of arrays must be one of the instance, or of the statement."""
        known = [self.given[name]] if name in self.given else []
        known += [number(constants[name])] if name in constants else []
        if name == "noise":
            known = [NONE]
        if not any(x.exact and value.exact and x.lo == value.lo for x in known):
            raise Unchecked(f"{name} is given, not computed")
        return value

    def at(self, k):
        if k < 0:
            raise Wrong("a step before the first one")
        if k > STEPS or (k and not self.told):
            raise Unchecked(f"after more than {STEPS if self.told else 0} steps")
        while len(self.tables) <= k:
            if sum(each.spent for each in self.tables[1:]) > 2 * WORK * BITS[0] // Limits.bits:
                raise Unchecked("too large")
            last = self.tables[-1]
            step, moved = number(self.told["step"]), dict(last.arrays)
            for name, place in self.told["gradient"].items():
                moved[name] = minus(moved[name], scaled(step, last.at(place)))
            self.tables.append(Table(last.rows, moved, last))
        return self.tables[k]


# ---- 5. Formulas and claims ---------------------------------------------------------------------

RELATIONS = {"<=": (-1, 0), ">=": (0, 1), "==": (0,), "<": (-1,), ">": (1,)}
BINARY = {
    ast.Add: Number.__add__,
    ast.Sub: Number.__sub__,
    ast.Mult: Number.__mul__,
    ast.Div: Number.__truediv__,
    ast.Pow: raised,
}
FUNCTIONS = {
    "exp": exp,
    "log": log,
    "sqrt": root,
    "cosh": lambda x: (exp(x) + exp(-x)) / TWO,
    "min": lambda *xs: reduce(smaller, xs),
    "max": lambda *xs: reduce(larger, xs),
    "abs": abs,
}


def split(formula):
    for relation in RELATIONS:
        left, found, right = formula.partition(relation)
        if found:
            return left, relation, right
    raise Wrong(f"{formula!r} is no relation")


def evaluated(text, leaf):
    """One side of a formula; `leaf` gives the number of a name."""

    text = text.strip().replace("^", "**")

    def value(node):
        if isinstance(node, ast.Constant):
            return number(ast.get_source_segment(text, node))
        if isinstance(node, ast.Name):
            return leaf(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call) and node.func.id in FUNCTIONS and not node.keywords:
            return FUNCTIONS[node.func.id](*map(value, node.args))
        raise Wrong(f"{text!r} is no formula")

    return value(ast.parse(text, mode="eval").body)


def holds(a, relation, b):
    """Intervals that touch decide <= and its kind, though the sign of a - b is open; of numbers
    that are not negative also their squares decide."""
    if not (a.exact and b.exact) and min(a.lo, b.lo) >= 0:
        parts = a.squared(), b.squared()
        a, b = parts if None not in parts else (a, b)
    if relation in ("<=", ">") and a.hi <= b.lo:
        return relation == "<="
    if relation in (">=", "<") and a.lo >= b.hi:
        return relation == ">="
    if a.hi < b.lo or a.lo > b.hi or (a.exact and b.exact):
        return (a.lo > b.hi) - (a.hi < b.lo) in RELATIONS[relation]
    raise Imprecise


def enclosed(a, ends):
    """Whether the number that was computed is sure to lie between the ends of the certificate."""
    if ends is None:
        raise Unchecked("a side without an interval")
    lo, hi = map(fraction, ends)
    if a.lo > hi or a.hi < lo:
        raise Wrong("a side is not where the certificate says")
    return lo <= a.lo <= a.hi <= hi


def check(claim, descent, constants):
    """One claim, with the bits that numbers have now: at the start, or at its points of a run."""
    left, relation, right = split(claim["formula"])
    if claim["decision"] not in ("holds", "violated"):
        raise Unchecked(claim["decision"])
    if not claim.get("points", [0]):
        raise Unchecked("no point of a run")
    for k, *sides in claim.get("points", [(0, claim["left"], claim["right"])]):

        def leaf(name, k=k):
            if "points" in claim and name in ("k", "t"):
                return number(k) * (number(descent.told["step"]) if name == "t" else UNIT)
            if claim["leaves"].get(name) is None:
                raise Unchecked(f"{name} is not defined by rows")
            table = descent.at(k if name in claim.get("moving", []) else 0)
            value = table.at(claim["leaves"][name])
            # Exact numbers have no noise.
            if name != "noise" and table.derived(claim["leaves"][name]):
                return value
            return descent.settled(name, value, constants)

        a, b = evaluated(left, leaf), evaluated(right, leaf)
        inside = [enclosed(a, sides[0]), enclosed(b, sides[1])]
        if holds(a, relation, b) != (claim["decision"] == "holds"):
            raise Wrong(f"{claim['formula']} is said to be {claim['decision']}, which is not so")
        if not all(inside):
            raise Imprecise


def status(claim, descents, constants):
    """(word, reason): with more and more bits, until it is settled."""
    for Limits.bits in BITS:
        try:
            check(claim, descents[Limits.bits], constants)
            return CHECKED, ""
        except Imprecise:
            continue
        except Unchecked as stop:
            return UNCHECKED, str(stop)
        except Wrong as stop:
            return FAILS, str(stop)
    return UNCHECKED, f"open at {BITS[-1]} bits"


# ---- 6. Verdicts --------------------------------------------------------------------------------


def follows(outcome, hypotheses, conclusions):
    """Whether an outcome follows from claims, each given as (decision, whether it is re-checked):
    None where it does, but rests on some that are not."""
    every = hypotheses + conclusions
    against = [sure for decision, sure in hypotheses if decision == "violated"]
    broken = [sure for decision, sure in conclusions if decision == "violated"]
    if outcome in ("confirmed", "met"):
        told = all(decision == "holds" for decision, _ in every)
        told = told and bool(every if outcome == "met" else conclusions)
        return told and (all(sure for _, sure in every) or None)
    if outcome == "refuted":
        told = all(decision == "holds" for decision, _ in hypotheses) and bool(broken)
        return told and ((all(sure for _, sure in hypotheses) and any(broken)) or None)
    if outcome in ("not applicable", "not met"):
        violated = against + (broken if outcome == "not met" else [])
        return bool(violated) and (any(violated) or None)
    return None


def verify_body(body):
    """Rows (statement, edition, claim, word, reason); the outcome comes after its claims."""
    descents, found = {}, []
    if len({(each["id"], each["edition"]) for each in body["verdicts"]}) < len(body["verdicts"]):
        raise Wrong("a statement is judged twice")
    for Limits.bits in BITS:
        descents[Limits.bits] = Descent(body)
    for verdict in body["verdicts"]:
        where, known = (verdict["id"], verdict["edition"]), {"hypotheses": [], "conclusions": []}
        for part, claims in known.items():
            for claim in verdict[part]:
                word, reason = status(claim, descents, verdict["constants"])
                if CATALOGUE and word == CHECKED:
                    word, reason = catalogued(verdict["id"], claim)
                found.append((*where, claim["name"], word, reason))
                claims.append((claim["decision"], word == CHECKED))
        answer = follows(verdict["outcome"], known["hypotheses"], known["conclusions"])
        word = {True: CHECKED, False: FAILS, None: UNCHECKED}[answer]
        reason = {CHECKED: "", FAILS: "it does not follow", UNCHECKED: "see its claims"}[word]
        found.append((*where, "outcome: " + verdict["outcome"], word, reason))
    return found + list(refuted_witnesses(descents))


def catalogued(id_, claim):
    """A check that the catalogue knows has its formula; the others are not vouched for."""
    known = CATALOGUE.get(id_, {}).get(claim["name"], []) + CATALOGUE[""].get(claim["name"], [])
    if known and claim["formula"] not in known:
        return FAILS, f"{claim['formula']} is not its formula"
    return (CHECKED, "") if known else (UNCHECKED, "a check that is not in the catalogue")


def refuted_witnesses(descents):
    """The witnesses that are wrong, whether a claim needs them or not."""
    for place, row in enumerate(descents[BITS[0]].at(0).rows):
        for Limits.bits in BITS[:2] if any(name in row for name in WITNESSES) else ():
            try:
                descents[Limits.bits].at(0).at(place)
                break
            except Wrong as stop:
                yield "", "", f"row {place}", FAILS, str(stop)
                break
            except Unchecked:
                break
            except Imprecise:
                pass


# ---- 7. Files -----------------------------------------------------------------------------------


def digest(body: Any) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read(stream: Any) -> Any:
    """The JSON of a file. Raises ValueError where it is not plain: of two equal keys a reader may
    see the one and this program the other."""

    def plain(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key is there twice")
        return dict(pairs)

    def refused(text):
        raise ValueError(f"{text} is no number")

    return json.load(stream, object_pairs_hook=plain, parse_constant=refused)


def verify(certificate: Any) -> list[Any]:
    """The rows of a certificate that was read. Raises ValueError where it is none."""
    if not isinstance(certificate, dict) or certificate.get("schema") != SCHEMA:
        raise ValueError(f"not a certificate of the schema {SCHEMA}")
    if certificate.keys() - {"schema", "sha256", "body"}:
        raise ValueError("not a certificate: what stands beside its body has no digest")
    try:
        if digest(certificate["body"]) != certificate["sha256"]:
            return [("", "", "sha256", FAILS, "the digest is not that of the body")]
        return verify_body(certificate["body"])
    except Wrong as stop:
        return [("", "", "body", FAILS, str(stop))]
    except Unchecked as error:
        raise ValueError(f"not a certificate: {error}") from None
    except (
        *(ArithmeticError, AttributeError, LookupError, SyntaxError, TypeError),
        *(RecursionError, MemoryError),
    ) as error:
        raise ValueError(f"not a certificate: {type(error).__name__}: {error}") from None


def exit_code(words: list[str]) -> int:
    return 1 if FAILS in words else 0 if CHECKED in words else 3


def show(body):
    """The definitions, row by row, and the formulas that use them."""
    for place, told in enumerate(body["rows"]):
        row = dict(told)
        op, of = row.pop("op"), [f"r{earlier}" for earlier in row.pop("of", [])]
        given = [f"{name}={x}" for name, x in row.items() if name not in WITNESSES]
        print(f"r{place} = {op}({', '.join(of + given)})")
    for verdict in body["verdicts"]:
        for claim in verdict["hypotheses"] + verdict["conclusions"]:
            leaves = [f"{n} = {'?' if r is None else f'r{r}'}" for n, r in claim["leaves"].items()]
            where = f"{verdict['id']} ({verdict['edition']}) {claim['name']}"
            print(f"{where}: {claim['formula']} with {', '.join(leaves)}")


def main(arguments: list[str]) -> int:
    files = [each for each in arguments if each != "--show"]
    if len(files) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(files[0], encoding="utf-8") as stream:
            certificate = read(stream)
        found = verify(certificate)
    except (OSError, ValueError, RecursionError) as error:
        print(f"{files[0]}: {error}", file=sys.stderr)
        return 2
    if "--show" in arguments:
        show(certificate["body"])
    for id_, edition, name, word, reason in found:
        print(f"{word:14}  {id_} ({edition}) {name}" + (f": {reason}" if reason else ""))
    return exit_code([row[3] for row in found])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
