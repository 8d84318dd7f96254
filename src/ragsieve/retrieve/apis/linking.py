"""What a question names, as values that an API's endpoints take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz

from ragsieve.retrieve.apis.api import Endpoint, Link
from ragsieve.retrieve.apis.calls import Asker, Value
from ragsieve.retrieve.apis.entities import NAMES, Entity
from ragsieve.retrieve.apis.parts import bare_tickers, parts, rest, said_topics
from ragsieve.text import stemmed, words
from ragsieve.trace import note

Pair = tuple[Link, Entity]
_MOST_NAMES = 1000  # of a search's reply: comparing ten thousand takes seconds


def linked(
    asker: Asker,
    question: str,
    found: Sequence[Entity],
    fitting: Sequence[Endpoint],
    min_match: float,
    max_calls: int,
) -> dict[str, list[Value]]:
    """Kind → its values in ``question``, for the kinds that the ``fitting`` endpoints take.

    An entity that is nothing but a word by which an endpoint fits is no name. Of one that the API
    does not know, the parts are tried. Where no endpoint that has a word of the question could be
    called so, what is left of the question beside these words is tried, then words in capitals as
    tickers, then these words themselves. At most ``max_calls`` names are looked up, by the links in
    their order.
    """
    topics = said_topics(question, (topic for e in fitting for topic in e.about))
    lookup = _Lookup(asker, question, fitting, min_match, max_calls)
    named = [e for e in found if stemmed(e.text) not in topics]
    lookup.try_names(named)
    inside = [part for e in lookup.unknown(named) for part in parts(question, e, topics)]
    lookup.try_names(inside)
    ways: tuple[Callable[[], list[Entity]], ...] = (
        lambda: bare_tickers([*named, *inside], small=False),
        lambda: rest(question, topics),
        lambda: bare_tickers(rest(question, topics), small=True),
        lambda: [Entity(topic, "name", 0, 0) for topic in topics if " " not in topic],
    )
    for tried in ways:
        if lookup.can_call():
            break
        lookup.try_names(tried(), about_only=True)
    return lookup.values()


class _Lookup:
    """Names of one question, looked up in rounds; what one round finds the next need not."""

    def __init__(
        self,
        asker: Asker,
        question: str,
        fitting: Sequence[Endpoint],
        min_match: float,
        max_calls: int,
    ) -> None:
        self._asker, self._question, self._min_match = asker, question, min_match
        self._topical = [e for e in fitting if e.about]
        self._kinds = {k for e in fitting for k in (*e.takes.values(), *e.may.values())}
        self._links = [link for link in asker.api.links if link.kind in self._kinds]
        self._known: dict[Pair, Value] = {}
        self._tried: set[tuple[Link, str]] = set()
        self._begun = False
        self._asked, self._max_calls = 0, max_calls

    def try_names(self, entities: Sequence[Entity], *, about_only: bool = False) -> None:
        """Look up ``entities``; if ``about_only``, only for endpoints that have topics."""
        kinds = {k for e in self._topical for k in (*e.takes.values(), *e.may.values())}
        links = [link for link in self._links if not about_only or link.kind in kinds]
        asker, min_match = self._asker, self._min_match
        pairs = self._within([(link, e) for link in links for e in entities if self._new(link, e)])
        self._tried |= {(link, e.text.lower()) for link, e in pairs}
        asker.ask(asker.about(link.search, e.text) for link, e in pairs if link.search)
        new = {pair: value for pair in pairs if (value := _known(*pair, asker, min_match))}
        for link, entity in () if about_only else pairs:
            if link.search and (link, entity) not in new:
                note(f"{entity.text!r} is no {link.kind} that {asker.api.name!r} knows")
        asker.ask(asker.about(link.then, v.name) for (link, _), v in new.items() if link.then)
        self._known |= new
        self._begun = True

    def _new(self, link: Link, entity: Entity) -> bool:
        """Whether to look up; behind the first round nothing is a value by its own word alone."""
        sure = not self._begun or link.search or link.names or entity.kind == "ticker"
        return bool(sure) and link.suits(entity) and (link, entity.text.lower()) not in self._tried

    def unknown(self, entities: Sequence[Entity]) -> list[Entity]:
        """Those of ``entities`` that are names, and none that a search or a list knows."""
        known = {entity for link, entity in self._known if link.search or link.names}
        return [e for e in entities if e.kind in NAMES and e not in known]

    def can_call(self) -> bool:
        """Whether some endpoint that has a word of the question has all that it takes."""
        values = self.values()
        return any(all(values[kind] for kind in e.takes.values()) for e in self._topical)

    def values(self) -> dict[str, list[Value]]:
        """Kind → its values so far."""
        values: dict[str, list[Value]] = {kind: [] for kind in self._kinds}
        for link in self._links:
            told = list(_written(link, self._question))
            own = [value for (of, _), value in self._known.items() if of == link]
            told += [_turned(link, value, self._asker) for value in own]
            for value in filter(None, (_formed(link, value) for value in told)):
                if all(value.value != other.value for other in values[link.kind]):
                    values[link.kind].append(value)
        return values

    def _within(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs, of those that must be looked up as many as are left."""
        searched = [pair for pair in pairs if pair[0].search]
        kept = searched[: max(0, self._max_calls - self._asked)]
        self._asked += len(searched)
        if len(kept) < len(searched):
            most = f"max_calls={self._max_calls}"
            note(f"of {self._asked} names to look up, the first {most} were")
        return [pair for pair in pairs if not pair[0].search or pair in kept]


