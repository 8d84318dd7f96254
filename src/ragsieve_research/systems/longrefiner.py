"""LongRefiner: documents as outlines, of which titles are named and paragraphs are scored."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ragsieve import score, split
from ragsieve.answer import Reader
from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, CrossEncoder, Embedder, Prompt
from ragsieve.prompts import render, title_of, titled
from ragsieve.schema import Amount, Options
from ragsieve.score.base import Scorer, by_document
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.trace import note, record_drop
from ragsieve.types import Query, Segment
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import Field, read_fields, texts
from ragsieve_research.prompts import fitting

ABSTRACT = "abstract"
_WORDS = 100  # of a paragraph at least: a shorter one goes with the next
_OPENING = 4  # words by which a part is found in its document
_OUTLINE, _TITLES = 1024, 256  # tokens of a reply
_SHOWN = 4000  # characters of an abstract beside titles
_TAG = re.compile(r'<(abstract|section|sub-section)(?:: *+"?([^"<>]*)"?)?>\s*([^<]*)')

Key = tuple[str, int, int]
Tag = tuple[str, str, str]
Paragraph = tuple[Segment, ...]
Node = tuple[float, float, list[Paragraph]]


@system("longrefiner", needs="LLM, embedder", paper="arXiv 2505.10413")
def longrefiner(
    llm: LLM,
    embedder: Embedder,
    *,
    predictor: LLM | None = None,
    writer: LLM | None = None,
    extractor: LLM | None = None,
    reranker: CrossEncoder | None = None,
    max_tokens: int = 2048,
) -> System:
    """Outline long documents, and keep the parts that their titles and paragraphs speak for.

        documents ─ outlines ─ scored paragraphs + p(global) · named titles ─ best 2048 tokens

    Args:
        llm: The generator; also each model below that is None, asked in our words. One that is
            given is asked in the words that the authors' adapters learnt.
        embedder: Scores paragraphs by cosine where there is no ``reranker``.
        predictor: Says whether a question is local or global.
        writer: Writes outlines.
        extractor: Names the parts of an outline that help.
        reranker: Scores paragraphs, as ``"cross_encoder:BAAI/bge-reranker-v2-m3"``, the paper's.
        max_tokens: Budget of the context, in the generator's tokens; not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: LongRefiner (arXiv 2505.10413): query analysis, document structuring, local and global
        scores; the budget is that of the authors' code.
    Differs: See `Refine`. Untrained without the three models.
    """
    models = [AskedModel(own or llm, own is not None) for own in (predictor, writer, extractor)]
    scorer = score.Pair(reranker) if reranker else score.Cosine(embedder)
    return System(
        Pipeline(split.Sentences(), Refine(*models, scorer=scorer, llm=llm, max_tokens=max_tokens)),
        Reader(llm),
    ).with_budget(max_tokens)


@dataclass(frozen=True)
class AskedModel:
    """An LLM, and whether it is asked in the words of the authors' training."""

    llm: LLM
    trained: bool = False

    def prompt(self, name: str, **values: str) -> Prompt:
        """The prompt of a template of LongRefiner's, in these words."""
        return render(f"longrefiner_{name}{'_trained' * self.trained}", **values)


