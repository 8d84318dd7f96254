"""Weights of a sentence pruner for fifteen languages beside English, which `ragsieve` reads: no code."""
