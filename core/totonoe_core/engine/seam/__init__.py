"""The interface of the engine: calls and streams for the server."""
