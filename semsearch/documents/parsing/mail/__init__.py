"""Mail: its fields, its messages with what is attached to them, and the texts in their parts."""
