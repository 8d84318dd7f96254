import json
from pathlib import Path

from llama_index.core import SummaryIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from ragsieve.integrations.llama_index import RagsievePostprocessor

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
nodes = [TextNode(id_=r["id"], text=r.pop("text"), metadata=r) for r in map(json.loads, lines)]
sieve = RagsievePostprocessor()
engine = SummaryIndex(nodes).as_query_engine(llm=MockLLM(), node_postprocessors=[sieve])
for found in engine.query("Who drew the first design of the Eiffel Tower?").source_nodes:
    print(found.node_id, found.text)