@dataclass(frozen=True)
class Refine(Options):
    """Keep the sentences in the best nodes of all outlines, as many as a budget holds.

    Sentences are read as paragraphs: lines, joined while they have under 100 words. A model writes
    an outline of each document of more than one paragraph: titles, each with the words that its
    part begins with. A paragraph's score is the scorer's, a sub-section's the mean of its
    paragraphs', a section's the mean of its own text's and its sub-sections'; all are brought to
    [0, 1]. A node whose title is named gets p(global) more, what stands right in it a share: 1 in
    n + 1, n its sub-sections, or a sub-section's paragraphs. The best nodes are kept while they
    fit; what another node has already costs nothing.

    Args:
        predictor: Says how probable a question is global.
        writer: Writes outlines; a document whose reply stays unreadable has no sections.
        extractor: Names titles; a reply that stays unreadable names none.
        scorer: Scores paragraphs.
        llm: In its tokens the budget holds.
        max_tokens: The budget; not negative.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If a model fails.

    Source: LongRefiner (arXiv 2505.10413), as its authors' code computes it.
    Differs: Each part runs to where the next begins, so no text is outside of all; the code loses
        what the outline leaves out. A document of one paragraph needs no outline, one without
        sections is not asked about, a very long one is outlined as far as it fits. What is kept
        stands in the order of the documents. Not tried on the published adapters.
    """

    predictor: AskedModel
    writer: AskedModel
    extractor: AskedModel
    scorer: Scorer = field(kw_only=True)
    llm: LLM = field(kw_only=True)
    max_tokens: Amount = field(default=2048, kw_only=True)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        outlines = self._outlines(by_document(segments))
        paragraphs = [one for outline in outlines for part in outline for one in part.paragraphs]
        if not paragraphs:
            return []
        spans = [_span(one) for one in paragraphs]
        scores = {s.key: s.score for s in self.scorer(query, spans)}
        named = self._named(query, outlines)
        nodes = [
            node
            for outline, titles in zip(outlines, named, strict=True)
            for part in outline
            for node in part.nodes(scores, titles)
        ]
        ranked = _ranked(nodes, self._broad(query) if any(named) else 0.0)
        kept = {s.key for one in self._fitting(ranked, spans) for s in one}
        for segment in segments:
            if segment.key not in kept:
                record_drop(segment, f"in none of the best nodes of {self.max_tokens} tokens")
        return [segment for segment in segments if segment.key in kept]

    def _outlines(self, documents: Sequence[Sequence[Segment]]) -> list[list[DocumentSection]]:
        """Abstract and sections of each document."""
        long = [n for n, some in enumerate(documents) if len(_paragraphs(some)) > 1]
        prompts = [self._outline_prompt(_span(documents[n]).text) for n in long]
        replies = complete_parsed(self.writer.llm, prompts, _tags, max_tokens=_OUTLINE)
        tags = dict(zip(long, replies, strict=True))
        return [
            _parts(some, readable(tags.get(n, []), [], "the document has no sections"))
            for n, some in enumerate(documents)
        ]

    def _outline_prompt(self, text: str) -> Prompt:
        ends = [word.end() for word in re.finditer(r"\S+", text)]

        def make(words: int) -> Prompt:
            return self.writer.prompt("outline", document=text[: ends[words - 1]])

        return fitting(self.writer.llm, make, len(ends), _OUTLINE)

    def _named(
        self, query: Query, outlines: Sequence[Sequence[DocumentSection]]
    ) -> list[Collection[str]]:
        """Titles that help, in small letters, of each document."""
        titled_outlines = [n for n, outline in enumerate(outlines) if outline[-1].title]
        prompts = [self._titles_prompt(query, outlines[n]) for n in titled_outlines]
        replies = complete_parsed(self.extractor.llm, prompts, _titles, max_tokens=_TITLES)
        named: list[Collection[str]] = [()] * len(outlines)
        for place, reply in zip(titled_outlines, replies, strict=True):
            named[place] = readable(reply, (), "no title is named")
            note(f"titles named: {', '.join(named[place]) or 'none'}")
        return named

    def _titles_prompt(self, query: Query, outline: Sequence[DocumentSection]) -> Prompt:
        title = title_of(outline[0].paragraphs[0][0].document)
        lines, sections = [f"Title: {title}"], [part for part in outline if part.title]
        for n, part in enumerate(sections, 1):
            lines.append(f"Section{n}: {part.title}")
            lines += [f"Subsection{m}: {sub.title}" for m, sub in enumerate(part.parts, 1)]
        abstract = [_span(one).text for one in outline[0].text if not outline[0].title]
        return self.extractor.prompt(
            "titles",
            question=query.text,
            notes="\n".join(abstract)[:_SHOWN],
            document="\n".join(lines),
        )

    def _broad(self, query: Query) -> float:
        """p(global) of the question, in [0, 1]."""
        words = ("[Global]", "[Local]") if self.predictor.trained else ("global", "local")
        prompt = self.predictor.prompt("scope", question=query.text)
        (reply,) = yes_probability(self.predictor.llm, [prompt], words)
        return readable(reply, 0.5, "the question is as global as local")

    def _fitting(
        self, nodes: Sequence[Sequence[Paragraph]], spans: Sequence[Segment]
    ) -> set[Paragraph]:
        """Paragraphs of the nodes, the best first, that fit the budget."""
        counts = self.llm.count([titled(s) for s in spans])
        sizes = dict(zip((s.key for s in spans), counts, strict=True))
        kept: set[Paragraph] = set()
        left, candidates = self.max_tokens, 2 * self.max_tokens
        for node in map(set, nodes):
            candidates -= sum(sizes[_span(one).key] for one in node)
            fresh = sum(sizes[_span(one).key] for one in node - kept)
            if candidates < 0 or (fresh > left and not node & kept):
                break
            if fresh <= left:
                kept |= node
                left -= fresh
        return kept


