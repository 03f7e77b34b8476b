"""Commands about indexes: index, watch, list, info, get, delete, maintenance."""
