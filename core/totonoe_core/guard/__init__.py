"""The guard: finds memories that already say the same. Pure: no disk, no clock, no lock."""
