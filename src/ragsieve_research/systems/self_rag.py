"""Self-RAG: retrieves on demand, judges what it writes, and keeps the best drafts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragsieve.errors import check_choice
from ragsieve.models.base import LLM, Embedder, Prompt
from ragsieve.prompts import FRAME, context
from ragsieve.retriever import AnySource
from ragsieve.schema import Count, Options, Probability
from ragsieve.system import Stage, System
from ragsieve.systems.base import preset, system
from ragsieve.trace import log_event, note
from ragsieve.types import Answer, Query, Segment, StageResult, grouped, rounded
from ragsieve_research.models.choices import odds
from ragsieve_research.models.parsed import readable
from ragsieve_research.systems.iterating import SHOWN, Search, iterating
from ragsieve_research.systems.reflection import (
    Ask,
    ByTokens,
    ByWords,
    Draft,
    Reflection,
    first_segment,
)

Reflecting = Literal["tokens", "prompted"]
Passage = tuple[Segment, ...]

_VALUES: dict[Ask, tuple[float, ...]] = {  # of the replies to each judgement
    "retrieve": (1.0, 0.0),
    "relevant": (1.0, 0.0),
    "supported": (1.0, 0.5, 0.0),
    "useful": (-1.0, -0.5, 0.0, 0.5, 1.0),
}
_UNKNOWN: dict[Ask, tuple[int, str]] = {  # the reply that stands for one that cannot be read
    "retrieve": (0, "something is looked up"),
    "relevant": (1, "the passage adds nothing to the score"),
    "supported": (2, "support adds nothing to the score"),
    "useful": (2, "use adds nothing to the score"),
}
_RELEVANT, _SUPPORTED, _USEFUL = 1.0, 1.0, 0.5  # weights beside a segment's probability


@dataclass(frozen=True)
class Path:
    """A beginning of an answer, with the passages behind it and a score of each segment."""

    text: str = ""
    marked: str = ""
    read: tuple[Passage, ...] = ()
    scores: tuple[float, ...] = ()
    finished: bool = False

    @property
    def score(self) -> float:
        """Mean score of its segments; 0 where there is none."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


