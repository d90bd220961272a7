"""Initial parameters: one file for each kind.

`given(wanted, known)` hands over the parameters that the user brings, with their own sizes;
`draw(name, shape, seed)` makes one of the others.
"""
