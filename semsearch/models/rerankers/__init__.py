"""Cross-encoders: what their folders say, and the tokens of a query together with a passage. Nothing runs here."""
