"""Text as the guard and Recall see it: normal forms and tokens. Pure functions, no I/O."""
