"""Everything beside the daemon: commands, the demo, quality figures, the pytest plugin."""
