"""What asks the judge about many problems: from which point of a run a theorem applies, and what
would make it apply."""
