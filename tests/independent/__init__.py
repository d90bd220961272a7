"""The numbers of each statement, computed a second time outside its formulas.

A file for each paper lists instances; for each of them it says what every check of the statement
must compare, from the raw arrays by plain NumPy or mpmath, in the notation of the paper and without
anything of deqcheck's theorems, models or linear algebra. A constant that is halved or doubled in a
theorem file, a dropped term, another exponent or norm then moves a side away from its number.
"""
