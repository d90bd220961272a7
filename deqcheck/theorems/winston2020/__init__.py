"""Winston and Kolter 2020: monotone operator equilibrium networks."""
