"""Query → documents."""
