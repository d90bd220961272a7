"""Figure 5: step, four sets."""

from deqcheck.figures.gao2022.judged import Steps
from deqcheck.figures.gao2022.study import FOUR


class Figure5(Steps):
    """As Figure 3, on MNIST, FashionMNIST, CIFAR10 and SVHN."""

    id = "gao2022/fig5"
    number = "Gao 2022, Figure 5"
    title = "Impact of the step size eta, four sets"
    quick = {**Steps.quick, "steps": (10.0, 1.0, 0.1), "n": 30, "width": 45, "epochs": 60}
    full = {**Steps.full, "steps": (10.0, 1.0, 0.1)}
    images = FOUR
