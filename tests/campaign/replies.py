"""Replies of a model: right, changed, cut, huge, empty, hostile, or none at all."""

import zlib
from functools import cache

from ragsieve.errors import BadReply, ContextOverflow, ModelError, PeerError, RagsieveError
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM, echo
from ragsieve.systems import build
from ragsieve.systems.base import SYSTEMS
from tests.named import OWN
from tests.research.test_laws import debater

from .campaign import Kind
from .hostile import HOSTILE
from .laws import ID, check_result, draw_documents, draw_question, draw_text, holds, places

RIGHT = [  # what templates ask for
    "[1]", "[2, 1]", "[]", "[1] > [2]", "0.7", "1", "3", "yes", "no", "Yes.", "unknown", "A", "B",
    "Relevant", "[Relevant]", "[Irrelevant]", "[Fully supported]", "[Utility:5]", "[Retrieval]",
    "Follow up: Who is Ann?", "So the final answer is: Cork", "Are follow up questions needed: Yes",
    "Incorrect answers: [1]\nExplanation: old\nConsistent answer: no",
    "Unique answers: [1]\nDuplicate answers: [[1, 2]]", "Evidence: x\nExplanation: y\nAnswer: Cork",
    '{"sentences": [1, 2]}', '{"score": 0.4}', '{"answer": "Cork"}', "Score: 0.4",
    "Seals and Crofts sang Summer Breeze.", "1. Bees make honey.\n2. Ann Lee was born in Cork.",
]  # fmt: skip
ERRORS = {
    "model": lambda: ModelError("the server is away"),
    "timeout": lambda: TimeoutError("no reply within 1 s"),
    "overflow": lambda: ContextOverflow(needed=9, limit=8, model="fuzzed"),
    "unreadable": lambda: BadReply("a number", "x"),
    "network": lambda: ConnectionResetError("reset"),
}
WEIGHTS = ("first", "last", "equal", "one", "tiny")


class Fuzzed(ScriptedLLM):
    """Replies as specs say, in turn, over and over: ["raise", name], or [base, edit …]."""

    def __init__(self, specs, weights, context):
        super().__init__(self.say, choices=self.weigh, nats=self.surprise, context=context)
        self.specs, self.mode, self.said = specs, weights, 0
        self.raised = []
        self.last_raised = False
        self.identity = "fuzzed"

    def say(self, prompt):
        spec = self.specs[self.said % len(self.specs)]
        self.said += 1
        self.last_raised = spec[0] == "raise"
        if self.last_raised:
            self.raised.append(ERRORS[spec[1]]())
            raise self.raised[-1]
        return reply_of(spec, prompt)

    def weigh(self, prompt, options):
        """Weights by mode; a place that depends on the prompt alone."""
        self.last_raised = False
        place = zlib.crc32(places(prompt).encode("utf-8", "surrogatepass")) % len(options)
        place = {"first": 0, "last": len(options) - 1}.get(self.mode, place)
        small = {"one": 0.0, "tiny": 1e-300, "equal": 1.0}.get(self.mode, 0.01)
        return [1.0 if n == place else small for n in range(len(options))]

    def surprise(self, before, token):
        sizes = {"equal": 0.0, "tiny": 1e-300, "one": 1e6}
        return sizes.get(self.mode, (zlib.crc32(token.encode("utf-8", "replace")) % 97) / 7)


def reply_of(spec, prompt):
    """The reply that a spec says: a base, then edits of it."""
    base, *edits = spec
    if base == "echo":
        text = _ECHO.replies(prompt)
    else:
        text = debater(prompt) if base == "debate" else base
    for edit, number, piece in edits:
        at = int(number * len(text))
        if edit == "put":
            text = text[:at] + HOSTILE.get(piece, piece) + text[at:]
        elif edit == "times":
            text *= int(1 + number * (99 if len(text) < 1000 else 3))
        else:
            text = {"cut": text[:at], "tail": text[at:], "flip": text[:at] + text[at + 1 :]}[edit]
    return str(text)


_ECHO = echo()


def draw_reply(rng, wild, failing):
    """A spec: right, or with a chance of ``wild`` something else."""
    if rng.random() < failing:
        return ["raise", rng.choice([*ERRORS])]
    base = rng.choice(["echo", "debate", rng.choice(RIGHT)])
    if rng.random() >= wild:
        return [base]
    if rng.random() < 0.4:
        base = rng.choice(["", " \n", rng.choice([*HOSTILE.values()]), draw_text(rng)])
    edits = rng.choices(["cut", "tail", "put", "flip", "times"], k=rng.randrange(3))
    return [base, *([e, round(rng.random(), 3), rng.choice([*HOSTILE])] for e in edits)]


@cache
def names():
    """Systems that any LLM can read for; thrice those that ask it before they answer."""
    known = [name for name in SYSTEMS if name not in OWN]
    return [name for name in known for _ in range(1 + 2 * ("LLM" in SYSTEMS[name].needs))]


def draw(rng):
    """A system, a question with documents, and what the model will say."""
    wild, failing = rng.choice([0.1, 0.5, 1.0]), rng.choice([0.0, 0.0, 0.1])
    return {
        "system": rng.choice(names()),
        "question": draw_question(rng),
        "documents": draw_documents(rng),
        "replies": [draw_reply(rng, wild, failing) for _ in range(7)],
        "weights": rng.choice(WEIGHTS),
        "max_tokens": rng.choice([None, None, 0, 1, 7, 30]),
        "context": rng.choice([100_000, 100_000, 2048]),
        "lenient": rng.random() < 0.5,
    }


def check(value, folder):
    """An answer comes, or just the error that the model raised; how many replies it took."""
    question, documents = value["question"], value["documents"]
    llm = Fuzzed(value["replies"], value["weights"], value["context"])
    answers = {question: ("Cork", "Seals")}
    system = build(
        value["system"], llm, HashingEmbedder(32), pruner=OverlapPruner(), answers=answers
    ).with_budget(value["max_tokens"])
    system = system.lenient() if value["lenient"] else system
    try:
        result = system.ask(question, documents)
    except Exception as error:
        chain = [error]
        while cause := chain[-1].__cause__ or chain[-1].__context__:
            chain.append(cause)
        small = value["context"] < 100_000 and isinstance(error, ContextOverflow)
        peer = isinstance(error, PeerError)  # another framework that reads YES or NO alone
        ours = small or peer or any(one is raised for one in chain for raised in llm.raised)
        if not ours:
            raise
        kind = isinstance(error, RagsieveError) or error in llm.raised
        holds("an error is the model's or ours", kind, error)
        holds("a lenient system fails with its reader only", _fair(value, llm, small), error)
        return max(llm.said, 1)
    told = any(ID in turn.content for prompt in llm.prompts for turn in prompt)
    holds("no model reads an id", not told)
    check_result(result, system, value["max_tokens"])
    holds("there is an answer", result.answer is not None)
    return max(llm.said, 1)


def _fair(value, llm, small):
    return not value["lenient"] or llm.last_raised or small


REPLIES = Kind("replies", 250_000, 1_500, draw, check)
