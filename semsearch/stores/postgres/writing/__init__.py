"""What a PostgreSQL store has, written part by part; `postgres.writer` joins the parts."""
