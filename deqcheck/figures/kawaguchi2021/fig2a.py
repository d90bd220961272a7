"""Figure 2(a): Gaussian inputs."""

from deqcheck.data.drawn import GaussianData
from deqcheck.figures.kawaguchi2021.synthetic import Starts


class Figure2a(Starts):
    """Train loss of DELM from the identity and three random starts, and of a linear residual
    network from the identity; x standard normal in R^10, y = -x + 0.1 noise, 1000 samples.

    Not stated in the paper: gamma (0.8 here, as in appendix D), the step sizes, the depth of the
    residual network (5 here). At other depths or steps the network may arrive.
    """

    id = "kawaguchi2021/fig2a"
    number = "Kawaguchi 2021, Figure 2(a)"
    title = "Global convergence from any start, Gaussian data"
    law = GaussianData
    resnet_arrives = False
