"""Dormand's and Prince's explicit method of order 8 with dense output of order 7.

Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, sections II.5 and II.6. Step
by step, to the last digit, it is `scipy.integrate.DOP853`, whose import alone takes longer than a
short flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

STAGES, EXTENDED, POWER = 12, 16, 7
# Of the step that the error estimate asks for; it grows and shrinks by no more than these.
SAFETY, LEAST, MOST = 0.9, 0.2, 10
EXPONENT = -1 / 8
TOO_SMALL = "Required step size is less than spacing between numbers."

Velocity = Callable[[float, np.ndarray], np.ndarray]


class Dense:
    """The state between two steps, a polynomial in time."""

    def __init__(self, t_old: float, t: float, y_old: np.ndarray, F: np.ndarray):
        self.t_old, self.t, self.y_old, self.F = t_old, t, y_old, F

    def __call__(self, at: float | np.ndarray) -> np.ndarray:
        """At one time, or a column for each of several."""
        t = np.asarray(at)
        x = (t - self.t_old) / (self.t - self.t_old)
        y = np.zeros((*t.shape, len(self.y_old)))
        x = x if t.ndim == 0 else x[:, None]
        for i, part in enumerate(reversed(self.F)):
            y += part
            y *= x if i % 2 == 0 else 1 - x
        y += self.y_old
        return y.T


class Dop853:
    """The solver as those of scipy are used."""

    def __init__(
        self,
        velocity: Velocity,
        t: float,
        y: np.ndarray,
        end: float,
        *,
        rtol: float,
        atol: float | np.ndarray,
        max_step: float,
        first_step: float,
    ):
        self.velocity, self.t, self.y, self.end = velocity, t, np.asarray(y, dtype=float), end
        self.rtol, self.atol, self.max_step = rtol, np.asarray(atol), max_step
        self.status = "running"
        self.t_old, self.y_old, self._step = t, self.y, 0.0
        self.f = velocity(t, self.y)
        self.next_step = first_step
        self._all = np.empty((EXTENDED, len(self.y)))

    def step(self) -> str | None:
        """To the next time; what is wrong if there is none."""
        shortest = float(10 * np.abs(np.nextafter(self.t, np.inf) - self.t))
        size, rejected = min(self.max_step, max(self.next_step, shortest)), False
        while True:
            if size < shortest:
                self.status = "failed"
                return TOO_SMALL
            t = min(self.t + size, self.end)
            h = size = t - self.t
            y, f = self._tried(h)
            scale = self.atol + np.maximum(np.abs(self.y), np.abs(y)) * self.rtol
            error = self._error(h, scale)
            if error < 1:
                break
            size *= max(LEAST, SAFETY * error**EXPONENT)
            rejected = True
        factor = MOST if error == 0 else min(MOST, SAFETY * error**EXPONENT)
        self.next_step = size * (min(1, factor) if rejected else factor)
        self.t_old, self.y_old, self._step = self.t, self.y, h
        self.t, self.y, self.f = t, y, f
        if t >= self.end:
            self.status = "finished"
        return None

    def _tried(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        K = self._all
        K[0] = self.f
        for s in range(1, STAGES):
            K[s] = self.velocity(self.t + C[s] * h, self.y + np.dot(K[:s].T, A[s]) * h)
        y = self.y + h * np.dot(K[:STAGES].T, A[STAGES])
        f = self.velocity(self.t + h, y)
        K[STAGES] = f
        return y, f

    def _error(self, h: float, scale: np.ndarray) -> float:
        K = self._all[: STAGES + 1]
        fifth, third = (np.linalg.norm(np.dot(K.T, E) / scale) ** 2 for E in (E5, E3))
        if fifth == 0 and third == 0:
            return 0.0
        return float(np.abs(h) * fifth / np.sqrt((fifth + 0.01 * third) * len(scale)))

    def dense_output(self) -> Dense:
        """Of the last step, by three more evaluations."""
        K, h, y_old = self._all, self._step, self.y_old
        for s in range(STAGES + 1, EXTENDED):
            K[s] = self.velocity(self.t_old + C[s] * h, y_old + np.dot(K[:s].T, A[s]) * h)
        moved = self.y - y_old
        F = np.empty((POWER, len(y_old)))
        F[0] = moved
        F[1] = h * K[0] - moved
        F[2] = 2 * moved - h * (self.f + K[0])
        F[3:] = h * np.dot(D, K)
        return Dense(self.t_old, self.t, y_old, F)


def _row(entries: Mapping[int, float], length: int) -> np.ndarray:
    found = np.zeros(length)
    found[list(entries)] = list(entries.values())
    return found


C = (
    0.0,
    0.05260015195876773,
    0.0789002279381516,
    0.1183503419072274,
    0.2816496580927726,
    0.3333333333333333,
    0.25,
    0.3076923076923077,
    0.6512820512820513,
    0.6,
    0.8571428571428571,
    1.0,
    1.0,
    0.1,
    0.2,
    0.7777777777777778,
)
# The rows of the stages, of the result (the row after them), and of what dense output needs.
_STAGES: tuple[dict[int, float], ...] = (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {
        0: 0.03709200011850479,
        3: 0.17038392571223998,
        4: 0.10726203044637328,
        5: -0.015319437748624402,
        6: 0.008273789163814023,
    },
    {
        0: 0.6241109587160757,
        3: -3.3608926294469414,
        4: -0.868219346841726,
        5: 27.59209969944671,
        6: 20.154067550477894,
        7: -43.48988418106996,
    },
    {
        0: 0.47766253643826434,
        3: -2.4881146199716677,
        4: -0.590290826836843,
        5: 21.230051448181193,
        6: 15.279233632882423,
        7: -33.28821096898486,
        8: -0.020331201708508627,
    },
    {
        0: -0.9371424300859873,
        3: 5.186372428844064,
        4: 1.0914373489967295,
        5: -8.149787010746927,
        6: -18.52006565999696,
        7: 22.739487099350505,
        8: 2.4936055526796523,
        9: -3.0467644718982196,
    },
    {
        0: 2.273310147516538,
        3: -10.53449546673725,
        4: -2.0008720582248625,
        5: -17.9589318631188,
        6: 27.94888452941996,
        7: -2.8589982771350235,
        8: -8.87285693353063,
        9: 12.360567175794303,
        10: 0.6433927460157636,
    },
    {
        0: 0.054293734116568765,
        5: 4.450312892752409,
        6: 1.8915178993145003,
        7: -5.801203960010585,
        8: 0.3111643669578199,
        9: -0.1521609496625161,
        10: 0.20136540080403034,
        11: 0.04471061572777259,
    },
    {
        0: 0.056167502283047954,
        6: 0.25350021021662483,
        7: -0.2462390374708025,
        8: -0.12419142326381637,
        9: 0.15329179827876568,
        10: 0.00820105229563469,
        11: 0.007567897660545699,
        12: -0.008298,
    },
    {
        0: 0.03183464816350214,
        5: 0.028300909672366776,
        6: 0.053541988307438566,
        7: -0.05492374857139099,
        10: -0.00010834732869724932,
        11: 0.0003825710908356584,
        12: -0.00034046500868740456,
        13: 0.1413124436746325,
    },
    {
        0: -0.42889630158379194,
        5: -4.697621415361164,
        6: 7.683421196062599,
        7: 4.06898981839711,
        8: 0.3567271874552811,
        12: -0.0013990241651590145,
        13: 2.9475147891527724,
        14: -9.15095847217987,
    },
)
A = [_row(entries, s) for s, entries in enumerate(_STAGES)]
E3 = _row(
    {
        0: -0.18980075407240762,
        5: 4.450312892752409,
        6: 1.8915178993145003,
        7: -5.801203960010585,
        8: -0.4226823213237919,
        9: -0.1521609496625161,
        10: 0.20136540080403034,
        11: 0.02265179219836082,
    },
    STAGES + 1,
)
E5 = _row(
    {
        0: 0.01312004499419488,
        5: -1.2251564463762044,
        6: -0.4957589496572502,
        7: 1.6643771824549864,
        8: -0.35032884874997366,
        9: 0.3341791187130175,
        10: 0.08192320648511571,
        11: -0.022355307863886294,
    },
    STAGES + 1,
)
_DENSE: tuple[dict[int, float], ...] = (
    {
        0: -8.428938276109013,
        5: 0.5667149535193777,
        6: -3.0689499459498917,
        7: 2.38466765651207,
        8: 2.117034582445028,
        9: -0.871391583777973,
        10: 2.2404374302607883,
        11: 0.6315787787694688,
        12: -0.08899033645133331,
        13: 18.148505520854727,
        14: -9.194632392478356,
        15: -4.436036387594894,
    },
    {
        0: 10.427508642579134,
        5: 242.28349177525817,
        6: 165.20045171727028,
        7: -374.5467547226902,
        8: -22.113666853125306,
        9: 7.733432668472264,
        10: -30.674084731089398,
        11: -9.332130526430229,
        12: 15.697238121770845,
        13: -31.139403219565178,
        14: -9.35292435884448,
        15: 35.81684148639408,
    },
    {
        0: 19.985053242002433,
        5: -387.0373087493518,
        6: -189.17813819516758,
        7: 527.8081592054236,
        8: -11.57390253995963,
        9: 6.8812326946963,
        10: -1.0006050966910838,
        11: 0.7777137798053443,
        12: -2.778205752353508,
        13: -60.19669523126412,
        14: 84.32040550667716,
        15: 11.99229113618279,
    },
    {
        0: -25.69393346270375,
        5: -154.18974869023643,
        6: -231.5293791760455,
        7: 357.6391179106141,
        8: 93.40532418362432,
        9: -37.45832313645163,
        10: 104.0996495089623,
        11: 29.8402934266605,
        12: -43.53345659001114,
        13: 96.32455395918828,
        14: -39.17726167561544,
        15: -149.72683625798564,
    },
)
D = np.stack([_row(entries, EXTENDED) for entries in _DENSE])
