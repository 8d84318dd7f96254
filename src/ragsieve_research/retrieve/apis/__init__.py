"""HTTP/JSON APIs as sources: a table of endpoints, and sentences from their replies."""
