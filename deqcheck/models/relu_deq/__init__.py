"""ReLU deep equilibrium model (Ling et al. 2022)."""
