"""What another framework's filter returns, as kept segments."""

import math
from dataclasses import dataclass, field

import pytest

from ragsieve import Document, Query, Segment, System
from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow, PeerError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Trace, step
from ragsieve_research.peers.filters.base import Peer, PeerInput, PeerOutput

QUERY = Query("Who sang Summer Breeze?")
TEXT = "Seals sang it in 1972. It sold\nvery well in many states. He left."
GIVEN = [Segment.whole(Document("d", TEXT, "Seals"))]


@dataclass(frozen=True)
class Parrot(Peer):
    """Returns texts of the first document, or raises."""

    texts: tuple[str, ...] = ()
    error: Exception | None = None
    score: float = math.nan
    heard: list[PeerInput] = field(default_factory=list, hash=False)

    def returned(self, question, given):
        self.heard.extend(given)
        if self.error:
            raise self.error
        return [PeerOutput(0, text, self.score) for text in self.texts]


def told(peer, given=GIVEN):
    """What is kept, and what the trace counts."""
    with Trace().recording(), step("peer", given) as record:
        kept = peer(QUERY, given)
    return kept, record.events[0]


def test_given_text_is_a_span_of_its_document():
    """White space and quotes aside, whole words, long runs of an altered sentence."""
    kept, counts = told(Parrot(('"It sold very well in many states."',)))

    assert [(23, 56)] == [(s.start, s.end) for s in kept]
    assert "It sold\nvery well in many states." == kept[0].text
    assert (0, 7) == (counts["invented_words"], counts["words"])

    kept, counts = told(Parrot(("The song sold very well in many countries.",)))

    assert ["written", "d", "written#2"] == [s.document.id for s in kept]
    assert ["The song", "sold\nvery well in many", "countries."] == [s.text for s in kept]
    assert 3 == counts["invented_words"]

    _, counts = told(Parrot(("eft.",)))

    assert 1 == counts["invented"]


def test_what_is_invented_or_returned_twice_is_counted():
    """Invented text is a document of its own; repeats count, and past the documents they go."""
    kept, counts = told(Parrot(("He left. Nobody knows.",)))

    assert ["He left.", "Nobody knows."] == [s.text for s in kept]
    assert ["", "Parrot"] == [s.document.written_by for s in kept]
    assert tuple(GIVEN) == kept[1].document.parents
    assert (1, 2, 4) == (counts["invented"], counts["invented_words"], counts["words"])

    kept, counts = told(Parrot(("He left. He left.", f"{TEXT} {TEXT}")))

    assert ["He left."] * 2 == [s.text for s in kept[:2]]
    assert (2, 1) == (counts["repeated"], counts["grown"])
    assert (4 + 28, 2 + 2 + 14) == (counts["words"], counts["repeated_words"])

    result = System(Parrot((f"{TEXT} {TEXT}",)), Reader(ScriptedLLM([])))("Who?", [TEXT])

    assert result.tokens.before == result.tokens.after
    assert 3 == len(result.kept)


def test_what_a_filter_raises_is_its_failure():
    """In a line with its name, skipped where asked; errors of our models pass."""
    with pytest.raises(PeerError, match=r"^Parrot raised KeyError: 'a'$"):
        Parrot(error=KeyError("a"))(QUERY, GIVEN)

    with pytest.raises(ContextOverflow):
        Parrot(error=ContextOverflow(needed=2, limit=1, model="m"))(QUERY, GIVEN)

    system = System(Parrot(error=ValueError("no")), Reader(ScriptedLLM([]))).lenient()
    result = system("Who?", [TEXT])

    assert TEXT == result.text
    assert "PeerError: Parrot raised ValueError: no" == result.trace.steps[0].error


def test_a_filter_is_given_safe_text_and_no_blank_documents():
    """What cannot be encoded is replaced; the kept span is as retrieved."""
    peer = Parrot((TEXT,))
    blank = Segment.whole(Document("b", " \n"))
    kept = peer(QUERY, [blank, *GIVEN])

    assert ([], ["d"]) == (peer(QUERY, [blank]), [s.document.id for s in kept])
    assert [PeerInput("Seals", TEXT)] == peer.heard

    peer = Parrot(("Ann \ufffd sang.",))
    kept = peer(QUERY, [Segment(Document("d", "Oh. Ann \ud800 sang."), 4, 15)])

    assert "Ann \ufffd sang." == peer.heard[0].text
    assert [("Ann \ud800 sang.", 4)] == [(s.text, s.start) for s in kept]


@pytest.mark.parametrize(("score", "scores"), [(0.5, {"Parrot": 0.5}), (math.nan, {})])
def test_a_filters_score_is_kept(score, scores):
    """Under its name, where it gives one."""
    assert [scores] == [dict(s.scores) for s in Parrot((TEXT,), score=score)(QUERY, GIVEN)]
