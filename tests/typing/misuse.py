"""For type checkers, which report the lines that end in ``# wrong`` and no other."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import ragsieve
from ragsieve import Answer, Document, Pipeline, Query, Result, Segment, System, select
from ragsieve.adapter import Adapter
from ragsieve.integrations.langchain import RagsieveCompressor


def of_list(query: Query, segments: list[Segment]) -> list[Segment]:
    return segments[:2]


def of_sequence(query: Query, segments: Sequence[Segment]) -> list[Segment]:
    return [*segments[:2]]


def of_texts(query: str, segments: Sequence[Segment]) -> list[Segment]:
    return [*segments[:2]]


def of_nothing(query: Query, segments: Sequence[Segment]) -> None: ...


def search(question: str, k: int) -> list[str]:
    return [question] * k


def one_text(question: str, k: int) -> int:
    return k


class Length:
    """A reader of one's own."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return Answer("")

    def context(self, segments: Sequence[Segment], /) -> str:
        return ""

    def count(self, texts: Sequence[str], /) -> list[int]:
        return [len(text) for text in texts]


pipeline = Pipeline(of_list, of_sequence, select.TopK(3), Pipeline(of_list))
Pipeline(of_texts)  # wrong
Pipeline(of_nothing)  # wrong
Pipeline(of_list, on_error="ignore")  # wrong

system = System(pipeline, Length(), source=search).with_budget(9)
System(pipeline, len)  # wrong
System(pipeline, Length(), max_token=9)  # wrong
System(pipeline, Length(), source=one_text)  # wrong

careful = ragsieve.load("finefilter", options={"keep_answer": 0.99})
ragsieve.load("chunkrag", "openai:NAME", "minilm", options={"k": 3, "rating": "scale"})
ragsieve.load("trained/")
ragsieve.load("hyde", options={"prune": "finefilter"})
ragsieve.load(Path("trained"), options={"min_keep": 2})
ragsieve.load("finefilter", options={"keep_anser": 0.99})  # wrong
ragsieve.load("finefilter", options={"keep_answer": "often"})  # wrong
ragsieve.load("chunkrag", options={"rating": "stars"})  # wrong
ragsieve.load("top-sentences", options={"keep_answer": 0.99})  # wrong
ragsieve.load("finefilter", keep_answer=0.99)  # wrong
ragsieve.load(3)  # wrong

result: Result = careful("Who?", ["one", Document("2", "two"), {"text": "three"}])
text: str = result.text
careful("Who?", [1, 2])  # wrong
careful("Who?", "one text", 3)  # wrong
careful(None, ["one"])  # wrong
result.kept.append(result.kept[0])  # wrong
result.kept[0].text = "another"  # wrong
result.summary()  # wrong

pieces: Iterator[str | Result] = careful.ask_stream("Who?", ["one"])
results: list[Result] = careful.batch([("Who?", ["one"])], workers=2)
careful.batch([("Who?", ["one"])], workers="2")  # wrong
careful.batch([3])  # wrong
careful.with_budget("100")  # wrong

select.TopK(k="3")  # wrong
select.Threshold(min_scores=3)  # wrong

Adapter("finefilter", max_tokens=100, on_error="keep")
Adapter("finefilter", on_error="ignore")  # wrong
RagsieveCompressor(system="finefilter", options={"keep_answer": 0.9})
RagsieveCompressor(max_token=100)  # wrong
