"""Clean-up by rule: ends of sessions, exact duplicates, decay."""
