"""Pure rules: checks of requests, and derivations from memories. No disk, no clock, no threads."""
