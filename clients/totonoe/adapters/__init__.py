"""totonoe behind the memory interfaces of agent frameworks; each needs an extra of its own."""
