"""Kept segments → prompt → answer: agents that argue, a critic, reasoning, worked examples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
