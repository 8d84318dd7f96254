"""Weights of a larger sentence pruner for English, which `ragsieve` reads: no code."""
