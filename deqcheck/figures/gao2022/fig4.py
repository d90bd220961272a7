"""Figure 4: width, four sets."""

from deqcheck.figures.gao2022.judged import Widths
from deqcheck.figures.gao2022.study import FOUR


class Figure4(Widths):
    """As Figure 1, on MNIST, FashionMNIST, CIFAR10 and SVHN."""

    id = "gao2022/fig4"
    number = "Gao 2022, Figure 4"
    title = "Impact of the width m, four sets"
    quick = {**Widths.quick, "widths": (20, 60, 120), "n": 30, "epochs": 60}
    full = {**Widths.full, "widths": (250, 500, 1000, 2000)}
    images = FOUR
