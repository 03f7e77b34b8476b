"""General parts: plug-ins, vectors, path patterns, files on disk, locks, strength, scripts and stop words."""
