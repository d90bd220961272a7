"""The statements: one folder for each paper, one file for each statement."""
