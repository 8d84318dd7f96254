"""Kept spans against gold evidence: documents, sentences, answers, tokens.

Gold documents have ``is_positive`` in their metadata, gold sentences stand in
``supporting_sentences``. Whether a number applies depends on the example alone: it is None where
the example has no gold label of its kind, and a system that keeps nothing has precision 0.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ragsieve.documents import as_documents
from ragsieve.errors import InputError
from ragsieve.result import Result
from ragsieve.schema import read
from ragsieve.system import best_first
from ragsieve.text import contains_answer, sentence_spans, visible_answers
from ragsieve.trace import Step
from ragsieve.types import Document, Example, Segment, Span

_WORD = re.compile(r"\w+")
_LETTER = r"[^\W\u0e00-\u0eff\u3040-\u9fff\uf900-\ufaff]"  # of a script with spaces between words
_INSIDE = re.compile(f"(?<={_LETTER}){_LETTER}")  # of a word


def gold_sentences(document: Document) -> list[Span]:
    """Spans of a document's gold sentences, in order, each once.

    ``metadata["supporting_sentences"]`` holds them as strings, or as indexes into
    ``metadata["sentences"]``, which are looked for one behind the other, as they may be repeated. A
    sentence is looked for as it is, then word by word, whatever stands between its words, never
    within a word; one that is not found, or an index that there is not, is left out.

    Raises:
        InputError: If the metadata hold anything else.
    """
    metadata = document.metadata
    named = read(
        list[int | str], metadata.get("supporting_sentences") or [], "supporting_sentences"
    )
    split = read(list[str], metadata.get("sentences") or [], "sentences")
    text, behind = document.text, 0
    spans = {_located(one, text) for one in named if isinstance(one, str)}
    places = {one for one in named if isinstance(one, int)}
    for place, sentence in enumerate(split[: max(places, default=-1) + 1]):
        if span := _located(sentence, text, behind) or _located(sentence, text):
            behind = span[1]
            spans |= {span} if place in places else set()
    return sorted(filter(None, spans))


def _located(sentence: str, text: str, start: int = 0) -> Span | None:
    """The first span of a sentence from a place on; None where there is none."""
    sentence, end = sentence.strip(), start
    while sentence and (first := text.find(sentence, end)) >= 0:
        end = first + len(sentence)
        if not _INSIDE.match(text, first) and not _INSIDE.match(text, end):
            return first, end
    words = map(re.escape, _WORD.findall(sentence))
    pattern = r"\W+".join(words)
    match = re.compile(rf"(?<!\w){pattern}(?!\w)").search(text, start) if pattern else None
    return match.span() if match else None


def document_recall(example: Example, result: Result) -> float | None:
    """Share of the gold documents of which a span is kept, from 0 to 1; None without gold ones."""
    gold = _gold_documents(example)
    return len(gold & _kept_documents(example, result)) / len(gold) if gold else None


def document_precision(example: Example, result: Result) -> float | None:
    """Share of gold ones among the documents of which a span is kept; None without gold ones."""
    gold, kept = _gold_documents(example), _kept_documents(example, result)
    return len(gold & kept) / max(1, len(kept)) if gold else None


def _gold_documents(example: Example) -> set[str]:
    documents = as_documents(example.documents)  # named as a system names them
    return {d.id for d in documents if d.metadata.get("is_positive") is True}


def _kept_documents(example: Example, result: Result) -> set[str]:
    named = _naming(example)
    return {named(s.document) for s in result.kept}


def _naming(example: Example) -> Callable[[Document], str]:
    """Gives kept documents the ids that the example has them by: an index knows them by others."""
    ids: dict[tuple[str, str], list[str]] = {}
    gold = _gold_documents(example)
    for d in sorted(as_documents(example.documents), key=lambda d: d.id not in gold):
        ids.setdefault((d.title, d.text), []).append(d.id)

    def named(document: Document) -> str:
        same = ids.get((document.title, document.text), [])
        if document.id in same:
            return document.id
        return same[0] if same else f"not of the example: {document.id}"

    return named


def sentence_recall(example: Example, result: Result) -> float | None:
    """Share of the gold sentences that are kept, at least half of each; None without gold ones."""
    gold, kept = _gold_spans(example), _kept_spans(example, result.kept)
    pairs = [(one, kept.get(name, [])) for name, sentences in gold.items() for one in sentences]
    return sum(mostly(*pair) for pair in pairs) / len(pairs) if pairs else None


def sentence_precision(example: Example, result: Result) -> float | None:
    """Share of the kept sentences that are gold, at least half of each; None without gold ones."""
    gold = {name: merged(sentences) for name, sentences in _gold_spans(example).items()}
    if not gold:
        return None
    named = _naming(example)
    texts = {named(s.document): s.document.text for s in result.kept}
    right = [
        mostly((start + first, start + last), gold.get(name, []))
        for name, spans in _kept_spans(example, result.kept).items()
        for start, end in spans
        for first, last in sentence_spans(texts[name][start:end])
    ]
    return sum(right) / max(1, len(right))


def _gold_spans(example: Example) -> dict[str, list[Span]]:
    spans = {d.id: gold_sentences(d) for d in as_documents(example.documents)}
    return {name: gold for name, gold in spans.items() if gold}


def _kept_spans(example: Example, segments: Iterable[Segment]) -> dict[str, list[Span]]:
    """Kept characters by document, as spans in order that do not meet."""
    spans: dict[str, list[Span]] = {}
    named = _naming(example)
    for segment in segments:
        spans.setdefault(named(segment.document), []).append((segment.start, segment.end))
    return {name: merged(kept) for name, kept in spans.items()}


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same characters as spans in order that do not meet."""
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def mostly(span: Span, cover: Sequence[Span]) -> bool:
    """Whether at least half of ``span`` lies in ``cover``, whose spans do not meet."""
    start, end = span
    inside = sum(max(0, min(end, last) - max(start, first)) for first, last in cover)
    return 2 * inside >= end - start


