"""Figure 2: gamma, MNIST."""

from deqcheck.figures.gao2022.judged import Gammas


class Figure2(Gammas):
    """Train loss, test loss and gamma |A(k)| for gamma = 0.1, 0.3, 0.5, 0.8 on MNIST, m = N, eta
    = 1/N."""

    id = "gao2022/fig2"
    number = "Gao 2022, Figure 2"
    title = "Impact of the choice of gamma"
    quick = {**Gammas.quick, "gammas": (0.1, 0.3, 0.5, 0.8)}
    full = {**Gammas.full, "gammas": (0.1, 0.3, 0.5, 0.8)}
    images = ("mnist",)
