"""The command `totonoe`."""
