"""Several memories together: neighbours, merges, episodes."""
