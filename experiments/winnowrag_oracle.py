"""Measure what WinnowRAG keeps of the gold documents with ideal agents and a critic that knows.

    python experiments/winnowrag_oracle.py --data ../shared/data realtimeqa_web simpleqa_web
    python experiments/winnowrag_oracle.py --data ../shared/data realtimeqa_web --poisoned
    python experiments/winnowrag_oracle.py --data ../shared/data popqa --index windows/popqa
    python experiments/winnowrag_oracle.py --data ../shared/data realtimeqa_web --limit 8 \
        --llm smollm2 --max-seconds 60

An ideal agent answers with the gold answer where a document of its cluster holds it, else with
words of its first title, so that wrong agents disagree. Documents are embedded with their
question, by MiniLM unless said. Figures are means over questions that have a gold document: the
share of the gold documents kept, the share of what is kept that is gold, and how often the
best-ranked gold document stays. No generator runs: this is what merging costs by itself.
``--poisoned`` puts the false documents of a question among its own; ``--index`` takes the best 50
chunks of an index (``ragsieve index build``) in their place. ``--llm`` has a model be agents and
critic in the ideal ones' place, ``--max-seconds`` bounds its debates. Needs `benchmarks/`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ragsieve import models
from ragsieve.models.base import LLM, Embedder, Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve.text import contains_answer
from ragsieve.types import Document, Example, Segment
from ragsieve_research import datasets
from ragsieve_research.evaluate.questions import poisoned
from ragsieve_research.peers.oracles import winnowrag_oracle
from ragsieve_research.retrieve.indexes import open_index
from ragsieve_research.systems.winnowrag import winnowrag

RETRIEVED = 50  # documents of a question
_HEAD = "Document [1] (Title: "


def ideal(answers: Mapping[str, Sequence[str]]) -> ScriptedLLM:
    """Agents that find every gold answer in their documents."""

    def reply(prompt: Prompt) -> str:
        shown = prompt[0].content.partition("Documents:\n")[2].partition("\n\nWhat a critic")[0]
        gold = answers[prompt[1].content]
        right = next((answer for answer in gold if contains_answer(shown, [answer])), None)
        answer = right or f"not known, but see {shown.removeprefix(_HEAD)[:40]!r}"
        argues = "What a critic remarked" in prompt[0].content
        return f"Evidence: it\nExplanation: so\nAnswer: {answer}" if argues else answer

    return ScriptedLLM(reply, context=10**7)


def measured(
    examples: Sequence[Example], embedder: Embedder, llm: LLM | None, max_seconds: float | None
) -> list[tuple[float, ...]]:
    """Gold documents kept, precision, whether the best-ranked stays, seconds, whether cut short.

    One tuple a question that has a gold document.
    """
    answers = {example.query.text: example.answers for example in examples}
    ideals = winnowrag_oracle(ideal(answers), embedder, answers)
    system = winnowrag(llm, embedder, max_seconds=max_seconds) if llm else ideals
    rows: list[tuple[float, ...]] = []
    for example in examples:
        gold = [d.id for d in example.documents[:RETRIEVED] if _holds(d, example.answers)]
        if gold:
            began = time.monotonic()
            result = system(example.query, example.documents)
            seconds = time.monotonic() - began
            kept = {segment.document.id for segment in result.kept}
            right = kept & {*gold}
            precision = len(right) / len(kept) if kept else 0.0
            cut_short = "as a limit is reached" in str(result.trace.steps[-1].notes)
            best = float(gold[0] in kept)
            rows.append((len(right) / len(gold), precision, best, seconds, float(cut_short)))
    return rows


def indexed(examples: Sequence[Example], folder: str, embedder: Embedder) -> list[Example]:
    """The same with the best 50 chunks of an index, each as a document."""
    corpus = open_index(folder, embedder=embedder)
    found = [corpus.search(example.query, k=RETRIEVED) for example in examples]
    documents = [tuple(map(_document, chunks)) for chunks in found]
    return [replace(e, documents=d) for e, d in zip(examples, documents, strict=True)]


def _document(chunk: Segment) -> Document:
    return Document(f"{chunk.document.id}:{chunk.start}", chunk.text, title=chunk.document.title)


def _holds(document: Document, answers: Sequence[str]) -> bool:
    return contains_answer(f"{document.title}\n{document.text}", answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", help="names of data sets")
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--limit", type=int, default=100, help="questions of each, 100")
    parser.add_argument("--poisoned", action="store_true", help="with false documents")
    parser.add_argument("--index", help="folder of an index of the set's passages")
    parser.add_argument("--embedder", default="minilm", help="minilm, fake:hashing, PREFIX:MODEL")
    parser.add_argument("--llm", help="agents and critic, as smollm2; ideal ones where not given")
    parser.add_argument("--max-seconds", type=float, help="of a question, of --llm")
    options = parser.parse_args()
    llm = models.load(options.llm) if options.llm else None
    embedder = models.load(options.embedder)
    for name in options.sets:
        dataset = datasets.load(name, folder=options.data)
        dataset = poisoned(dataset) if options.poisoned else dataset
        examples = [e for _, e in islice(dataset.examples(), options.limit)]
        if options.index:
            examples = indexed(examples, options.index, embedder)
        rows = measured(examples, embedder, llm, options.max_seconds)
        kept, precision, best, seconds, cut_short = np.mean(rows, axis=0)
        print(f"{name}: {len(rows)} questions with a gold document, of {len(examples)}")
        print(f"  gold kept {kept:.1%}, precision {precision:.1%}, best-ranked kept {best:.1%}")
        print(f"  {seconds:.1f} s a question, {cut_short:.0%} of the debates cut short")


if __name__ == "__main__":
    main()
