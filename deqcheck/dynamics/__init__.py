"""Training any model by gradient descent or gradient flow, and recording it."""
