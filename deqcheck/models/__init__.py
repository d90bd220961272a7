"""One file for each model: parameters, equilibrium, loss and gradient, and their oracles."""
