"""Query → documents."""

from ragsieve.retrieve.corpus import About, By, Change, Corpus, Search

__all__ = ["About", "By", "Change", "Corpus", "Search"]
