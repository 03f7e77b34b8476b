"""What every server of semsearch has in common: what it asks of a request, and how it ends."""
