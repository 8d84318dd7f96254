"""The HTTP server: `create_app` makes the application, `ragsieve serve` runs it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
