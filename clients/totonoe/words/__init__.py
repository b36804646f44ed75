"""Words for people and names in JSON, for the command line, MCP, the page and adapters."""
