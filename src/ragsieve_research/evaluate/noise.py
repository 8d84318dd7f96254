"""Inject noise of several kinds and shares into retrieved documents."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from typing import Any, Literal

from ragsieve import score
from ragsieve.errors import InputError
from ragsieve.schema import Count, Options, Probability, read
from ragsieve.system import best_first
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Document, Example, Segment

Kind = Literal["random", "same_topic", "counterfactual", "duplicates"]
Position = Literal["first", "middle", "last", "random"]

_POOL = 1000  # documents that nearest ones are looked for among
FALSE = ("counterfactual_documents", "poisoned_documents")
"""Keys of false evidence in a question's metadata."""


@dataclass(frozen=True)
class Noise(Options):
    """Documents with the answer, and beside them others that do not hold it.

    The documents with the answer are those labelled ``is_positive``; without such labels, the first
    that holds a gold answer other than yes or no. With c of them and a share s, the noise documents
    are c·s/(1 - s), rounded, and at most ``documents``; at a share of 1 there are ``documents`` of
    them alone. What this comes to, `noise_share` says.

    Args:
        kind: ``"random"``: documents of other questions; ``"same_topic"``: the question's own, and
            then the nearest of other questions by BM25; ``"counterfactual"``: false evidence, where
            the data has it in its metadata, over and over; ``"duplicates"``: one document of the
            same topic, over and over.
        share: Of noise documents among all, from 0 to 1.
        position: Where the documents with the answer stand.
        documents: Noise documents at most; at least 1.
        seed: Draws what is drawn, with the question.

    Raises:
        InputError: If an option breaks its rule.

    Source: RGB (arXiv 2309.01431), noise robustness; position: arXiv 2307.03172.
    """

    kind: Kind
    share: Probability
    position: Position = "first"
    documents: Count = 10
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.kind} {self.share:g} {self.position}"

    def __call__(self, example: Example, pool: Sequence[Document]) -> Example | None:
        """The example with other documents; None where it has none with the answer, or no noise.

        Args:
            example: A question with its documents.
            pool: Documents of other questions; their metadata, such as gold labels, is left out.
        """
        clues = _clues(example)
        if not clues:
            return None
        wanted = self._count(len(clues))
        draw = random.Random(f"{self.seed}:{example.query.id or example.query.text!r}")
        noise = self._noise(example, pool, draw)
        if not noise:
            return None
        again = self.kind in ("counterfactual", "duplicates")
        noise = list(islice(cycle(noise) if again else noise, wanted))
        placed = self._placed(clues if self.share < 1 else [], noise, draw)
        return replace(example, documents=tuple(_renamed(placed)))

    def _count(self, clues: int) -> int:
        if self.share == 1:
            return self.documents
        return min(self.documents, round(clues * self.share / (1 - self.share)))

    def _noise(
        self, example: Example, pool: Sequence[Document], draw: random.Random
    ) -> list[Document]:
        if self.kind == "counterfactual":
            return _false(example)
        drawn = draw.sample(pool, min(_POOL, len(pool)))
        others = [replace(d, metadata={}) for d in drawn]  # labels are of the other question
        if self.kind == "random":
            free = (d for d in others if not _holds(d, example))
            return list(islice(free, self.documents))
        own = [d for d in example.documents if d.metadata.get("is_positive") is not True]
        segments = [Segment.whole(d) for d in others]
        near = best_first(score.BM25()(example.query, segments))
        candidates = [d for d in (*own, *(s.document for s in near)) if not _holds(d, example)]
        return candidates[: 1 if self.kind == "duplicates" else self.documents]

    def _placed(
        self, clues: list[Document], noise: list[Document], draw: random.Random
    ) -> list[Document]:
        if self.position == "random":
            return draw.sample([*clues, *noise], len(clues) + len(noise))
        before = {"first": 0, "middle": len(noise) // 2, "last": len(noise)}[self.position]
        return [*noise[:before], *clues, *noise[before:]]


def noise_share(example: Example) -> float:
    """Share of noise documents in an example that `Noise` gives, from 0 to 1."""
    return 1 - len(_clues(example)) / len(example.documents)


def poison(example: Example, seed: int = 0) -> Example | None:
    """The example with its false documents among its others; None where the data gives none.

    The places are drawn; the others keep their order. All ids are the places, so that none shows
    which is false; the old ones are in the metadata (``from``).

    Args:
        example: A question with its documents, and false ones in its metadata (`FALSE`).
        seed: Draws the places, with the question.

    Raises:
        InputError: If false documents are no list, or one is no text.

    Source: RobustRAG (arXiv 2405.15556), poisoned passages, which stand beside all others here.
    """
    false = _false(example)
    if not false:
        return None
    total = len(example.documents) + len(false)
    draw = random.Random(f"{seed}:{example.query.id or example.query.text!r}")
    places = {*draw.sample(range(total), len(false))}
    own, added = iter(example.documents), iter(false)
    placed = [next(added if place in places else own) for place in range(total)]
    return replace(example, documents=tuple(_renamed(placed)))


def _clues(example: Example) -> list[Document]:
    labelled = [d for d in example.documents if d.metadata.get("is_positive") is True]
    return labelled or [d for d in example.documents if _holds(d, example)][:1]


def _holds(document: Document, example: Example) -> bool:
    return contains_answer(f"{document.title}\n{document.text}", visible_answers(example.answers))


def _false(example: Example) -> list[Document]:
    """The false evidence that the data gives for the question."""
    of = f"of {example.query.text!r:.80}"
    named = [read(list[Any], example.metadata.get(key) or [], f"{key} {of}") for key in FALSE]
    documents = []
    for place, entry in enumerate(chain.from_iterable(named)):
        text = entry.get("text") if isinstance(entry, dict) else entry
        title = entry.get("title") if isinstance(entry, dict) else ""
        if not isinstance(text, str):
            raise InputError(f"a counterfactual document must be text, got {entry!r:.80}")
        documents.append(Document(f"false{place}", text, str(title or "")))
    return documents


def _renamed(documents: Sequence[Document]) -> list[Document]:
    """Ids as the places are, so that no id shows the noise; the old one is in the metadata."""
    return [
        replace(d, id=str(rank), rank=rank, metadata={**d.metadata, "from": d.id})
        for rank, d in enumerate(documents)
    ]
