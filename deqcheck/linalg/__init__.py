"""Kronecker forms, solvers with a-posteriori errors, spectra, norms and error bars."""
