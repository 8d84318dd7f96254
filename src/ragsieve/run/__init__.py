"""One question or a million: at once, in batches, from files and data frames."""
