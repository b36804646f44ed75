"""An MCP server in front of the daemon, and its entry in the configuration of agents' hosts."""
