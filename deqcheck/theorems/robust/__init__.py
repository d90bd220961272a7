"""Our own: certified radii of a prediction."""
