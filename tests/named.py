"""Systems by name on fakes, and what tests ask of their results."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragsieve import Query, Segment
from ragsieve.errors import StoreError
from ragsieve.models.fake import HashingEmbedder, OverlapPruner
from ragsieve.systems import build
from ragsieve.systems.base import SYSTEMS

OWN = ("self-rag", "self-crag", "pe-rank", "llmlingua-2")  # need a model of their own
NAMES = [n for n in SYSTEMS if n not in OWN and not n.startswith(("langchain-", "llama-index-"))]


def on_fakes(name, llm, embedder=None, options=None):
    """A system of `NAMES` that needs no weights."""
    embedder = embedder or HashingEmbedder()
    return build(name, llm, embedder, options, pruner=OverlapPruner(), answers={})


@dataclass
class Finds:
    """A source: finds these segments, and remembers what it was asked."""

    found: Sequence[Segment]
    asked: list[Query] = field(default_factory=list)

    def __call__(self, query, /):
        self.asked.append(query)
        return [*self.found]

    @property
    def questions(self):
        """The texts that it was asked."""
        return [query.text for query in self.asked]


def asking(question, *documents, **more):
    """A question's record, as a line of a file has it."""
    return {"question": question, **more, "documents": [*documents]}


def write_rows(path, rows):
    """Write each row to a line as JSON; the path."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def who_ran():
    """120 questions' records, of each one document with the answer and one without."""
    words = ["seals", "crofts", "paris", "rome"]
    for n in range(120):
        answer, other = words[n % 4], words[(n + 1) % 4]
        texts = [f"The {answer} ran. It rained.", f"Old {other} slept. It rained."]
        yield asking(f"Who {n}?", *texts, answers=[answer])


def loses(query, /):
    """A source that fails."""
    raise StoreError("the index\nis gone")


def answer(result):
    """The answer's text."""
    return result.answer.text


def notes(result):
    """All notes of the trace's steps."""
    return [line for record in result.trace.steps for line in record.notes]
