"""From a path to documents: walking folders, ignore rules, and one loader per file type."""
