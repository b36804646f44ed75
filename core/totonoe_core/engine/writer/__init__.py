"""The one thread of a collection that decides, commits, publishes and answers."""
