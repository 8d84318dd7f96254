"""Measure what WinnowRAG keeps of the gold documents with ideal agents and a critic that knows.

    python experiments/winnowrag_oracle.py --data ../shared/data realtimeqa_web simpleqa_web

An ideal agent answers with the gold answer where a document of its cluster holds it, else with
words of its first title, so that wrong agents disagree. Documents are embedded with their
question, by MiniLM unless said. Figures are means over questions that have a gold document: the
share of the gold documents kept, the share of what is kept that is gold, and how often the
best-ranked gold document stays. No generator runs: this is what merging costs by itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from ragsieve import datasets, models
from ragsieve.models.base import Embedder, Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import winnowrag
from ragsieve.text import contains_answer
from ragsieve.types import Document, Example

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


def measured(examples: Sequence[Example], embedder: Embedder) -> list[tuple[float, float, float]]:
    """Gold documents kept, precision, and whether the best-ranked stays, for each question."""
    answers = {example.query.text: example.answers for example in examples}
    system = winnowrag(ideal(answers), embedder, answers)
    rows = []
    for example in examples:
        gold = [d.id for d in example.documents[:50] if _holds(d, example.answers)]
        if gold:
            result = system(example.query, example.documents)
            kept = {segment.document.id for segment in result.kept}
            right = kept & {*gold}
            rows.append((len(right) / len(gold), len(right) / len(kept), float(gold[0] in kept)))
    return rows


def _holds(document: Document, answers: Sequence[str]) -> bool:
    return contains_answer(f"{document.title}\n{document.text}", answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", help="names of data sets")
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--limit", type=int, default=100, help="questions of each, 100")
    parser.add_argument("--embedder", default="minilm", help="minilm, fake:hashing, PREFIX:MODEL")
    options = parser.parse_args()
    embedder = models.load(options.embedder)
    for name in options.sets:
        found = datasets.load(name, folder=options.data).examples()
        examples = [e for _, e in islice(found, options.limit)]
        rows = measured(examples, embedder)
        kept, precision, best = np.mean(rows, axis=0)
        print(f"{name}: {len(rows)} questions with a gold document, of {len(examples)}")
        print(f"  gold kept {kept:.1%}, precision {precision:.1%}, best-ranked kept {best:.1%}")


if __name__ == "__main__":
    main()
