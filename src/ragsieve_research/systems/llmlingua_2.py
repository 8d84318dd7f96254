"""LLMLingua-2: keep the words that a token classifier calls worth keeping, whatever is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragsieve.answer import Reader
from ragsieve.errors import InputError, check_choice
from ragsieve.models.base import LLM, ClassifiedToken, TokenClassifier
from ragsieve.models.wrap import unwrap
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.types import Query, Segment
from ragsieve_research.systems.budget import Best
from ragsieve_research.systems.lingua import Joined

Pool = Literal["mean", "first"]
_DIGIT = re.compile(r"\d")


@system("llmlingua-2", needs="token classifier", paper="arXiv 2403.12968")
def llmlingua_2(
    llm: LLM,
    *,
    classifier: TokenClassifier | None = None,
    rate: float = 0.5,
    force: Sequence[str] = (),
    digits: bool = False,
    pool: Pool = "mean",
    max_tokens: int | None = None,
) -> System:
    """Keep the words that an encoder calls worth keeping, whatever is asked.

        documents ─ encoder ─ p(keep) of each token ─ mean of each word ─ the best τN ─ in order

    Args:
        llm: The generator.
        classifier: Reads the documents; published weights for 104 languages, LLMLingua-2-small,
            where None, loaded when they are first needed.
        rate: The paper's τ: share of the words' tokens that stays, in [0, 1]; not used where there
            is ``max_tokens``.
        force: Texts that always stay, as ``["?", "not"]``, wherever tokens spell them.
        digits: Whether words with a digit always stay.
        pool: Of a word's tokens the ``"mean"``, or the ``"first"``.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.
        MissingExtra: If there is no classifier and its packages are not installed.

    Source: LLMLingua-2 (arXiv 2403.12968), section 4.2; forced tokens, digits and pooling are those
        of the authors' code (llmlingua 0.2.2).
    Differs: All documents share one budget, as in the paper; the code cuts each chunk to the rate.
        A word with a forced token or digit has probability 1, where the code gives its token 1 and
        takes the mean; forced texts of several tokens are read as these, not as one that was never
        trained. They are first in the budget, and not above it. The code's filter of whole
        documents, off by default, is not here.
    """
    if classifier is None:
        from ragsieve_research.models.token_classifier import LocalTokenClassifier

        classifier = LocalTokenClassifier()
    if not hasattr(unwrap(classifier), "classify"):
        raise InputError(f"classifier must be a token classifier, got {classifier!r:.80}")
    reader = Reader(llm)
    keep = rate if max_tokens is None else max_tokens
    stages = Pipeline(
        Words(classifier, force=force, digits=digits, pool=pool), Best(reader, keep), Joined()
    )
    return System(stages, reader).with_budget(max_tokens)


@dataclass(frozen=True)
class Words:
    """Split segments into the words of a token classifier, each with its probability of staying.

    Score ``"keep"``, in [0, 1]; 1 of a word that must stay.

    Args:
        classifier: Reads each segment by itself.
        force: Texts that must stay where tokens spell them; each begins a word.
        digits: Whether words with a digit must.
        pool: Of a word's tokens the ``"mean"``, or the ``"first"``.

    Raises:
        InputError: If an option breaks its rule.
    """

    classifier: TokenClassifier
    force: Sequence[str] = field(default=(), kw_only=True)
    digits: bool = field(default=False, kw_only=True)
    pool: Pool = field(default="mean", kw_only=True)

    def __post_init__(self) -> None:
        check_choice(Pool, pool=self.pool)
        if isinstance(self.force, str) or not all(text.strip() for text in self.force):
            raise InputError(f"force must be texts that are not blank, got {self.force!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        tokens = self.classifier.classify([s.text for s in segments]) if segments else []
        return [
            Segment(s.document, s.start + start, s.start + end).scored("keep", probability)
            for s, some in zip(segments, tokens, strict=True)
            for start, end, probability in self._words(s.text, some)
        ]

    def _words(
        self, text: str, tokens: Sequence[ClassifiedToken]
    ) -> Iterator[tuple[int, int, float]]:
        """Bounds and probability of each word of a text."""
        forced = [m.span() for part in self.force for m in re.finditer(re.escape(part), text)]
        starts = {start for start, _ in forced}
        words: list[list[ClassifiedToken]] = []
        for token in tokens:
            if token.begins or token.start in starts or not words:
                words.append([])
            words[-1].append(token)
        for word in words:
            start, end = word[0].start, max(token.end for token in word)
            if self._must_stay(text, word, forced):
                yield start, end, 1.0
            elif start < end:
                some = word if self.pool == "mean" else word[:1]
                yield start, end, sum(token.keep for token in some) / len(some)

    def _must_stay(
        self, text: str, word: Sequence[ClassifiedToken], forced: Sequence[tuple[int, int]]
    ) -> bool:
        return any(
            (self.digits and _DIGIT.search(text, token.start, token.end))
            or any(start <= token.start < token.end <= end for start, end in forced)
            for token in word
        )
