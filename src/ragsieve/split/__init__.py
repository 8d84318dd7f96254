"""Documents → segments, and segments → finer segments; every segment is a span of its text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
