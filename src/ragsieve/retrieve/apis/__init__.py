"""What an HTTP/JSON API is asked, by a table of its endpoints, and how its answers become text."""
