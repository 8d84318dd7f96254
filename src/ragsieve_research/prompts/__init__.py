"""Templates of the papers' stages; `ragsieve.prompts.render` finds them."""
