import json
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

import ragsieve


class State(TypedDict):
    question: str
    documents: list[dict[str, str]]
    context: str


def retrieve(state: State) -> dict[str, Any]:  # your retriever
    lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
    return {"documents": [json.loads(line) for line in lines]}


def sieve(state: State) -> dict[str, Any]:
    result = filter_(state["question"], state["documents"])
    print(f"kept {result.tokens.after} of {result.tokens.before} tokens")
    return {"context": result.text}


filter_ = ragsieve.load("finefilter")
graph = StateGraph(State)
graph.add_node("retrieve", retrieve)
graph.add_node("sieve", sieve)
for start, end in ((START, "retrieve"), ("retrieve", "sieve"), ("sieve", END)):
    graph.add_edge(start, end)
question: State = {"question": "Who drew the first design?", "documents": [], "context": ""}
print(graph.compile().invoke(question)["context"])
