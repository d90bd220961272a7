"""Jafarpour, Davydov, Proskurnikov and Bullo 2021: robust implicit networks."""
