"""A reader that shows worked examples, and reads the answer off a marked line of the reply."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsieve.answer import Reader
from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import Message, Prompt
from ragsieve.prompts import render
from ragsieve.trace import note, record_unreadable
from ragsieve.types import Answer, Document, Query, Segment
from ragsieve_research.answer.whole import WholeReader
from ragsieve_research.models import replies

TURN = 16  # tokens of the chat format around each turn of an example


@dataclass(frozen=True)
class Demonstration:
    """A question with its answer, shown to a model as an earlier turn.

    Args:
        question: The question; not blank.
        answer: Its answer; not blank.
        rationale: Which documents help, why the others do not, and what follows; may be empty.
        documents: What the question was answered from; may be none.
        domain: What the question is about, where that counts; may be empty.

    Raises:
        InputError: If ``question`` or ``answer`` is blank.
    """

    question: str
    answer: str
    rationale: str = ""
    documents: tuple[Document, ...] = ()
    domain: str = ""

    def __post_init__(self) -> None:
        for name in ("question", "answer"):
            if not getattr(self, name).strip():
                raise InputError(f"a demonstration's {name} must not be blank, got {self!r:.80}")

    def reply(self, answer_after: str = "") -> str:
        """The reply it stands for: the answer, or the rationale and the answer on a marked line.

        Args:
            answer_after: What the line of the answer begins with; the answer alone where empty.
        """
        if not answer_after:
            return self.answer
        return f"{self.rationale}\n{answer_after} {self.answer}".strip()


@dataclass(frozen=True)
class ExampleReader(WholeReader):
    """A `Reader` with worked examples before the question.

    Args:
        examples: Questions already answered: each stands before the question as the template's own
            turns, without what the system says, and the reply.
        answer_after: What the line of the reply begins with that holds the answer, such as
            ``"Answer:"``. The last such line counts; without one the last line is the answer, and
            the trace counts the reply as unreadable. Empty where a reply is all answer.

    Raises:
        InputError: As `Reader`, or if ``answer_after`` is not one line.
    """

    examples: tuple[Demonstration, ...] = field(default=(), kw_only=True, repr=False)
    answer_after: str = field(default="", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.answer_after and self.answer_after.split("\n") != [self.answer_after.strip()]:
            raise InputError(f"answer_after must be one line, trimmed, got {self.answer_after!r}")

    def stream(self, query: Query, segments: Sequence[Segment], /) -> Generator[str, None, Answer]:
        """See `ragsieve.run.concurrency.Streaming`; one piece where a line of the reply answers."""
        made = WholeReader if self.answer_after else Reader
        return (yield from made.stream(self, query, segments))

    def prompt_of(self, template: str, question: str, documents: str) -> Prompt:
        """As `Reader.prompt_of`, with the examples before the question."""
        prompt = super().prompt_of(template, question, documents)
        shown: list[Message] = []
        for example in self.examples:
            evidence = self.context([Segment.whole(document) for document in example.documents])
            turns = render(template, question=example.question, documents=evidence)
            shown += [turn for turn in turns if turn.role != "system"]
            shown.append(Message("assistant", example.reply(self.answer_after)))
        head = sum(turn.role == "system" for turn in prompt)  # it comes first in every template
        return (*prompt[:head], *shown, *prompt[head:])

    def budget(self, query: Query, /) -> int:
        """As `Reader.budget`, less the frames of the examples' turns."""
        turns = len(self.prompt_of(self.prompt, query.text, ""))
        turns -= len(render(self.prompt, question="", documents=""))
        return super().budget(query) - TURN * turns

    def answer_of(self, reply: str) -> str:
        """What stands on the last marked line of a reply; its last line without one."""
        if not self.answer_after:
            return reply.strip()
        field = replies.Field("text", answer_line, (self.answer_after.rstrip(": "),), bare=False)
        try:
            return str(replies.read_fields(reply, field)[0])
        except BadReply:
            record_unreadable()
            note(f"no line begins with {self.answer_after!r}: the last one is the answer")
            return last_line(reply)


def answer_line(value: Any) -> str:
    """What stands behind a label: on its line, else in the paragraph below; not blank."""
    line, _, below = value.partition("\n") if isinstance(value, str) else (value, "", "")
    return replies.paragraph(below if line == "" or line == " " else line)


def last_line(reply: str) -> str:
    """The last line of a reply, as an answer where no line has a label."""
    return replies.unquoted(replies.plain_text(replies.strip_thinking(reply)).rpartition("\n")[2])
