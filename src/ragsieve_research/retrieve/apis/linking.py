"""Link a question's entities to values that an API's endpoints take."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.text import stemmed, words
from ragsieve.trace import note
from ragsieve_research.retrieve.apis.api import Endpoint, Link
from ragsieve_research.retrieve.apis.calls import ApiClient, Value
from ragsieve_research.retrieve.apis.entities import NAMES, Entity
from ragsieve_research.retrieve.apis.parts import bare_tickers, parts, rest, topics_of

with needs_extra("records"):
    from rapidfuzz import fuzz

Pair = tuple[Link, Entity]
_MOST_NAMES = 1000  # of a search's reply: comparing ten thousand takes seconds
_MIN_MATCH = 85.0  # of names in small letters, by rapidfuzz in [0, 100]; their figures are equal


class Linker:
    """Links what one question names to values; names are looked up in rounds.

    An entity that is nothing but a word by which an endpoint fits is no name. Of one that the API
    does not know, the parts are tried. Where no endpoint that has a word of the question could be
    called so, what is left of the question beside these words is tried, then words in capitals as
    tickers, then these words themselves. At most ``max_calls`` names are looked up, by the links in
    their order.
    """

    def __init__(
        self, client: ApiClient, question: str, fitting: Sequence[Endpoint], max_calls: int
    ) -> None:
        self._client, self._question = client, question
        self._topical = [e for e in fitting if e.about]
        self._topics = topics_of(question, (topic for e in fitting for topic in e.about))
        self._kinds = {kind for e in fitting for kind in e.kinds}
        self._links = [link for link in client.api.links if link.kind in self._kinds]
        self._known: dict[Pair, Value] = {}
        self._looked_up: set[tuple[Link, str]] = set()
        self._begun = False
        self._lookups, self._max_calls = 0, max_calls

    def link(self, entities: Sequence[Entity]) -> dict[str, list[Value]]:
        """Kind → its values in the question, for the kinds that the fitting endpoints take."""
        named = [e for e in entities if stemmed(e.text) not in self._topics]
        self._try(named)
        unknown = [e for e in named if e.kind in NAMES and not self._knows(e)]
        inside = [part for e in unknown for part in parts(self._question, e, self._topics)]
        self._try(inside)
        for guesses in self._guesses([*named, *inside]):
            values = self._values()
            if any(all(values[kind] for kind in e.takes.values()) for e in self._topical):
                break  # an endpoint that has a word of the question has all that it takes
            self._try(guesses, about_only=True)
        return self._values()

    def _guesses(self, named: Sequence[Entity]) -> Iterator[list[Entity]]:
        yield bare_tickers(named, small=False)
        others = rest(self._question, self._topics)
        yield others
        yield bare_tickers(others, small=True)
        yield [Entity(topic, "name", 0, 0) for topic in self._topics if " " not in topic]

    def _try(self, entities: Sequence[Entity], *, about_only: bool = False) -> None:
        """Look up ``entities``; if ``about_only``, only for endpoints that have topics."""
        client = self._client
        kinds = {kind for e in self._topical for kind in e.kinds} if about_only else self._kinds
        links = [link for link in self._links if link.kind in kinds]
        pairs = self._within([(link, e) for link in links for e in entities if self._new(link, e)])
        self._looked_up |= {(link, e.text.lower()) for link, e in pairs}
        client.ask(client.about(link.search, e.text) for link, e in pairs if link.search)
        new = {pair: value for pair in pairs if (value := _known(*pair, client))}
        for link, entity in () if about_only else pairs:
            if link.search and (link, entity) not in new:
                note(f"{entity.text!r} is no {link.kind} that {client.api.name!r} knows")
        client.ask(client.about(link.then, v.name) for (link, _), v in new.items() if link.then)
        self._known |= new
        self._begun = True

    def _new(self, link: Link, entity: Entity) -> bool:
        """Whether to look up; behind the first round nothing is a value by its own word alone."""
        sure = not self._begun or link.search or link.names or entity.kind == "ticker"
        return (
            bool(sure) and link.suits(entity) and (link, entity.text.lower()) not in self._looked_up
        )

    def _knows(self, entity: Entity) -> bool:
        """Whether a search or a list knows the entity."""
        return any(e == entity and (link.search or link.names) for link, e in self._known)

    def _values(self) -> dict[str, list[Value]]:
        """Kind → its values so far."""
        values: dict[str, list[Value]] = {kind: [] for kind in self._kinds}
        for link in self._links:
            candidates = list(_written(link, self._question))
            own = [value for (of, _), value in self._known.items() if of == link]
            candidates += [_turned(link, value, self._client) for value in own]
            for value in filter(None, (_formed(link, value) for value in candidates)):
                if all(value.value != other.value for other in values[link.kind]):
                    values[link.kind].append(value)
        return values

    def _within(self, pairs: Sequence[Pair]) -> list[Pair]:
        """The pairs, of those that must be looked up as many as are left."""
        searched = [pair for pair in pairs if pair[0].search]
        first = searched[: max(0, self._max_calls - self._lookups)]
        self._lookups += len(searched)
        if len(first) < len(searched):
            most = f"max_calls={self._max_calls}"
            note(f"of {self._lookups} names to look up, the first {most} were")
        return [pair for pair in pairs if not pair[0].search or pair in first]


def best(name: str, names: Iterable[str], ignore: Sequence[str] = ()) -> tuple[str, float]:
    """The best match of ``name`` among ``names``, the first of equals, and its score in [0, 100].

    A name also matches, one point less, without what stands in brackets or behind a comma.
    Figures must be equal: Maroon 5 is not Maroon 4.
    """
    result = ("", 0.0)
    own = name_words(name, ignore)
    for candidate in names:
        short = re.sub(r"\s*\([^()]*\)\s*$|,.*$", "", candidate[:300])
        forms = [(name_words(candidate, ignore), 0.0), (name_words(short, ignore), 1.0)]
        matches = [fuzz.ratio(own, form) - less for form, less in forms if _same(own, form)]
        if (match := max(matches, default=0.0)) > result[1]:
            result = (candidate, match)
    return result


def name_words(name: str, ignore: Sequence[str] = ()) -> str:
    """A name as names are compared: its words in small letters, without accents and ``ignore``.

    An article before it counts for nothing.
    """
    decomposed = unicodedata.normalize("NFKD", name[:300])
    plain = words("".join(c for c in decomposed if not unicodedata.combining(c)))
    if plain[1:] and plain[0] in ("the", "a", "an"):
        plain = plain[1:]
    return " ".join([word for word in plain if word not in ignore] or plain)


def _same(one: str, other: str) -> bool:
    return bool(one and other) and re.findall(r"\d+", one) == re.findall(r"\d+", other)


def _known(link: Link, entity: Entity, client: ApiClient) -> Value | None:
    if not link.search and not link.names:
        return Value(entity.text, entity.text)
    names: Mapping[str, str] = link.names
    if link.search:
        answer = client.answer(client.about(link.search, entity.text))
        listed = _listed(answer, link.key)
        if (size := len(listed)) > _MOST_NAMES:
            note(f"of {size} names that {link.search!r} found, the first {_MOST_NAMES} count")
        names = {**names, **{name: name for name in listed[:_MOST_NAMES]}}
    name, match = best(entity.text, names, link.ignore)
    return Value(names[name], name, match) if match >= _MIN_MATCH else None


def _listed(answer: Any, key: str) -> list[str]:
    items = answer if isinstance(answer, list) else [answer]
    named = [item.get(key) if isinstance(item, Mapping) else item for item in items]
    return [name for name in named if isinstance(name, str) and name.strip()]


def _turned(link: Link, value: Value, client: ApiClient) -> Value:
    if not link.then:
        return value
    return value._replace(value=client.answer(client.about(link.then, value.name)))


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
