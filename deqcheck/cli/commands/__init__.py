"""One file for each command: its function `command`, and its summary in the module's docstring."""