@dataclass(frozen=True)
class Reflective(Options):
    """Writes an answer segment by segment, sentences, and keeps the best ``beam`` beginnings.

    Before each segment the model says whether it has to look something up: it does where the
    probability of that is above ``threshold``. Then a segment is written from each passage apart.
    A segment's score is its probability, the geometric mean of its tokens', plus the weighted
    probability that its passage is relevant, plus how far the passage supports it (fully 1, partly
    0.5), plus how useful it is (from -1 to 1); without a passage, its probability and its use. An
    answer is over where nothing follows a segment, or it says nothing new.

    Args:
        llm: Writes and judges.
        reflection: Its prompts.
        beam: Beginnings that are kept; at least 1.
        depth: Segments of an answer; at least 1.
        threshold: In [0, 1].
        max_tokens: Tokens of a segment.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails.
    """

    llm: LLM
    reflection: Reflection
    beam: Count = 2
    depth: Count = 7
    threshold: Probability = 0.2
    max_tokens: Count = field(default=100, kw_only=True)

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        paths = [Path()]
        seen: list[Passage] = []
        for level in range(1, self.depth + 1):
            longer: list[Path] = []
            for path in paths:
                if path.finished:
                    longer.append(path)
                else:
                    passages = self._passages(query, path, search)
                    seen += passages
                    longer += self._longer(query, path, passages)
            paths = sorted(longer, key=lambda path: -rounded(path.score))[: self.beam]
            log_event(
                f"level {level}: {len(paths)} of {len(longer)} beginnings stay, "
                f"the best {paths[0].score:.3f}: {paths[0].text[-SHOWN:]!r}",
                "level",
                paths=[{"text": p.text, "score": p.score, "finished": p.finished} for p in paths],
            )
            if all(path.finished for path in paths):
                break
        best = paths[0]
        read = best.read if best.text else seen
        kept = tuple({s.key: s for passage in read for s in passage}.values())
        if best.text:
            return StageResult(kept, answer=Answer(best.text, kept, best.marked))
        note("nothing was written: the reader answers from what was found")
        return StageResult(kept)

    def _passages(self, query: Query, path: Path, search: Search) -> list[Passage]:
        """Passages that the next segment may be written from, and one of nothing."""
        draft = Draft(query.text, path.text, path.marked)
        (odds,), _ = self._judged("retrieve", [draft])
        log_event(f"retrieval {odds:.3f}, threshold {self.threshold}", "retrieve", odds=odds)
        if rounded(odds) <= self.threshold:
            return [()]
        evidence = search(Query(f"{query.text} {path.text}".strip(), query.id), query)
        groups = grouped(evidence, lambda s: s.document.id)
        return self._fitting(draft, [tuple(group) for group in groups.values()]) or [()]

    def _fitting(self, draft: Draft, passages: Sequence[Passage]) -> list[Passage]:
        prompts = [
            self.reflection.prompt("supported", replace(draft, passage=context(p)))
            for p in passages
        ]
        sizes = [sum(self.llm.count([turn.content for turn in prompt])) for prompt in prompts]
        budget = self.llm.context - 2 * self.max_tokens - FRAME  # the segment is judged, too
        kept = [p for p, size in zip(passages, sizes, strict=True) if size <= budget]
        if len(kept) < len(passages):
            note(f"{len(passages) - len(kept)} passages do not fit the context of {budget} tokens")
        return kept

    def _longer(self, query: Query, path: Path, passages: Sequence[Passage]) -> list[Path]:
        """The path with a segment from each passage; itself, finished, where none says more."""
        start = Draft(query.text, path.text, path.marked)
        drafts = [replace(start, passage=context(passage)) for passage in passages]
        worth = [0.0] * len(drafts)
        if any(passages):
            rates, marks = self._judged("relevant", drafts)
            worth = [_RELEVANT * rate for rate in rates]
            drafts = [replace(d, relevant=mark) for d, mark in zip(drafts, marks, strict=True)]
        prompts = [self.reflection.prompt("write", draft) for draft in drafts]
        replies = self.llm.complete(prompts, max_tokens=self.max_tokens)
        written = [first_segment(self.reflection.said(reply)) for reply in replies]
        past = path.text.casefold()
        new = [n for n, (text, _) in enumerate(written) if text and text.casefold() not in past]
        if not new:
            return [replace(path, finished=True)]
        drafts = [replace(drafts[n], segment=written[n][0]) for n in new]
        scores = self._scores([prompts[n] for n in new], drafts)
        return [
            Path(
                f"{path.text} {draft.segment}".strip(),
                self.reflection.marked(draft),
                (*path.read, passages[n]),
                (*path.scores, worth[n] + score),
                written[n][1],
            )
            for n, (draft, score) in zip(new, scores, strict=True)
        ]

    def _scores(
        self, prompts: Sequence[Prompt], drafts: Sequence[Draft]
    ) -> list[tuple[Draft, float]]:
        """Drafts with their mark, and what their segments are worth but for the passage's mark."""
        rows = self.llm.loglik(prompts, [draft.segment for draft in drafts])
        worth = [math.exp(sum(row) / len(row)) if row else 0.0 for row in rows]
        if any(draft.passage for draft in drafts):
            rates, marks = self._judged("supported", drafts)
            worth = [w + _SUPPORTED * r for w, r in zip(worth, rates, strict=True)]
            drafts = [replace(d, supported=mark) for d, mark in zip(drafts, marks, strict=True)]
        rates, _ = self._judged("useful", drafts)
        worth = [w + _USEFUL * rate for w, rate in zip(worth, rates, strict=True)]
        return list(zip(drafts, worth, strict=True))

    def _judged(self, ask: Ask, drafts: Sequence[Draft]) -> tuple[list[float], list[str]]:
        """Of each draft the expected value of a judgement, and its most probable mark."""
        options = self.reflection.options[ask]
        prompts = [self.reflection.prompt(ask, draft) for draft in drafts]
        found = odds(self.llm, prompts, [options] * len(prompts))
        place, meaning = _UNKNOWN[ask]
        unknown = [float(n == place) for n in range(len(options))]
        rows = [readable(row, unknown, meaning) for row in found]
        rates = [sum(p * v for p, v in zip(row, _VALUES[ask], strict=True)) for row in rows]
        return rates, [options[max(range(len(row)), key=row.__getitem__)] for row in rows]


@system("self-rag", needs="LLM, embedder", paper="arXiv 2310.11511", calls="choose loglik")
def self_rag(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    reflection: Reflecting = "tokens",
    beam: int = 2,
    depth: int = 7,
    threshold: float = 0.2,
    k: int = 5,
) -> System:
    """Retrieve on demand, sentence by sentence, by a model with reflection tokens.

    Args:
        llm: Writes, and judges what it writes; must be able to ``complete``, ``choose``, ``loglik``
            and, unless prompted, know the reflection tokens.
        embedder: Ranks documents in hand, cut into chunks of 200 tokens; records are never cut.
        source: Asked in place of documents in hand, as an index is.
        prune: A filter of any kind for what each search finds.
        reflection: ``"tokens"``, of a model trained for it; ``"prompted"``: any model, a prompt
            each judgement.
        beam: Beginnings of an answer that are kept.
        depth: Segments of an answer, at most.
        threshold: Probability of retrieval above which something is looked up; in [0, 1].
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.
        Unsupported: If the model lacks the tokens, or cannot tell probabilities.

    Source: Self-RAG (arXiv 2310.11511), algorithm 1 and section 3.3; PruningRAG, table 7.
    Differs: A beginning's score is the mean of its segments', so that finished ones compare with
        longer ones (the paper leaves it open; its code multiplies). "Continue to use evidence" is
        not asked for: what goes on is searched for again, or written without. Segments are
        sentences. A search is by the question with the answer so far.
    """
    check_choice(Reflecting, reflection=reflection)
    judging: Reflection = ByTokens() if reflection == "tokens" else ByWords()
    strategy = Reflective(llm, judging, beam, depth, threshold)
    judging.check(llm)
    return iterating(strategy, llm, embedder, source, prune, k)


preset(
    "self-rag-prompted",
    self_rag,
    "The same for any LLM: it is prompted for each judgement",
    reflection="prompted",
)
