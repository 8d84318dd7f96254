"""Whole methods of papers, each a composition of stages: one function a method, its entry above
it."""