class DocumentSection(NamedTuple):
    """A part of a document; ``title`` is empty for the abstract, ``parts`` are sub-sections."""

    title: str
    text: list[Paragraph]
    parts: list[DocumentSection]

    @property
    def paragraphs(self) -> list[Paragraph]:
        """Its own, then those of its sub-sections."""
        return [*self.text, *(one for part in self.parts for one in part.text)]

    def mean(self, scores: Mapping[Key, float]) -> float:
        """Of its own text's mean, if it has some, and those of its sub-sections."""
        own = [np.mean([scores[_span(one).key] for one in self.text])] if self.text else []
        return float(np.mean([*own, *(part.mean(scores) for part in self.parts)]))

    def nodes(
        self, scores: Mapping[Key, float], titles: Collection[str], share: float | None = None
    ) -> Iterator[Node]:
        """Itself and all in it: score, how often p(global) is added, and its paragraphs.

        ``share`` is what a sub-section has of its section's.
        """
        named = (self.title or ABSTRACT).lower() in titles
        yield self.mean(scores), named + (share or 0.0), self.paragraphs
        among = len(self.parts) if share is None else len(self.text)
        inside = 1 / (among + 1) if named and self.title else 0.0
        for one in self.text:
            yield scores[_span(one).key], inside, [one]
        for part in self.parts:
            yield from part.nodes(scores, titles, inside)


def _ranked(nodes: Sequence[Node], broad: float) -> list[list[Paragraph]]:
    """Paragraphs of nodes, the best node first."""
    local, times = np.array([node[:2] for node in nodes]).T
    values = (local - local.min()) / (np.ptp(local) or 1.0) + broad * times
    return [nodes[n][2] for n in np.argsort(-values.round(6), kind="stable")]


def _span(sentences: Sequence[Segment]) -> Segment:
    """From the first of sentences to the last."""
    return Segment(sentences[0].document, sentences[0].start, sentences[-1].end)


def _paragraphs(sentences: Sequence[Segment]) -> list[Paragraph]:
    """Sentences of a stretch to ends of lines, so many that each has enough words, if it can."""
    results, begun, words = [], 0, 0
    for place, one in enumerate(sentences, 1):
        words += len(one.text.split())
        ends = place == len(sentences) or (
            words >= _WORDS and "\n" in one.document.text[one.end : sentences[place].start]
        )
        if ends:
            results.append(tuple(sentences[begun:place]))
            begun, words = place, 0
    return results


def _parts(sentences: Sequence[Segment], tags: Sequence[Tag]) -> list[DocumentSection]:
    """Abstract and sections, each from the sentence of its first words to the next part's."""
    whole, after = _span(sentences), sentences[0].start
    places: list[int | None] = []
    for *_, opening in tags:
        words = opening.split("...")[0].split()[:_OPENING]
        pattern = re.compile(r"\s+".join(map(re.escape, words)) or r"(?!)")
        match = pattern.search(whole.document.text, after, whole.end)
        after = match.end() if match else after
        begun = match and sum(s.end <= match.start() for s in sentences)
        places.append(begun)
    bounds = [len(sentences)]
    for place in reversed(places):
        bounds.insert(0, bounds[0] if place is None else place)
    outline = [DocumentSection("", _paragraphs(sentences[: bounds[0]]), [])]
    for (kind, title, _), *ends in zip(tags, bounds, bounds[1:], strict=False):
        text = _paragraphs(sentences[slice(*ends)])
        if kind == ABSTRACT:
            outline[0].text.extend(text)
        elif kind == "section" or not outline[-1].title:
            outline.append(DocumentSection(title, text, []))
        elif text:
            outline[-1].parts.append(DocumentSection(title, text, []))
    return [part for part in outline if part.paragraphs]


def _tags(reply: str) -> list[Tag]:
    """Kind, title and first words of each part of an outline."""
    tags = [
        (kind, " ".join(title.split()), opening) for kind, title, opening in _TAG.findall(reply)
    ]
    if not any(title for _, title, _ in tags) or any(k != ABSTRACT and not t for k, t, _ in tags):
        raise BadReply("an outline with tags <section: TITLE>", reply)
    return tags


_TITLE_LIST = Field("a JSON list of titles", texts, ("titles", "parts"))


def _titles(reply: str) -> tuple[str, ...]:
    """Titles in small letters, of a JSON list or one a line."""
    (titles,) = read_fields(reply, _TITLE_LIST)
    return tuple(dict.fromkeys(title.strip().lower() for title in titles))
