"""Gao and Gao, Gradient descent optimizes infinite-depth ReLU implicit networks with linear
widths."""
