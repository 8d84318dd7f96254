"""Systems to measure others against: oracles, ablations, other frameworks' filters."""
