import json
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from ragsieve.integrations.haystack import RagsieveFilter

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
store = InMemoryDocumentStore()
store.write_documents([Document(r["id"], r.pop("text"), meta=r) for r in map(json.loads, lines)])
pipeline = Pipeline()
pipeline.add_component("search", InMemoryBM25Retriever(store))
pipeline.add_component("sieve", RagsieveFilter())
pipeline.connect("search.documents", "sieve.documents")
asked = {"query": "Who drew the first design of the Eiffel Tower?"}
print([d.content for d in pipeline.run({"search": asked, "sieve": asked})["sieve"]["documents"]])
