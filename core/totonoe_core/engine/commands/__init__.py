"""One module for each command: its work on the writer's thread."""
