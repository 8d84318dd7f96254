import json
from pathlib import Path

from langchain_classic.retrievers import ContextualCompressionRetriever  # a package of its own
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from ragsieve.integrations.langchain import RagsieveCompressor

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
documents = [Document(r.pop("text"), id=r["id"], metadata=r) for r in map(json.loads, lines)]
search = RunnableLambda[str, list[Document]](lambda _: documents)  # your retriever
sieved = ContextualCompressionRetriever(base_compressor=RagsieveCompressor(), base_retriever=search)
for document in sieved.invoke("Who drew the first design of the Eiffel Tower?"):
    print(document.id, document.page_content)
