"""The way to a PostgreSQL server: its address, connections, tables, types and errors."""
