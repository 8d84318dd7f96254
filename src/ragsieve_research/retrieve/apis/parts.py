"""Parts of a question that may be names, where the recogniser found none."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ragsieve.text import stemmed, words
from ragsieve_research.retrieve.apis.entities import JOINTS, Entity, is_common, trimmed

_WORD = re.compile(r"[^\s\"“”()\[\]?!;,/]+")
_ENDING = re.compile(r"(['’]s|['’]|[.:])\Z")
_OPENING = re.compile(
    r"\s*(?:(?:when|where|who|what|which|how|why|did|does|do|is|was|were|are|has|have|had)\b\s*)+",
    re.I,
)
_VERBS = frozenset(
    words(
        "appear become begin bought buy came come cost costs earn earned end get go got happen "
        "happened hit made make own owned paid pay pays sell sold start stand trade use went"
    )
)
_TICKER = re.compile(r"[A-Za-z]{2,5}")


def topics_of(question: str, topics: Iterable[str]) -> list[str]:
    """The stemmed words or phrases of ``topics`` that the question has, longest first."""
    padded = f" {stemmed(question)} "
    present = {topic for topic in map(stemmed, topics) if topic and f" {topic} " in padded}
    return sorted(present, key=lambda topic: (-len(topic), topic))


def parts(question: str, entity: Entity, topics: Collection[str]) -> list[Entity]:
    """Names inside a name: its runs without joining, common and topic words; longest first."""
    runs = _runs(question, entity.start, entity.end, topics, titles=False)
    return [replace(e, kind=entity.kind) for e in runs if e.text != entity.text]


def rest(question: str, topics: Collection[str]) -> list[Entity]:
    """Names that a question may have beside its topics, longest first.

    Whole stretches between topics, common words included (a title may have nothing else), then
    their runs without common words.
    """
    stretches = _runs(question, 0, len(question), topics, titles=True)
    runs = _runs(question, 0, len(question), topics, titles=False)
    return list({e.text.lower(): e for e in [*stretches, *runs]}.values())


def bare_tickers(entities: Sequence[Entity], *, small: bool) -> list[Entity]:
    """Entities of one word that can be a ticker: in capitals, or, if ``small``, in any letters."""
    fits = [e for e in entities if _TICKER.fullmatch(e.text) and (small or e.text.isupper())]
    return [replace(e, text=e.text.upper(), kind="ticker") for e in fits]


def _runs(
    question: str, start: int, end: int, topics: Collection[str], *, titles: bool
) -> list[Entity]:
    """Runs of words, ended by topics, signs, possessives, and unless ``titles`` common words."""
    entities = []
    for run in _split(question, start, end, {w for topic in topics for w in topic.split()}, titles):
        span = question, run[0].start(), run[-1].end()
        entity = _stretch(*span) if titles else trimmed(*span, "name")
        if entity and stemmed(entity.text) not in topics:
            entities.append(entity)
    return sorted(entities, key=lambda e: e.start - e.end)


def _split(
    question: str, start: int, end: int, breaks: Collection[str], titles: bool
) -> Iterator[list[re.Match[str]]]:
    runs: list[list[re.Match[str]]] = [[]]
    behind = start
    for word in _WORD.finditer(question, start, end):
        plain = _ENDING.sub("", word.group()).lower()
        if question[behind : word.start()].strip():
            runs.append([])
        behind = word.end()
        if stemmed(plain) in breaks or (not titles and _ends(plain)):
            runs.append([])
            continue
        runs[-1].append(word)
        if _ENDING.search(word.group()):
            runs.append([])
    return filter(None, runs)


def _ends(word: str) -> bool:
    return is_common(word) or word in JOINTS or word in _VERBS


def _stretch(question: str, start: int, end: int) -> Entity | None:
    """The text as a title, without a question's opening; None where it is one common word."""
    if not question[:start].strip() and (opening := _OPENING.match(question, start, end)):
        start = opening.end()
    text = _ENDING.sub("", question[start:end])
    if not text or (" " not in text and is_common(text.lower())):
        return None
    return Entity(text, "name", start, start + len(text))
