"""Figure 1: width, MNIST."""

from deqcheck.figures.gao2022.judged import Widths


class Figure1(Widths):
    """Train loss, test loss and gamma |A(k)| for several widths on MNIST, gamma = 0.1, eta = 1/N.

    Not stated in the paper: the widths and the labels of the two classes (1 and -1 here).
    """

    id = "gao2022/fig1"
    number = "Gao 2022, Figure 1"
    title = "Impact of the width m"
    quick = {**Widths.quick, "widths": (20, 60, 180)}
    full = {**Widths.full, "widths": (250, 500, 1000, 2000)}
    images = ("mnist",)
