"""The daemon: decodes requests, calls the engine, encodes answers. Knows no policy.

PYTEST_DONT_REWRITE: pytest would warn of this package if it is imported before pytest starts,
because the distribution has a plugin for it.
"""
