"""Figure 5: without biases."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure5(OnImages):
    """As Figures 1 and 4 for DELM and ReLU networks without biases, H = 2, 3, 4."""

    id = "kawaguchi2021/fig5"
    number = "Kawaguchi 2021, Figure 5"
    title = "ReLU networks without biases"
    bias = linear = False
