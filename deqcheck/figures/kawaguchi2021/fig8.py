"""Figure 8: all images."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure8(OnImages):
    """As Figure 1 with all images of each set (MNIST: 60000 and 10000), 100 epochs, 3 trials."""

    id = "kawaguchi2021/fig8"
    number = "Kawaguchi 2021, Figure 8"
    title = "Test and train losses with all images"
    quick = {**OnImages.quick, "n": 400, "n_test": 200, "batch": 64, "epochs": 15, "sets": 2}
    full = {**OnImages.full, "n": 60000, "n_test": 10000, "epochs": 100, "trials": 3}
