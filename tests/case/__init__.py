"""Reading cases."""
