"""Training samples of a sentence pruner: windows of a question, and labels of their sentences."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ragsieve import split
from ragsieve.models.base import Passage
from ragsieve.models.windows import Window, WindowTokenizer
from ragsieve.structure.linearize import linearized
from ragsieve.text import contains_answer, visible_answers
from ragsieve.types import Document, Query, Segment

WINDOWS = 3  # of one question that a step reads, at most; two of them may hold evidence
IGNORED = -1.0  # label of a sentence that may answer, which nobody marked


class PrunerSample(NamedTuple):
    """Windows of one question, and the labels of the sentences in them.

    Args:
        windows: Token ids; spans are numbered through all windows.
        labels: 1 for evidence, 0 for others, -1 for what is not known, ``(n_sentences,)``.
        holds: Of each window whether it holds evidence, in the same way, ``(n_windows,)``.
    """

    windows: list[Window]
    labels: list[float]
    holds: list[float]


@dataclass(frozen=True)
class Samples:
    """Makes samples of questions, each time with other augmentations.

    Args:
        tokenizer: Turns texts into windows.
        seed: Of all chance; None reads everything as it stands.
    """

    tokenizer: WindowTokenizer
    seed: int | None = 0

    def of(self, record: Mapping[str, Any], turn: int = 0) -> PrunerSample:
        """A question as it is read in its ``turn``-th place of the training."""
        chance = None if self.seed is None else random.Random(f"{self.seed} {turn}")
        question = reworded(record["question"], chance)
        items: list[tuple[Window, list[float]]] = []
        for (title, sentences), labels in labelled(_some(record, chance)):
            if chance and len(sentences) > 3 and chance.random() < 0.2:  # the lead moves
                first = chance.randrange(1, len(sentences) - 1)
                if 1.0 not in labels[:first]:
                    sentences, labels = sentences[first:], labels[first:]
            title = "" if chance and chance.random() < 0.3 else title
            windows = self.tokenizer.lay(question, [Passage(title, sentences)]).windows[0]
            items += ((window, [labels[n] for n, *_ in window.spans]) for window in windows)
        return self._chosen(items, chance)

    def _chosen(
        self, items: list[tuple[Window, list[float]]], chance: random.Random | None
    ) -> PrunerSample:
        if chance:
            items = chance.sample(items, len(items))
            good = [item for item in items if 1.0 in item[1]][: (WINDOWS + 1) // 2]
            rest = [item for item in items if 1.0 not in item[1]][: WINDOWS - len(good)]
            items = [*good, *rest]
        sample = PrunerSample([], [], [])
        for window, labels in items:
            first = len(sample.labels)
            spans = [s._replace(sentence=first + n) for n, s in enumerate(window.spans)]
            sample.windows.append(replace(window, spans=spans))
            sample.labels.extend(labels)
            sample.holds.append(1.0 if 1.0 in labels else min(labels, default=0.0))
        return sample


def _some(record: Mapping[str, Any], chance: random.Random | None) -> Mapping[str, Any]:
    """At most `WINDOWS` of the documents, those with marked evidence first, in random order."""
    documents = record["documents"]
    if chance is None:
        return record
    order = chance.sample(range(len(documents)), len(documents))
    order.sort(key=lambda n: not documents[n].get("rival"))
    good = [n for n in order if documents[n].get("evidence")]
    if not any("evidence" in document for document in documents):
        answers = visible_answers(record["answers"])
        good = [n for n in order if contains_answer(documents[n]["text"], answers)]
    good = good[: (WINDOWS + 1) // 2]
    rest = [n for n in order if n not in good][: WINDOWS - len(good)]
    return {**record, "documents": [documents[n] for n in (*good, *rest)]}


def labelled(record: Mapping[str, Any]) -> Iterator[tuple[Passage, list[float]]]:
    """Documents as a pruner reads them, and labels of their sentences; none of one without text.

    Where evidence is marked it is 1 and all else 0, but a sentence that holds a gold answer, too,
    is ignored, unless its document is known as a rival, which tells the same of something else;
    where it is not, a sentence that holds a gold answer is evidence.
    """
    marked = any("evidence" in document for document in record["documents"])
    answers = visible_answers(record.get("answers", []))
    repeated = IGNORED if marked else 1.0
    for values in record["documents"]:
        document = Document(values.get("id", ""), values["text"], title=values.get("title", ""))
        spans = values.get("evidence", [])
        labels = []
        sentences = split.Blocks()(Query(record["question"]), [Segment.whole(document)])
        for sentence in sentences:
            touched = any(a < sentence.end and sentence.start < b for a, b in spans)
            named = not values.get("rival") and contains_answer(sentence.text, answers)
            labels.append(1.0 if touched else repeated if named else 0.0)
        if sentences:
            texts = linearized(document.text, [(s.start, s.end) for s in sentences])
            yield Passage(document.title, texts), labels


def reworded(question: str, chance: random.Random | None) -> str:
    """The question as somebody else may type it."""
    if chance is None:
        return question
    if chance.random() < 0.4:
        question = question.rstrip("?").rstrip()
    if chance.random() < 0.4:
        question = question.lower()
    draw = chance.random()
    if draw < 0.03:
        return f"{chance.choice(('can you tell me', 'I would like to know:', 'hi,'))} {question}"
    return question
