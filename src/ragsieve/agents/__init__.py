"""What agents read: results of tools, filtered for what their conversation asks."""