@dataclass(frozen=True)
class Presence:
    """Whether what came out of a stage still holds a gold answer.

    Args:
        stage: The stage's name without its options; ``"given"`` for the documents themselves.
        present: Whether a gold answer occurs in the spans that came out, titles aside.
        first: Whether one occurs in the best of them; None where none has a score.
    """

    stage: str
    present: bool
    first: bool | None = None


def presence(result: Result, answers: Sequence[str]) -> list[Presence]:
    """The stages that a gold answer reaches: the documents, then every stage before the reader.

    Empty without a gold answer other than yes or no: one cannot see where such an answer stands.

    Over questions whose documents hold an answer, FineFilter's Recall-1, Hit@1 and Recall-3 are the
    shares of ``present`` after Extract, ``first`` after Cosine and ``present`` after Truncate.

    Raises:
        InputError: If the result was read from JSON, which has not what each stage kept.

    Source: FineFilter (arXiv 2502.11811v4), table 5.
    """
    if any(step.restored for step in result.trace.steps):
        raise InputError("result must be a call's own, got one read from JSON, without its stages")
    if not (answers := visible_answers(answers)):
        return []
    steps = result.trace.steps[:-1] if result.answer is not None else result.trace.steps
    documents = tuple(Segment.whole(document) for document in result.documents)
    rows = [("given", documents), *((_stage_name(step.stage), step.after) for step in steps)]
    return [_presence(*row, answers) for row in rows]


def _presence(stage: str, segments: Sequence[Segment], answers: Sequence[str]) -> Presence:
    best = best_first(segments)[:1]
    first = contains_answer(best[0].text, answers) if best and best[0].scores else None
    return Presence(stage, contains_answer("\n".join(s.text for s in segments), answers), first)


def _stage_name(stage: str) -> str:
    """``Sentences`` of ``Sentences(language='en')``; a name of another form as it is."""
    name, options, _ = stage.partition("(")
    return name if options and name.isidentifier() else stage


def documents_read(_: Example, result: Result) -> float:
    """Documents of which a stage or the reader read anything: all but those cut by their place."""
    cut = {
        drop.segment.document.id
        for step in takewhile(_cuts_by_place, result.trace.steps)
        for drop in step.dropped
        if not drop.segment.scores
    }
    return float(len(result.documents) - len(cut))


def _cuts_by_place(step: Step) -> bool:
    """Whether a step leaves documents out unread, before any stage has read them."""
    return step.kind != "stage" or step.stage.startswith("TopK(")


def tokens_kept(_: Example, result: Result) -> float | None:
    """Tokens of the context after filtering / before, from 0 to 1; None where there were none."""
    return result.tokens.after / result.tokens.before if result.tokens.before else None
