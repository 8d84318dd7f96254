"""Replies piece by piece, and replies behind thoughts."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

import pytest

from ragsieve import load
from ragsieve.errors import BadReply, ContextOverflow, EndedEarly, InputError, ModelError
from ragsieve.models.base import Message
from ragsieve.models.openai import OpenAI
from ragsieve.trace import Usage, collect_step, step
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.streaming import as_text, stream_tokens
from tests.serving import Handler, served

KEY = "sk-very-secret"
PROMPT = (Message("system", "Reply."), Message("user", "Who drew it?"))
TEXT = "Koechlin drew it."
USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def chunk(text=None, finish=None, **more):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}], **more}


def whole(text=TEXT):
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}


CHUNKS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
    chunk("Koech"),
    chunk(""),
    chunk([{"type": "text", "text": "lin drew it."}]),
    chunk(finish="stop"),
    {"choices": [], "usage": USAGE},
]


@pytest.fixture
def streaming(serve):
    """Starts servers that reply with events (a list) or a JSON object: the model, and requests."""

    def start(reply):
        server = serve(lambda path, body, number: reply(body))
        llm = OpenAI("m", base_url=f"{server.url}/v1", api_key=KEY, max_retries=0)
        return llm, server.requests

    return start


def test_a_server_streams(streaming):
    """Pieces of the first choice; the request is that of a whole reply, and costs as much."""
    llm, bodies = streaming(
        lambda body: (200, [*CHUNKS, "data: [DONE]\n\n"] if "stream" in body else whole())
    )
    with step("streamed") as pieces:
        given = list(llm.stream(PROMPT, max_tokens=9))
    with step("whole") as once:
        assert [TEXT] == llm.complete([PROMPT], max_tokens=9)

    assert ["Koech", "lin drew it."] == given
    assert {**bodies[1], "stream": True, "stream_options": {"include_usage": True}} == bodies[0]
    assert [Usage(llm.identity, 7, 3)] == pieces.usages == once.usages
    assert [] == pieces.notes == once.notes

    other = chunk("No")
    other["choices"][0]["index"] = 1
    llm, _ = streaming(lambda _: (200, [chunk("Yes"), other, chunk(finish="stop")]))

    assert ["Yes"] == list(llm.stream(PROMPT))


def test_a_server_without_usage_is_charged_what_is_counted(streaming):
    """As for whole replies; what was cut off, and what is incomplete, is noted."""
    cut, _ = streaming(lambda _: (200, [chunk("one two"), chunk(finish="length")]))
    with step("cut") as first:
        assert ["one two", ""] == list(cut.stream(PROMPT, max_tokens=2))

    assert 0 < first.usages[0].tokens_out <= 8
    assert "a reply was cut at 2 tokens" in first.messages


DONE = "data: [DONE]\n\n"
ENDS = [  # events, and whether they are a whole reply
    ([chunk("It is not")], False),
    ([chunk("It is not"), "event: error\ndata: {}\n\n"], False),
    ([chunk("It is not"), 'data: {"choices": [{"delta": {"content": " it"}}]}'], False),
    ([chunk("It is not"), DONE], True),
    ([chunk("It is not"), chunk(finish="stop")], True),
    ([chunk("It is not"), chunk(finish="stop"), DONE.strip()], True),
    (["retry: 9\n\n", chunk("It is not"), "event: x\n\n", chunk(finish="stop")], True),
]


@pytest.mark.parametrize(("events", "whole"), ENDS)
def test_a_stream_that_ends_early_is_no_answer(streaming, events, whole):
    """It is an error that has the text so far; so says `ask_stream`, at once."""
    llm, _ = streaming(lambda _: (200, events))
    given = []
    try:
        given += load("all", llm).ask_stream("Is it?", ["It is not said."])
    except EndedEarly as error:
        given.append(error.text)

    assert "It is not" == given[-1].answer.text if whole else given[-1] == "It is not"
    assert whole != isinstance(given[-1], str)


@pytest.mark.parametrize("events", [[], [{"odd": 1}], [7], [{"choices": 7}], [chunk(7)], None])
def test_a_reply_in_no_known_form_is_requested_whole(streaming, events):
    """No answer is lost to a server that does not stream, or in a way of its own; asked once."""

    def reply(body):
        return 200, events if "stream" in body and events is not None else whole()

    llm, bodies = streaming(reply)

    assert [TEXT] == list(llm.stream(PROMPT))
    assert [TEXT] == list(llm.stream(PROMPT))
    assert [True, None, None] == [body.get("stream") for body in bodies]


@pytest.mark.parametrize("setting", ["stream", "stream_options", "temperature"])
def test_what_a_server_refuses_is_left_out_and_noted(streaming, setting):
    """Once, whatever it is."""

    def reply(body):
        if setting in body:
            return 400, {"error": {"message": f"{setting} is not supported", "param": setting}}
        return 200, CHUNKS if "stream" in body else whole()

    llm, bodies = streaming(reply)
    with step("streamed") as record:
        assert TEXT == "".join(llm.stream(PROMPT))
    before = len(bodies)

    assert TEXT == "".join(llm.stream(PROMPT))
    assert before + 1 == len(bodies)
    assert any(f"refuses {setting}" in text for text in record.notes)


def test_errors_are_those_of_whole_replies(streaming):
    """Before the first piece."""
    message = "maximum context length is 9 tokens, you requested 12"
    full, _ = streaming(lambda _: (400, {"error": {"message": message}}))
    away, _ = streaming(lambda _: (401, {"error": {"message": "who are you?"}}))

    with pytest.raises(ContextOverflow):
        next(full.stream(PROMPT))
    with pytest.raises(ModelError, match="HTTP 401: who are you"):
        next(away.stream(PROMPT))
    with pytest.raises(InputError, match=r"^max_tokens must be at least 1, got 0$"):
        next(full.stream(PROMPT, max_tokens=0))


def bytewise(tokens):
    return bytes(tokens).decode(errors="replace")


@pytest.mark.parametrize("text", ["Köchlin – drew 東京 it.", "", "🗼", "a\ufffd"])
def test_tokens_are_shown_as_whole_characters(text):
    """A token may be a part of one; the joined text is that of all tokens."""
    tokens = list(text.encode())
    pieces = list(as_text(tokens, bytewise))

    assert text == "".join(pieces)
    assert len(pieces) == len(text)
    assert "\ufffd" not in "".join(pieces[:-1])


def cleaned(tokens):
    words = ["He", " did", " n't", " ' ", "say", " so", " ."]
    text = "".join(words[token] for token in tokens)
    return text.replace(" n't", "n't").replace(" ' ", "'").replace(" .", ".")


def test_a_tokenizer_that_cleans_up_is_shown_word_by_word():
    """What later tokens may still change is held back."""
    pieces = list(as_text(range(7), cleaned, by_words=True))

    assert cleaned(range(7)) == "".join(pieces)
    assert 1 < len(pieces)


def test_work_ends_when_nobody_listens():
    """Its next token fails; what it raises by itself reaches the listener."""
    ended = Future()
    go = threading.Event()

    def endless(tell):
        tell(1)
        go.wait(5)
        tell(2)

    def broken(tell):
        tell(1)
        raise ModelError("no memory")

    with ThreadPoolExecutor(2) as pool:

        def start(tell):
            nonlocal ended
            ended = pool.submit(endless, tell)
            return ended

        tokens = stream_tokens(start)
        assert 1 == next(tokens)
        tokens.close()
        go.set()
        assert ended.exception(5) is not None
        with pytest.raises(ModelError, match="no memory"):
            list(stream_tokens(lambda tell: pool.submit(broken, tell)))


ASKED = (Message("user", "Where is it?"),)


class Thinking(Handler):
    """Thinks for 300 tokens, in a member of the message or in tags, then says "Rome"."""

    tag: str | None = None
    closes = counts = True
    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self):
        """Reply, as far as ``max_tokens`` go."""
        asked = self.asked()
        if "messages" not in asked:
            self.reply(404, {})
            return
        self.bodies.append(asked)
        thinks = asked.get("chat_template_kwargs") != {"enable_thinking": False}
        cut = thinks and asked["max_tokens"] < 301
        message = {"role": "assistant", "content": "" if cut else "Rome"}
        if thinks and self.tag is not None:
            message["content"] = f"{self.tag}Hm." + ("" if cut else "</think>Rome" * self.closes)
        elif thinks:
            message["reasoning_content"] = "Hm."
        choice = {"message": message, "finish_reason": "length" if cut else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 64 if cut else 301 if thinks else 1}
        self.reply(200, {"choices": [choice], "usage": usage if self.counts else None})


@pytest.fixture(params=[None, "<think>"], ids=["member", "tags"])
def server(request):
    handler = type("Kind", (Thinking,), {"tag": request.param, "bodies": []})
    with served(handler) as url:
        yield f"{url}/v1", handler.bodies


def test_thoughts_get_room_once_the_model_shows_some(server):
    """The reply of thoughts alone is requested again, and charged; the trace says so."""
    llm = OpenAI("m", base_url=server[0])
    with collect_step() as step:
        said = [llm.complete([ASKED], max_tokens=64)[0].removeprefix("<think>Hm.</think>")]
        said += [llm.complete([ASKED], max_tokens=64)[0].removeprefix("<think>Hm.</think>")]

    assert ["Rome", "Rome"] == said
    assert [64, 64 + 2048, 64 + 2048] == [body["max_tokens"] for body in server[1]]
    assert [64 + 301, 301] == [usage.tokens_out for usage in step.usages]
    assert "thinks: replies have 2048 tokens more" in step.notes[0]


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        (False, {"max_tokens": 64, "chat_template_kwargs": {"enable_thinking": False}}),
        (500, {"max_tokens": 564}),
        ("low", {"max_tokens": 64 + 2048, "reasoning_effort": "low"}),
    ],
)
def test_how_a_model_thinks_can_be_said(server, thinking, sent):
    """In the form that the server takes; what else a request has stands in ``extra_body``."""
    llm = OpenAI("m", base_url=server[0], thinking=thinking, extra_body={"top_k": 1})
    (said,) = llm.complete([ASKED], max_tokens=64)

    assert said.endswith("Rome")
    assert {**sent, "top_k": 1}.items() <= server[1][0].items()
    assert "thinking" in llm.identity


@pytest.mark.parametrize(
    ("tag", "limits"),
    [
        ("", [64, 64, 2048, *[64 + 2 * 2048] * 2, 64 + 2048]),  # asked for, and the model's own
        ("Rome? ", [64, 64, 2048, 64, 64, 64, 64]),
    ],
)
def test_thoughts_that_a_template_opens_get_room(tag, limits):
    """Where no part reads a reply that was cut; the model is asked once whether it thinks."""

    def parse(reply):
        if reply != "Rome":
            raise BadReply("Rome", reply)
        return reply

    handler = type("Kind", (Thinking,), {"tag": tag, "bodies": [], "closes": not tag})
    handler.counts = False  # else it were seen by its tokens
    with served(handler) as url, collect_step() as step:
        llm = OpenAI("m", base_url=f"{url}/v1", concurrency=1)
        said = complete_parsed(llm, [ASKED, ASKED], parse, max_tokens=64)
        said += complete_parsed(llm, [ASKED], parse, max_tokens=64)

    assert ([] if tag else ["Rome"] * 3) == [one for one in said if one == "Rome"]
    assert limits == [body["max_tokens"] for body in handler.bodies]
    assert len(limits) == len(step.usages)
    assert bool(tag) == bool(step.warnings)
