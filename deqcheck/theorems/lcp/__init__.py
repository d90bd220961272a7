"""The linear complementarity problem of I - W: P-matrices."""
