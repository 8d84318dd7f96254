"""Answers piece by piece: joined what `ask` answers, and then the same result."""

from dataclasses import dataclass, field

import pytest

import ragsieve
from ragsieve import InputError, ModelError, Pipeline, Result, System
from ragsieve.answer import Reader
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.fake import ScriptedLLM, echo
from ragsieve.trace import Trace, note, running_step, step
from ragsieve_research.answer.examples import ExampleReader
from ragsieve_research.answer.reasoning import Reasoning

QUESTION = "Who drew the tower?"
DOCUMENTS = ["Koechlin drew the tower. It is tall.", "Bananas are yellow."]


@dataclass(eq=False)
class Streaming(ScriptedLLM):
    """A scripted LLM that streams its reply, three characters at a time, and may break off."""

    breaks: bool = field(default=False, kw_only=True)

    def stream(self, prompt, *, max_tokens=128):
        (text,) = self.complete([prompt], max_tokens=max_tokens)
        for start in range(0, len(text), 3):
            note(f"piece {start // 3}")
            yield text[start : start + 3]
            if self.breaks:
                raise ModelError("the stream broke off")


def streaming(*replies, **options):
    llm = Streaming([*replies], **options)
    return System(Pipeline(), Reader(llm))


def split(given):
    """The pieces, and the result that comes last."""
    *pieces, result = given
    assert isinstance(result, Result)
    assert all(isinstance(piece, str) for piece in pieces)
    return [str(piece) for piece in pieces], result


def alike(streamed, whole):
    """Whether two results are the same, but for the time that they took and for notes."""
    parts = [
        (r.kept, r.text, r.tokens, r.answer, [(s.stage, s.usages, s.after) for s in r.trace.steps])
        for r in (streamed, whole)
    ]
    return parts[0] == parts[1]


@pytest.mark.parametrize(
    "reply", ["Koechlin drew it.", "  \n Koechlin \n\n drew it. \n ", "", "   ", "K"]
)
def test_pieces_are_the_answer(reply):
    """Without the white space around it, whatever piece that is in; the result is `ask`'s."""
    pieces, result = split(list(streaming(reply).ask_stream(QUESTION, DOCUMENTS)))
    whole = streaming(reply).ask(QUESTION, DOCUMENTS)
    assert result.answer and whole.answer

    assert reply.strip() == whole.answer.text == "".join(pieces)
    assert all(pieces) and (len(pieces) > 1) == (len(reply.strip()) > 3)
    assert alike(result, whole)


def test_pieces_come_before_the_reply_is_complete():
    """A model that breaks off has said something; its error comes behind that."""
    given = streaming("Koechlin", breaks=True).ask_stream(QUESTION, DOCUMENTS)

    assert "Koe" == next(given)
    with pytest.raises(ModelError, match="the stream broke off"):
        next(given)


@pytest.mark.parametrize(
    "reader",
    [
        Reader(echo()),
        Reader(DynamicBatcher(Streaming(lambda _: "Koechlin drew it."))),
        ExampleReader(Streaming(lambda _: "I think.\nAnswer: Koechlin"), answer_after="Answer:"),
        Reasoning(echo(), domain="music", cot=False),
    ],
)
def test_what_cannot_stream_gives_one_piece(reader):
    """An LLM, or a reader that looks for the answer in the reply."""
    system = System(Pipeline(), reader)
    pieces, result = split(list(system.ask_stream(QUESTION, DOCUMENTS)))
    whole = system.ask(QUESTION, DOCUMENTS)

    assert [whole.answer.text] == pieces
    assert alike(result, whole)


def test_sources_and_lenient_systems_stream_too():
    """Without documents the source is asked, or the model answers by itself."""

    def broken(query):
        raise OSError("away")

    bare = streaming("Koechlin")
    pieces, result = split(list(bare.with_source(broken).lenient().ask_stream(QUESTION)))

    assert "Koechlin" == "".join(pieces)
    assert 1 == len(result.trace.warnings)
    assert "Eiffel" == "".join(map(str, [*streaming("Eiffel").ask_stream(QUESTION)][:-1]))


def test_between_pieces_the_caller_records_for_itself():
    """What it does meanwhile is none of the answer's trace, nor the other way round."""
    outer = Trace()
    with outer.recording(), step("outer") as record:
        first = streaming("Koechlin").ask_stream(QUESTION, DOCUMENTS)
        assert "Koe" == next(first)
        note("meanwhile")
        other = streaming("Eiffel").ask(QUESTION, DOCUMENTS)
        pieces, result = split(list(first))

    assert ("chlin", "Eiffel") == ("".join(pieces), other.answer.text)
    assert ["meanwhile"] == record.notes
    assert ["piece 0", "piece 1", "piece 2"] == result.trace.steps[-1].notes
    assert [record] == outer.steps


def test_errors_come_with_the_first_piece():
    """One line, as of ask; a named system streams as it answers; a stream may be left."""
    given = streaming("Koechlin").ask_stream(QUESTION, DOCUMENTS)
    next(given)
    given.close()

    assert not running_step()
    assert [] == list(given)

    given = streaming("Koechlin").ask_stream(" ", DOCUMENTS)

    with pytest.raises(InputError, match="the question must not be blank"):
        next(given)

    system = ragsieve.load("top-sentences", Streaming(lambda _: "Koechlin"), "fake:hashing")
    pieces, result = split(list(system.ask_stream(QUESTION, DOCUMENTS)))

    assert ["Koe", "chl", "in"] == pieces
    assert alike(result, system.ask(QUESTION, DOCUMENTS))
