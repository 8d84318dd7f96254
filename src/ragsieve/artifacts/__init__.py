"""Trained filters: folders to load, share and serve.

    filter.json   what it is made of, how it was made and how good it is: `Trained`
    README.md     the same for people; the hub shows it
    extractor/, reranker/, truncator/   adapters: safetensors and JSON

Nothing else of a folder is read or shared: no pickle, no code.
"""

from ragsieve.artifacts.building import build, entry, generator, identity, load
from ragsieve.artifacts.folder import push_to_hub, read, save
from ragsieve.artifacts.recipe import Base, Split, Trained, TrainedPart, TrainingData
from ragsieve.artifacts.weights import sha256_of

__all__ = [
    "Base",
    "Split",
    "Trained",
    "TrainedPart",
    "TrainingData",
    "build",
    "entry",
    "generator",
    "identity",
    "load",
    "push_to_hub",
    "read",
    "save",
    "sha256_of",
]
