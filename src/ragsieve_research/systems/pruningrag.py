"""PruningRAG: ask the sources that help, prune inside each, reason with examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragsieve import score, select
from ragsieve.errors import check_choice
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.cache import Cached
from ragsieve.retriever import SOURCE_KEY, AnySource
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import system
from ragsieve.types import Query, Segment, StageResult
from ragsieve_research.answer.reasoning import Reasoning
from ragsieve_research.retrieve.route import RECORD
from ragsieve_research.score.combine import Hybrid
from ragsieve_research.split.windows import Windows

Pages = Literal["few", "many", "hybrid", "sparse"]

PAGES = 10  # that BM25 leaves to the embedder, where they are more; the paper does not say


class Within(Pipeline):
    """Stages run on what each source found by itself; records of an API are never split.

    Documents in hand are one source.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2.
    """

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        each = (_Each(stage) for stage in self.stages)
        return Pipeline(*each, on_error=self.on_error)(query, segments)


@dataclass(frozen=True, repr=False)
class _Each:
    """A stage, run source by source; on records, only where it does not split."""

    stage: Stage

    def __repr__(self) -> str:
        return repr(self.stage)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        groups: dict[tuple[str, bool], list[Segment]] = {}
        for segment in segments:
            metadata = segment.document.metadata
            key = str(metadata.get(SOURCE_KEY, "")), RECORD in metadata
            groups.setdefault(key, []).append(segment)
        kept: list[Segment] = []
        for (_, is_record), group in groups.items():
            runs = not is_record or not isinstance(self.stage, Windows)
            kept += self.stage(query, group) if runs else group
        return kept


@dataclass(frozen=True)
class FewerPages:
    """The 10 best pages by BM25, of a source with more; what a source ranked itself stays."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if len(segments) <= PAGES or all(segment.scores for segment in segments):
            return list(segments)
        return select.TopK(PAGES)(query, score.BM25()(query, segments))


@system("pruningrag", needs="LLM, embedder", paper="arXiv 2409.13694")
def pruningrag(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    pages: Pages = "many",
    window: int = 200,
    k: int = 3,
    examples: int = 3,
    cot: bool | None = None,
    domain: str = "",
) -> System:
    """Keep the 3 best windows of each source that was asked; reason after worked examples.

        query ─ router ─ sources, at once ─ windows of 200 tokens ─ the 3 best of each source
            ─ chain of thought after examples of other domains ─ answer

    Args:
        llm: The generator.
        embedder: Ranks windows, and guesses the question's domain.
        source: `ragsieve_research.retrieve.route.Routed`: the sources with the router that chooses;
            or one source.
        pages: ``"many"``: windows by embedding, of a source with more than 10 pages only those of
            the 10 best by BM25; ``"few"``: by embedding, of all; ``"hybrid"``: by rank fusion of
            BM25 and embedding; ``"sparse"``: by BM25 alone.
        window: Tokens of a window, in the generator's tokenizer.
        k: Windows that stay of each source, and records of an API.
        examples: Worked examples, from 0 to 3.
        cot: Whether the model reasons before it answers; where None, unless it is a small local
            one (under 500 million weights), which the trace says.
        domain: Of every question; guessed by the embedder where empty.

    Raises:
        InputError: If an option breaks its rule.

    Source: PruningRAG (arXiv 2409.13694), sections 4.2 and 4.3.
    """
    embedder = Cached(embedder)
    reader = Reasoning(llm, None if domain else embedder, domain=domain, examples=examples, cot=cot)
    windows = Windows(llm, max_tokens=window)
    return System(pruning(embedder, windows, pages, k), reader, source=source)


def pruning(embedder: Embedder, windows: Stage, pages: Pages = "many", k: int = 3) -> Within:
    """Keep the best ``k`` of the ``windows`` of each source; see `pruningrag`."""
    fewer: list[Stage] = [FewerPages()] if pages == "many" else []
    return Within(*fewer, windows, _ranked(embedder, pages), select.TopK(k))


def _ranked(embedder: Embedder, pages: Pages) -> Stage:
    check_choice(Pages, pages=pages)
    if pages == "sparse":
        return score.BM25()
    dense = score.Cosine(embedder)
    return Hybrid((score.BM25(), dense)) if pages == "hybrid" else dense
