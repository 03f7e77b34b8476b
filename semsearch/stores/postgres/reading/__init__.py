"""What a PostgreSQL store has, read part by part; `postgres.reader` joins the parts."""
