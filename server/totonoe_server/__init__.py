"""The daemon: decodes requests, calls the engine, encodes answers. Knows no policy."""
