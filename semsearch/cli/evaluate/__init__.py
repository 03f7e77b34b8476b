"""`eval` and `audit`: measurements."""
