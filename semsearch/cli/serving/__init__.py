"""Commands that serve until they are stopped: ui, serve, mcp."""
