"""`eval`, `audit` and `bench`: measurements."""
