"""Our own: when Jacobian-free backpropagation descends."""
