"""Weights of a sentence pruner for fifteen languages, which `ragsieve` reads: no code."""
