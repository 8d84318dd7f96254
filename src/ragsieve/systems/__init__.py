"""Whole methods, each a composition of stages: one function a method, its entry beside it.

`SYSTEMS` has them by name and `build` makes them; a function is imported from its module, as in
``from ragsieve.systems.baselines import top_sentences``.
"""

from ragsieve.systems.base import SYSTEMS, build, check_options, limited

__all__ = ["SYSTEMS", "build", "check_options", "limited"]
