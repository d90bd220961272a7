"""Figure 3.1: the loss surface, as Figure 4.5."""

from deqcheck.figures.hieu2022.fig4_5 import Figure45


class Figure31(Figure45):
    """The same surface as Figure 4.5, from which the thesis takes its conjecture of a linear rate:
    one minimum, and a flat one."""

    id = "hieu2022/fig3.1"
    number = "Hieu 2022, Figure 3.1"
    title = "Loss landscape of a trained equilibrium model"
