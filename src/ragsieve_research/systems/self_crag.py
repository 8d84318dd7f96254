"""Self-CRAG: Self-RAG on the results of CRAG."""

from __future__ import annotations

from functools import partial

from ragsieve.systems.base import preset
from ragsieve_research.systems.self_rag import self_rag

self_crag = partial(self_rag, corrective=True)
"""Self-RAG that reads, of each search, what CRAG makes of it; see `self_rag`."""

preset(
    "self-crag",
    self_rag,
    "Self-rag on what crag makes of each search",
    paper="arXiv 2401.15884",
    corrective=True,
)
preset(
    "self-crag-prompted",
    self_rag,
    "The same for any LLM: it is prompted for each judgement",
    paper="arXiv 2401.15884",
    reflection="prompted",
    corrective=True,
)
