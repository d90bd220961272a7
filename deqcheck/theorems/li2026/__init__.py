"""Li, Leong and Chaffey 2026: quantised monotone equilibrium networks."""
