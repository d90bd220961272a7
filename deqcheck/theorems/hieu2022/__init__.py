"""Nguyen Ngoc Hieu, gradient training of monotone deep equilibrium models (thesis, Hanoi 2022)."""
