"""Figure 7: deep, with biases."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure7(OnImages):
    """As Figure 6 with biases."""

    id = "kawaguchi2021/fig7"
    number = "Kawaguchi 2021, Figure 7"
    title = "Deeper ReLU networks with biases"
    linear = False
    depths = (10, 100, 200)
    quick = {**OnImages.quick, "sets": 1, "epochs": 40, "trials": 4}
