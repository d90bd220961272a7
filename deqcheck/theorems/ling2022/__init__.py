"""Ling, Xie, Wang, Zhang, Lin, Global convergence of over-parameterized deep equilibrium models."""
