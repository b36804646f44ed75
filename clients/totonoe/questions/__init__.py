"""Questions whether two memories say the same, and their answers."""
