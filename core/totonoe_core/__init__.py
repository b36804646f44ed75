"""The engine of totonoe: guard, indexes, store. Knows nothing of gRPC."""
