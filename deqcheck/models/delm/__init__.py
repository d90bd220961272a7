"""Deep equilibrium linear model (Kawaguchi 2021)."""
