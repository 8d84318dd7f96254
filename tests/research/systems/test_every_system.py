"""What holds for every system: options are checked, and threads change nothing."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragsieve import InputError, models
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.models.sharing import sharing
from ragsieve.systems.base import SYSTEMS
from ragsieve.testing import check_system
from tests.named import NAMES, on_fakes
from tests.rules import check_rule

pytest.importorskip("sklearn")

WORDS = ("Song", "Breeze", "Wind", "Rain", "Paris", "Rome", "Seals", "Crofts")
DOCUMENTS = [
    {"id": word, "text": f"{word} was sung. They sang of {word} in summer. It rained."}
    for word in WORDS
]
RULES = [  # of words, and of two options
    ("chunkrag", {"threshold": "0.5"}, "threshold must be 'llm', 'statistics' or a s.*, got '0.5'"),
    ("chunkrag", {"threshold": math.nan}, "min_score must be finite, got nan"),
    ("chunkrag", {"rating": "stars"}, "rating of chunkrag must be one of .*, got 'stars'"),
    *(
        ("chunkrag-ablated", {part: "x"}, f"{part} of .* must be one of .*, got 'x'")
        for part in ("chunks", "retrieval", "without")
    ),
    ("cpc", {"rate": 1.5}, "keep must be tokens or a share from 0 to 1, got 1.5"),
    ("crag", {"upper": 0.1, "lower": 0.2}, "lower must be at most upper=0.1, got 0.2"),
    ("crag", {"upper": math.nan}, "thresholds must be finite, got 0.3, nan"),
    ("finefilter-point", {"reranker": "nonsense"}, "reranker must be .*none, got 'nonsense'"),
    ("pruningrag", {"pages": "some"}, "pages of pruningrag must be one of .*, got 'some'"),
    ("selective-context", {"unit": "word"}, "unit of .* must be one of .*, got 'word'"),
    ("self-rag", {"reflection": "x"}, "reflection of self-rag must be one of .*, got 'x'"),
    ("winnowrag-ablated", {"clustering": "x"}, "clustering of .* must be one of .*, got 'x'"),
    ("winnowrag-ablated", {"merging": "x"}, "merging of .* must be one of .*, got 'x'"),
]


def reply(prompt):
    """Depends on the prompt alone, and is a number, which many systems can read."""
    return f"{len(prompt[-1].content) % 5}"


def story(result):
    """What a result says, but for time and cost."""
    steps = [
        ([(s.key, dict(s.scores)) for s in step.after], step.notes, step.events, step.unreadable)
        for step in result.trace.steps
        if "embedded" not in str(step.events)  # counts what others did not embed before
    ]
    return result.text, result.answer and result.answer.text, steps


@pytest.mark.parametrize(("name", "options", "message"), RULES)
def test_options_are_checked(name, options, message):
    """When the system is made; the error names option, rule and value in a line."""
    with pytest.raises(InputError, match=f"^{message}$"):
        on_fakes(name, ScriptedLLM([]), options=options)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_among_options_keep_their_rules(name):
    """That of each is what its error says; see `check_rule`."""
    for option, default in SYSTEMS[name].options.items():
        value = 1 if default is None and option == "documents" else default
        check_rule(
            f"{name}.{option}",
            value,
            lambda value, option=option: on_fakes(name, ScriptedLLM([]), options={option: value}),
        )


@pytest.mark.parametrize("name", NAMES)
def test_threads_and_a_cache_give_what_one_gets_alone(name, tmp_path):
    """Eight share models, batches and remembered replies; what is asked again costs no call."""
    questions = [f"Who sang of {word}?" for word in WORDS]
    alone, llm = on_fakes(name, ScriptedLLM(reply)), ScriptedLLM(reply)
    expected = [story(alone.ask(question, DOCUMENTS)) for question in questions]
    with sharing(8, cache=tmp_path / "cache") as share, ThreadPoolExecutor(8) as pool:
        shared = on_fakes(name, share(llm), share(HashingEmbedder()))
        together = list(pool.map(lambda q: story(shared.ask(q, DOCUMENTS)), questions))
        calls = len(llm.prompts)
        again = list(pool.map(lambda q: story(shared.ask(q, DOCUMENTS)), questions))

    assert expected == together == again
    assert calls == len(llm.prompts)


@pytest.mark.parametrize("name", NAMES)
def test_every_system_keeps_its_promises(name):
    """Verbatim, within budgets, with reasons, the same in threads, in pieces and from a pickle."""
    made = on_fakes(name, models.load("fake:echo"))
    check_system(made)
    *pieces, result = made.ask_stream("Who sang of Song?", DOCUMENTS)

    assert "".join(pieces) == made.ask("Who sang of Song?", DOCUMENTS).answer.text
    assert "".join(pieces) == result.answer.text
