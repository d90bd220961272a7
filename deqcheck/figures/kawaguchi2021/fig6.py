"""Figure 6: deep, without biases."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure6(OnImages):
    """As Figure 5 with H = 10, 100, 200."""

    id = "kawaguchi2021/fig6"
    number = "Kawaguchi 2021, Figure 6"
    title = "Deeper ReLU networks without biases"
    bias = linear = False
    depths = (10, 100, 200)
    quick = {**OnImages.quick, "sets": 1, "epochs": 40, "trials": 4}
