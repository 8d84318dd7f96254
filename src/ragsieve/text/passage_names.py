"""What names a passage in its metadata: the headings that a splitter took out of its text."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ragsieve.types import Document

_LONGEST = 100  # characters of all names of a passage
_DEEPEST = 4  # levels of metadata that are looked into
_TEXTUAL = 0.75  # share of a field's values, at least, that read as names
_ABOVE = 400  # characters at the beginning of a text, in which its headings may stand
_WORD = re.compile(r"\W*[^\W\d_]+(?:['’.-][^\W\d_]+)*\W*")
_NUMBER = re.compile(r"\W*(?:\d[\d.,:-]*\w{0,2}|\w{1,4})?\W*")  # or a short sign: Q3, B-12
_CODE = re.compile(r"[a-z\d]\S*|\S*[a-z][A-Z]\S*")  # pdf, NarrativeText
_MARKS = re.compile(r"^[#=*_\s]+|[#=*_\s]+$", re.MULTILINE)

Names = tuple[str, ...]


def with_names(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Documents with what their metadata names them by in their titles, the coarsest name first.

    A field has names where its values are short and of words, and passages of one source and title
    differ in it, as sections do. ``Header 1`` and ``Header 2``, alike but for a number, are one
    field. What a title or the beginning of a text says is not said again.
    """
    fields = [_fields(document.metadata) for document in documents]
    values: defaultdict[str, list[Names]] = defaultdict(list)
    siblings: defaultdict[tuple[str, str, str], set[Names]] = defaultdict(set)
    for document, own in zip(documents, fields, strict=True):
        for key, names in own.items():
            values[key].append(names)
            siblings[key, document.source, document.title].add(names)
    differ = {key for (key, *_), some in siblings.items() if len(some) > 1}
    known = ((key, some) for key, some in values.items() if key in differ)
    textual = ((k, some) for k, some in known if sum(map(_are_names, some)) >= _TEXTUAL * len(some))
    sizes = {key: len({*some}) for key, some in textual}
    coarsest = sorted(sizes, key=lambda key: (sizes[key], key))
    said = ([name for key in coarsest for name in own.get(key, ())] for own in fields)
    return tuple(map(_titled, documents, said))


def _fields(metadata: Mapping[str, object]) -> dict[str, Names]:
    """Strings of metadata by the keys that lead to them, without numbers."""
    found: dict[str, Names] = {}
    for key, text in _leaves(metadata, "", _DEEPEST):
        path = text[0] == text[-1] == "/"
        found[key] = (*found.get(key, ()), *filter(None, text[1:-1].split("/") if path else [text]))
    return found


def _leaves(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield from [(key, value.strip())] if value.strip() else []
    elif isinstance(value, Mapping) and depth:
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{re.sub(r'[0-9]+', '', str(name))}", depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for inner in value:
            yield from _leaves(inner, key, depth - 1)


def _are_names(names: Names) -> bool:
    return sum(map(len, names)) <= _LONGEST and all(map(_is_name, names))


def _is_name(text: str) -> bool:
    tokens = text.split()
    words = [token for token in tokens if _WORD.fullmatch(token)]
    others = [token for token in tokens if token not in words]
    plain = not text.endswith(".") if len(tokens) > 1 else not _CODE.fullmatch(text)
    return plain and len(words) > len(others) and all(map(_NUMBER.fullmatch, others))


def _titled(document: Document, names: Sequence[str]) -> Document:
    """A document whose title has those of its names that fit, the finest first."""
    above = {_MARKS.sub("", line).casefold() for line in document.text[:_ABOVE].splitlines()}
    others = (name for name in dict.fromkeys(names) if name.casefold() not in above)
    new = [name for name in others if name.casefold() not in document.title.casefold()]
    while sum(map(len, new)) > _LONGEST:
        del new[0]
    return replace(document, title=" > ".join(filter(None, (document.title, *new))))