def best(name: str, known: Iterable[str], ignore: Sequence[str] = ()) -> tuple[str, float]:
    """The known name that ``name`` matches best, the first of equals, and how well, in [0, 100].

    A known name also matches, one point less, without what stands in brackets or behind a comma.
    Figures must be equal: Maroon 5 is not Maroon 4.
    """
    found = ("", 0.0)
    own = name_words(name, ignore)
    for candidate in known:
        short = re.sub(r"\s*\([^()]*\)\s*$|,.*$", "", candidate[:300])
        forms = [(name_words(candidate, ignore), 0.0), (name_words(short, ignore), 1.0)]
        matches = [fuzz.ratio(own, form) - less for form, less in forms if _same(own, form)]
        if (match := max(matches, default=0.0)) > found[1]:
            found = (candidate, match)
    return found


def name_words(name: str, ignore: Sequence[str] = ()) -> str:
    """A name as names are compared: its words in small letters, without accents and ``ignore``.

    An article before it counts for nothing.
    """
    bare = unicodedata.normalize("NFKD", name[:300])
    told = words("".join(c for c in bare if not unicodedata.combining(c)))
    if told[1:] and told[0] in ("the", "a", "an"):
        told = told[1:]
    return " ".join([word for word in told if word not in ignore] or told)


def _same(one: str, other: str) -> bool:
    return bool(one and other) and re.findall(r"\d+", one) == re.findall(r"\d+", other)


def _known(link: Link, entity: Entity, asker: Asker, min_match: float) -> Value | None:
    if not link.search and not link.names:
        return Value(entity.text, entity.text)
    names: Mapping[str, str] = link.names
    if link.search:
        answer = asker.answer(asker.about(link.search, entity.text))
        listed = _listed(answer, link.key)
        if len(listed) > _MOST_NAMES:
            note(
                f"of {len(listed)} names that {link.search!r} found, the first {_MOST_NAMES} count"
            )
        names = {**names, **{name: name for name in listed[:_MOST_NAMES]}}
    name, match = best(entity.text, names, link.ignore)
    if match < min_match:
        return None
    return Value(names[name], name, match)


def _listed(answer: Any, key: str) -> list[str]:
    items = answer if isinstance(answer, list) else [answer]
    named = [item.get(key) if isinstance(item, Mapping) else item for item in items]
    return [name for name in named if isinstance(name, str) and name.strip()]


def _turned(link: Link, value: Value, asker: Asker) -> Value:
    return (
        value._replace(value=asker.answer(asker.about(link.then, value.name)))
        if link.then
        else value
    )


def _written(link: Link, question: str) -> Iterable[Value]:
    """Values that the question has word for word: of a pattern, and of listed names."""
    if link.pattern:
        for match in re.finditer(link.pattern, question.lower()):
            yield Value(match[1], match[1])
    padded = f" {name_words(question)} " if link.names else ""
    for name, value in link.names.items():
        if f" {name_words(name)} " in padded:
            yield Value(value, name)


def _formed(link: Link, value: Value) -> Value | None:
    """The value in the form in which endpoints take it; None where it has no such form."""
    plain = value.value
    if isinstance(plain, bool) or not isinstance(plain, str | int | float) or plain == "":
        return None
    if link.form == "integer":
        return value._replace(value=int(plain)) if re.fullmatch(r"\d{1,18}", str(plain)) else None
    return value._replace(value=[plain]) if link.form == "list" else value
