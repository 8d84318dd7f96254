"""CPC (arXiv 2409.01227) worked by hand: section 3, sentences embedded in their context.

"Seals and Crofts were a duo." and "They sang it in 1972." stand in one document, "It rained." in
another. The question is at (1, 0). Alone, "They sang it in 1972." is at (0, 1), as nothing says who
they are; read in its document it is at (0.8, 0.6):

    Seals and Crofts were a duo.   (0.6, 0.8)   cosine 0.6
    They sang it in 1972.          (0.8, 0.6)   cosine 0.8
    It rained.                     (0, 1)       cosine 0

Tokens are words and marks: 7 + 6 + 3 = 16. A rate of 0.5 keeps 8 of them: the second sentence with
6, but not the first, which comes next with 7. All but the last are 13, of a rate of 0.9 (14).
"""

import numpy as np
import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.cpc import cpc

DUO, SANG, RAIN = "Seals and Crofts were a duo.", "They sang it in 1972.", "It rained."
DOCUMENTS = [{"title": "Band", "text": f"{DUO} {SANG}"}, {"text": RAIN}]
PLACES = {DUO: [0.6, 0.8], SANG: [0.8, 0.6], RAIN: [0.0, 1.0]}


class Reading:
    """Gives spans what the table says of them within their document, and keeps the texts."""

    identity = "reading"

    def __init__(self):
        self.texts = []

    def embed(self, texts, *, query=False):
        """The question's vector."""
        return np.array([[1, 0]] * len(texts), np.float32)

    def embed_spans(self, texts, spans):
        """By the span's own text."""
        self.texts += texts
        pairs = zip(texts, spans, strict=True)
        return [[PLACES[text[start:end]] for start, end in some] for text, some in pairs]


@pytest.mark.parametrize(("rate", "kept"), [(0.5, [SANG]), (0.9, [DUO, SANG]), (1.0, [*PLACES])])
def test_the_best_sentences_stay_up_to_the_rate(rate, kept):
    """In their order; each document is read once, behind its title."""
    embedder = Reading()
    result = cpc(ScriptedLLM([]), embedder, rate=rate)("Who sang it?", DOCUMENTS)

    assert kept == [s.text for s in result.kept]
    assert [f"Band: {DUO} {SANG}", RAIN] == embedder.texts
    assert pytest.approx([0.8]) == [s.score for s in result.kept if s.text == SANG]
