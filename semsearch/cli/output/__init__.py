"""What commands print: tables, hits, reports and progress."""
