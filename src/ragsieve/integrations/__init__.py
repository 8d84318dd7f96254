"""Adapters for other frameworks: their documents in, what is kept of the same documents out.

A file for each framework, which imports it: `langchain`, `llama_index`, `haystack`, `dspy`. What
they share is `base.Adapter`.
"""
