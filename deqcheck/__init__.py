"""deqcheck: published convergence theorems for deep equilibrium models as checkable statements."""

__version__ = "0.1.0"
