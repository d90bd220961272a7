"""Figure 6: gamma, four sets."""

from deqcheck.figures.gao2022.judged import Gammas
from deqcheck.figures.gao2022.study import FOUR


class Figure6(Gammas):
    """As Figure 2, on MNIST, FashionMNIST, CIFAR10 and SVHN."""

    id = "gao2022/fig6"
    number = "Gao 2022, Figure 6"
    title = "Impact of the choice of gamma, four sets"
    quick = {**Gammas.quick, "gammas": (0.1, 0.3, 0.5, 0.8), "n": 30, "width": 45, "epochs": 60}
    full = {**Gammas.full, "gammas": (0.1, 0.3, 0.5, 0.8)}
    images = FOUR
