"""Models behind servers that think before they answer."""

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from ragsieve.errors import BadReply
from ragsieve.models.base import Message, complete_parsed
from ragsieve.models.openai import OpenAI
from ragsieve.trace import collect_step
from tests.serving import Handler, served

PROMPT = (Message("user", "Where is it?"),)


class Thinking(Handler):
    """Thinks for 300 tokens, in a member of the message or in tags, then says "Rome"."""

    tag: str | None = None
    closes = True
    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
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
        self.reply(200, {"choices": [choice], "usage": usage})


@pytest.fixture(params=[None, "<think>"], ids=["member", "tags"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    handler = type("Kind", (Thinking,), {"tag": request.param, "bodies": []})
    with served(handler) as url:
        yield f"{url}/v1", handler.bodies


def test_thoughts_get_room_once_the_model_shows_some(
    server: tuple[str, list[dict[str, Any]]],
) -> None:
    """The reply of thoughts alone is requested again, and charged; the trace says so."""
    llm = OpenAI("m", base_url=server[0])
    with collect_step() as step:
        said = [llm.complete([PROMPT], max_tokens=64)[0].removeprefix("<think>Hm.</think>")]
        said += [llm.complete([PROMPT], max_tokens=64)[0].removeprefix("<think>Hm.</think>")]

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
def test_how_a_model_thinks_can_be_said(
    server: tuple[str, list[dict[str, Any]]], thinking: Any, sent: dict[str, Any]
) -> None:
    """In the form that the server takes; what else a request has stands in ``extra_body``."""
    llm = OpenAI("m", base_url=server[0], thinking=thinking, extra_body={"top_k": 1})
    (said,) = llm.complete([PROMPT], max_tokens=64)

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
def test_thoughts_that_a_template_opens_get_room(tag: str, limits: list[int]) -> None:
    """Where no part reads a reply that was cut; the model is asked once whether it thinks."""

    def parse(reply: str) -> str:
        if reply != "Rome":
            raise BadReply("Rome", reply)
        return reply

    handler = type("Kind", (Thinking,), {"tag": tag, "bodies": [], "closes": not tag})
    with served(handler) as url, collect_step() as step:
        llm = OpenAI("m", base_url=f"{url}/v1", concurrency=1)
        said = complete_parsed(llm, [PROMPT, PROMPT], parse, max_tokens=64)
        said += complete_parsed(llm, [PROMPT], parse, max_tokens=64)

    assert ([] if tag else ["Rome"] * 3) == [one for one in said if one == "Rome"]
    assert limits == [body["max_tokens"] for body in handler.bodies]
    assert len(limits) == len(step.usages)
    assert bool(tag) == bool(step.warnings)
