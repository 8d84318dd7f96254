"""Trained filters: folders to load, share and serve.

    filter.json   what it is made of, how it was made and how good it is: `Trained`
    README.md     the same for people; the hub shows it
    extractor/, reranker/, truncator/   adapters: safetensors and JSON

Nothing else of a folder is read or shared: no pickle, no code.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
