"""Our own: equilibria of ReLU networks in rational numbers."""
