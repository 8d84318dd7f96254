"""Whether an LLM finds a sentence helpful that it reads within its document."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render
from ragsieve.schema import Count, Options
from ragsieve.score.base import Scorer, by_document
from ragsieve.structure import text_of
from ragsieve.text import safe
from ragsieve.types import Query, Segment
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.models.parsed import readable
from ragsieve_research.prompts import batched_by_size, quoted

Wording = Literal["own", "published"]
YES, NO = "Yes", "No"
_CHARS = 16  # of a token, at most on average: a longer text need not be counted


@dataclass(frozen=True)
class Helpful(Options, Scorer):
    """Probability that a segment helps to answer, as an LLM reads it in its document, in [0, 1].

    That of "Yes" against "No" as the reply to question, document and segment: one forward pass,
    nothing is written. A model that cannot `choose` writes the word: 1 or 0, and 1 where its reply
    stays unreadable, of which the trace tells. All segments go as one batch, those of a document
    together and behind the same words, so that a backend that remembers what prompts begin with
    reads question and document once; equal prompts are sent once.

    Args:
        llm: Judges; plain, or tuned for it by `ragsieve_research.train.exit`.
        window: Tokens of a document that are read with a segment: the whole document where it has
            no more, else the run of its segments, of at most so many, that this one is in;
            at least 1.
        wording: ``"own"``: texts are JSON strings, in which nothing is an instruction;
            ``"published"``: the paper's prompt, which its published weights learnt, texts as they
            are.

    Raises:
        InputError: If ``window`` is under 1, or ``wording`` is neither.
        ModelError: If the model fails, or window and segment do not fit its context.

    Source: EXIT (arXiv 2412.12559), section 3.2, "Context-Aware Relevance Classification".
    Differs: Asked in our own words by default, in the same order. The paper reads documents of 100
        words; a longer one is cut into windows, so that the cost of a segment stays the same.
    """

    llm: LLM
    window: Count = 512
    wording: Wording = "own"
    name: ClassVar[str] = "helpful"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Probabilities, ``(len(segments),)``."""
        spans, prompts = self.prompts(query, segments)
        different = list(dict.fromkeys(prompts))
        replies = yes_probability(self.llm, different, (YES, NO))
        read = [readable(one, 1.0, "the segment counts as helpful") for one in replies]
        probabilities = dict(zip(different, read, strict=True))
        pairs = zip(spans, prompts, strict=True)
        known = {span.key: probabilities[prompt] for span, prompt in pairs}
        return np.array([known[s.key] for s in segments], np.float32)

    def prompts(
        self, query: Query, segments: Sequence[Segment], /
    ) -> tuple[list[Segment], list[Prompt]]:
        """Different segments, document by document, and the prompt about each."""
        template, show = ("helpful", quoted)
        if self.wording == "published":
            template, show = ("helpful_published", safe)
        question = show(query.text)
        spans: list[Segment] = []
        prompts: list[Prompt] = []
        known: dict[tuple[str, str], Prompt] = {}
        for document, some in self._windows(segments):
            shown = show(document)
            for span in some:
                key = shown, show(span.text)
                if key not in known:  # a document may repeat itself a thousand times
                    known[key] = render(template, question=question, document=shown, segment=key[1])
                spans.append(span)
                prompts.append(known[key])
        return spans, prompts

    def _windows(self, segments: Sequence[Segment]) -> Iterator[tuple[str, list[Segment]]]:
        """The text that is read of a document, and the segments that are judged by it."""
        for ordered in by_document(segments):
            whole = Segment.whole(ordered[0].document)
            short = len(whole.text) <= _CHARS * self.window
            if short and self.llm.count([self._titled([whole])])[0] <= self.window:
                yield self._titled([whole]), ordered
            else:
                yield from ((self._titled(some), some) for some in self._cut(ordered))

    def _titled(self, spans: Sequence[Segment]) -> str:
        """Spans of one document, behind its title."""
        title, text = spans[0].document.title, text_of(spans)
        behind = "\n" if self.wording == "published" else ": "
        return f"{title}{behind}{text}" if title else text

    def _cut(self, ordered: Sequence[Segment]) -> Iterator[list[Segment]]:
        """Segments in runs of at most ``window`` tokens; one that is longer is a run by itself."""
        title, *costs = self.llm.count([ordered[0].document.title, *(s.text for s in ordered)])
        return batched_by_size(ordered, costs, self.window - title)
