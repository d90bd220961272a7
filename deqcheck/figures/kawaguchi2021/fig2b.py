"""Figure 2(b): uniform inputs."""

from deqcheck.data.drawn import UniformData
from deqcheck.figures.kawaguchi2021.synthetic import Starts


class Figure2b(Starts):
    """As Figure 2(a), with the entries of x uniform on [-1, 1]; here the residual network arrives.

    Not stated in the paper: gamma (0.8 here), the step sizes, the depth of the residual network.
    """

    id = "kawaguchi2021/fig2b"
    number = "Kawaguchi 2021, Figure 2(b)"
    title = "Global convergence from any start, uniform data"
    law = UniformData
    quick = full = {"n": 1000, "dim": 10, "steps": 2000, "step": 2e-5}
    resnet_arrives = True
