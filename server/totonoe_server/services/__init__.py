"""Serve the contract's calls: decode a request, call the engine, encode its answer."""
