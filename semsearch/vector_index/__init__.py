"""From vectors to nearest ids: index backends, the planner that chooses one, cache files and the searcher."""
