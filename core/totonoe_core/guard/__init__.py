"""Who says the same already: pure decisions, no disk, no clock, no lock."""
