"""Replies that are read: what cannot be is requested once more, with the error."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ragsieve.errors import BadReply
from ragsieve.models.base import (
    LLM,
    Cut,
    JsonSchema,
    Message,
    Prompt,
    Prompts,
    complete_with_room,
    fitting,
    room_of,
)
from ragsieve.models.thoughts import strip_thinking
from ragsieve.trace import note, record_unreadable
from ragsieve.types import grouped

T = TypeVar("T")
D = TypeVar("D")


def complete_parsed(
    llm: LLM,
    prompts: Prompts,
    parse: Callable[[str], T],
    *,
    max_tokens: int = 128,
    schema: JsonSchema | None = None,
) -> list[T | BadReply]:
    """Replies as ``parse`` reads them; an unreadable one is requested once more, with the error.

    Thoughts have room (`complete_with_room`). All second requests are one batch, but for those of
    replies that needed room: they have it at once. One that is cut in the form of a schema, such as
    in endless blanks, is requested without it. ``parse`` receives a reply without thoughts, a
    `Cut` if it is one, and raises `BadReply`. A prompt whose second reply is unreadable too, or
    that leaves no space for a second one, yields that error: the caller chooses what replaces it,
    and notes that.
    """

    def is_read(reply: str) -> bool:
        return not isinstance(_parsed(parse, reply), BadReply)

    ask = partial(complete_with_room, llm, is_read=is_read, schema=schema)
    first = llm.complete(prompts, max_tokens=max_tokens, schema=schema)
    replies = ask(prompts, max_tokens=max_tokens, first=first)
    results = [_parsed(parse, reply) for reply in replies]
    corrections: dict[int, Prompt] = {}
    for place, result in enumerate(results):
        if isinstance(result, BadReply):
            record_unreadable()
            note(f"unreadable reply, asked once more: {result}")
            wrong = f"That cannot be read: {result}. Reply again, in that form only."
            said = (Message("assistant", replies[place]), Message("user", wrong))
            endless = schema and isinstance(replies[place], Cut)
            corrections[place] = (*prompts[place], *(() if endless else said))
    needs = {p: (replies[p] is not first[p], isinstance(replies[p], Cut)) for p in corrections}
    for (more, cut), places in grouped(needs, needs.__getitem__).items():
        most, form = max_tokens + room_of(llm) * more, None if cut else schema
        again = partial(ask, max_tokens=most, schema=form)
        seconds = fitting(again, [corrections[place] for place in places])
        for place, reply in zip(places, seconds, strict=True):
            if reply is not None:
                results[place] = second = _parsed(parse, reply)
                if isinstance(second, BadReply):
                    record_unreadable()
    return results


def readable(reply: T | BadReply | None, otherwise: D, meaning: str) -> T | D:
    """A reply that was read; ``otherwise``, and a note of what that means, of an error or None."""
    if reply is None or isinstance(reply, BadReply):
        note(f"unreadable twice, so {meaning}" + (f": {reply}" if reply else ""))
        return otherwise
    return reply


def _parsed(parse: Callable[[str], T], reply: str) -> T | BadReply:
    try:
        said = strip_thinking(reply)
        if reply.strip() and not said.strip():
            raise BadReply("text behind the thoughts", reply)
        return parse(Cut(said) if isinstance(reply, Cut) else said)
    except BadReply as error:
        return error
