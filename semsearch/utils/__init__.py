"""General parts: plug-ins, vectors, path patterns, files on disk, locks, calibration, scripts and stop words."""
