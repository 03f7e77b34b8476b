"""Programs for those who work on semsearch, none of which is installed: see README.md."""
