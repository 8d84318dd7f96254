"""Examples in."""
