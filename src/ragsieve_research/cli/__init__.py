"""Commands that train, measure, index and annotate."""
