"""Figure 3: step, FashionMNIST."""

from deqcheck.figures.gao2022.judged import Steps


class Figure3(Steps):
    """Train loss, test loss and gamma |A(k)| for eta = 10/N, 1/N and 1/(10 N) on FashionMNIST;
    with the paper's N = 1000 these are its 1e-2, 1e-3 and 1e-4."""

    id = "gao2022/fig3"
    number = "Gao 2022, Figure 3"
    title = "Impact of the step size eta"
    quick = {**Steps.quick, "steps": (10.0, 1.0, 0.1)}
    full = {**Steps.full, "steps": (10.0, 1.0, 0.1)}
    images = ("fashion-mnist",)
