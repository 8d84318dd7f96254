import json
from pathlib import Path

from dspy.retrievers import Embeddings

from ragsieve import models
from ragsieve.integrations.dspy import RagsieveRetriever

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
passages = ["{title} | {text}".format(**json.loads(line)) for line in lines]
search = RagsieveRetriever(Embeddings(passages, models.load("minilm").embed, k=5))
found = search("Who drew the first design of the Eiffel Tower?")
for index, passage in zip(found.indices, found.passages, strict=True):
    print(index, passage)
