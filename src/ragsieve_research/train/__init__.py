"""Examples → weights for the parts that learn."""
