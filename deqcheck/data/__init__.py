"""Data: one file for each kind. `arrays(model, seed)` gives the model's arrays by name."""
