"""Filters of LangChain and LlamaIndex as stages, each imported where its framework is there."""
