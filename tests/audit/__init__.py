"""What doubles decide of claims at one state, compared with exact numbers."""
