"""Weights of a sentence pruner for twenty languages, which `ragsieve` reads: no code."""
