"""Plain data and policies: memories, commands, queries and their answers. Imports `base` alone."""
