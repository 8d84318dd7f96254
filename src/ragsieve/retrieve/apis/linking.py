"""What a question names, as values that an API's endpoints take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz

from ragsieve.retrieve.apis.api import Endpoint, Link
from ragsieve.retrieve.apis.calls import Asker, Value
from ragsieve.retrieve.apis.entities import Entity
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

    An entity that is nothing but a word by which an endpoint fits is no name. At most ``max_calls``
    names are looked up, by the links in their order.
    """
    kinds = {kind for e in fitting for kind in (*e.takes.values(), *e.may.values())}
    links = [link for link in asker.api.links if link.kind in kinds]
    topics = {stemmed(topic) for e in fitting for topic in e.about}
    named = [e for e in found if stemmed(e.text) not in topics]
    pairs = _within([(link, e) for link in links for e in named if link.suits(e)], max_calls)
    asker.ask(asker.about(link.search, e.text) for link, e in pairs if link.search)
    known = {pair: value for pair in pairs if (value := _known(*pair, asker, min_match))}
    asker.ask(asker.about(link.then, v.name) for (link, _), v in known.items() if link.then)
    values: dict[str, list[Value]] = {kind: [] for kind in kinds}
    for link in links:
        told = list(_written(link, question))
        told += [_turned(link, value, asker) for (own, _), value in known.items() if own == link]
        for value in filter(None, (_formed(link, value) for value in told)):
            if all(value.value != other.value for other in values[link.kind]):
                values[link.kind].append(value)
    return values


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


def _within(pairs: Sequence[Pair], max_calls: int) -> list[Pair]:
    """The pairs, of those that must be looked up the first ``max_calls``."""
    kept, used = [], 0
    for pair in pairs:
        used += bool(pair[0].search)
        if not pair[0].search or used <= max_calls:
            kept.append(pair)
    if used > max_calls:
        note(f"of {used} names to look up, the first max_calls={max_calls} were")
    return kept


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
        if link.search:
            note(f"{entity.text!r} is no {link.kind} that {asker.api.name!r} knows")
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
