"""Many questions: the same as alone, in their order, however many at once."""

import asyncio
import threading
import weakref
from dataclasses import replace
from itertools import islice

import pytest

from ragsieve import InputError, Pipeline, System, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.timeouts import Pool
from ragsieve.types import Document, Example, Query, Segment

TEXTS = [
    "Ada wrote programs. It rained.",
    "Grace found a moth. It snowed.",
    "Alan ran. It was hot.",
]
PAIRS = [(f"Who is {n}?", [text]) for n, text in enumerate(TEXTS * 7)]


@pytest.fixture
def system():
    """The sentence nearest to the question, and its echo as the answer."""
    stage = Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.TopK(1))
    return System(stage, Reader(ScriptedLLM(lambda prompt: prompt[-1].content[-20:])))


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_many_give_what_each_gives_alone(system, workers):
    """Spans, text and order, with few threads and with more than questions."""
    results = system.batch(PAIRS, workers=workers)

    assert [system(*pair).to_dict()["kept"] for pair in PAIRS] == [
        result.to_dict()["kept"] for result in results
    ]
    assert [pair[0] for pair in PAIRS] == [result.query.text for result in results]


def test_questions_are_read_as_they_are_needed(system):
    """The first result comes before an endless stream has ended."""

    def endless():
        while True:
            yield PAIRS[0]

    results = system.map(endless(), workers=2)

    assert PAIRS[0][0] == next(results).query.text


def test_examples_and_questions_of_a_source_are_questions(system):
    """An example brings its documents; a question alone has what the source finds."""
    document = Document("d", TEXTS[0])
    found = system.with_source(lambda query: [Segment.whole(document)])
    example = Example(Query("Who ran?"), documents=(Document("e", TEXTS[2]),), answers=("Alan",))
    results = found.batch([example, "Who wrote?", Query("Who wrote?")])

    assert ["e", "d", "d"] == [result.documents[0].id for result in results]


def test_answers_where_asked_for(system):
    """The reader answers each, or none."""
    assert all(result.answer for result in system.batch(PAIRS[:3], answer=True))
    assert not any(result.answer for result in system.batch(PAIRS[:3]))


def test_a_bar_shows_where_asked(system, capsys):
    """On the terminal, with nothing of it in the results."""
    results = system.batch(PAIRS[:3], progress=True)

    assert 3 == len(results)
    assert "questions" in capsys.readouterr().out


@pytest.mark.parametrize("workers", [1, 8])
def test_an_error_of_the_questions_comes_behind_the_results_before_it(system, workers):
    """Where reading them fails, one of them is none, or one cannot be answered."""

    def lost():
        yield from PAIRS[:2]
        raise OSError("the disk is gone")

    for questions, message in (
        (lost(), "disk is gone"),
        ([*PAIRS[:2], 5], "got 5 at place 2"),
        ([*PAIRS[:2], (" ", ["text"])], "must not be blank"),
    ):
        results = system.map(questions, workers=workers)

        assert [pair[0] for pair in PAIRS[:2]] == [r.query.text for r in islice(results, 2)]
        with pytest.raises((OSError, InputError), match=message):
            next(results)


def test_the_event_loop_goes_on(system):
    """While a call waits, another coroutine lets it go on."""
    event = threading.Event()

    def waiting(query, segments, /):
        assert event.wait(10)
        return list(segments)

    async def both():
        async def release():
            event.set()

        slow = replace(system, stage=waiting)
        result, _ = await asyncio.gather(slow.acall(*PAIRS[0]), release())
        answered = await system.aask(*PAIRS[1])
        many = await system.abatch(PAIRS[:2], answer=True)
        return [one.query.text for one in (result, answered, *many)]

    assert [PAIRS[n][0] for n in (0, 1, 0, 1)] == asyncio.run(both())


def test_cancelled_work_is_forgotten():
    """Also while all threads are busy: what it holds is free at once."""
    busy, pool = threading.Event(), Pool(1)
    running = pool.submit(busy.wait, 10)
    held = {1, 2}
    gone = weakref.ref(held)
    waiting = pool.submit(len, held)
    del held
    cancelled = waiting.cancel()
    left = gone()
    busy.set()

    assert cancelled
    assert left is None
    assert running.result(5)
    assert 3 == pool.submit(len, "abc").result(5)
