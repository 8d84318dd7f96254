"""What a budget keeps of what was found, and how it is put together."""
