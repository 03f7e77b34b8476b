"""What every server of semsearch asks of a request, whatever framework answers it."""
