"""Small parts that every row above may use: plug-ins, vectors, path patterns, files on disk, calibration."""
