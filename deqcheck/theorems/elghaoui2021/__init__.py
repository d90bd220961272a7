"""El Ghaoui, Gu, Travacca, Askari and Tsai 2021: implicit deep learning."""
