"""The inside of an index on disk: states, what builds them, and what reads them."""
