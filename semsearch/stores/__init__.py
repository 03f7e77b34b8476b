"""What keeps passages and vectors and answers questions about them. `protocol` is the seam; `local` is SQLite."""
