"""Answers and kept segments → numbers."""
