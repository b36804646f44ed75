"""Normal forms and tokens of texts, for the guard and Recall. Pure functions, no I/O."""
