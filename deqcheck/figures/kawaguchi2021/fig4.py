"""Figure 4: four more sets."""

from deqcheck.figures.kawaguchi2021.images import OnImages


class Figure4(OnImages):
    """As Figure 1, on modified MNIST, SVHN, SEMEION and Fashion-MNIST."""

    id = "kawaguchi2021/fig4"
    number = "Kawaguchi 2021, Figure 4"
    title = "Test and train losses on four more sets"
    images = ("mnist", "svhn", "semeion", "fashion-mnist")
    quick = {**OnImages.quick, "sets": 4, "epochs": 100}
    alike_at_first = True
    full = {**OnImages.full, "sets": 4}
