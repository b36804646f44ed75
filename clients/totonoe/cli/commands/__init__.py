"""Commands, a module for each topic."""
