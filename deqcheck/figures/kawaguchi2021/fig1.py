"""Figure 1: three sets."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure1(OnImages):
    """Test and train losses of linear models, DELM and ReLU networks with biases on modified
    Kuzushiji-MNIST, CIFAR-10 and CIFAR-100: 100 + 100 images under a random map to R^150,
    targets of a DELM plus noise (appendix D.1)."""

    id = "kawaguchi2021/fig1"
    number = "Kawaguchi 2021, Figure 1"
    title = "Test and train losses on images"
    images = ("kmnist", "cifar10", "cifar100")
    alike_at_first = True
    full = {**OnImages.full, "sets": 3}
