"""Import memories from the stores of other programs, through the guard."""
