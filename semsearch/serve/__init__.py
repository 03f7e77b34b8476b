"""The HTTP server: indexes and encoders for other programs, behind `semsearch serve`."""
