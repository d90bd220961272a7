"""The command line: turns arguments into work, and errors into sentences and exit codes."""
