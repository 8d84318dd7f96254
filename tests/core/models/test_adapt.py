"""Models of one's own: functions and other libraries' objects, in one line each."""

import pickle
from functools import partial
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import ragsieve
from ragsieve import InputError, ModelError, Pipeline, System, models, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import Message
from ragsieve.models.cache import Cached
from ragsieve.models.callables import as_cross_encoder, as_embedder, as_llm
from ragsieve.models.sharing import sharing
from ragsieve.trace import collect_step

PROMPT = (Message("system", "Answer."), Message("user", "Who sang it?"))
DOCUMENTS = ["Seals sang it. It rained.", "A breeze is a wind."]


def last_words(prompts):
    return [prompt.split()[-1] for prompt in prompts]


def letters(texts):
    return [[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def lengths(pairs):
    return [len(text) for _, text in pairs]


def client(calls):
    """Of OpenAI's shape."""

    def create(**options):
        calls.append(options)
        message = SimpleNamespace(content=f"reply {len(calls)}")
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_a_function_of_prompts_is_an_llm():
    """A chat is one string; its tokens count; it can complete, and nothing else."""
    llm = as_llm(last_words)

    assert ["it?"] == llm.complete([PROMPT])
    assert frozenset({"complete"}) == llm.can
    assert [3] == llm.count(["one two three"])
    assert "last_words" in llm.identity
    assert ["it?"] == pickle.loads(pickle.dumps(llm)).complete([PROMPT])


@pytest.mark.parametrize(
    ("message", "finish", "said", "note"),
    [
        ({"content": None, "refusal": "I cannot."}, "stop", "I cannot.", ""),
        ({"content": [{"type": "text", "text": "Ten."}]}, "stop", "Ten.", ""),
        ({"content": "The fine is"}, "length", "The fine is", "a reply was cut at 5 tokens"),
    ],
)
def test_a_client_refuses_or_has_no_room_as_a_server_does(message, finish, said, note):
    """What it says is the reply; the trace says where that was cut."""
    choice = SimpleNamespace(message=SimpleNamespace(**message), finish_reason=finish)
    llm = as_llm(
        SimpleNamespace(completion=lambda **_: SimpleNamespace(choices=[choice])), name="n"
    )
    with collect_step() as step:
        replies = llm.complete([PROMPT], max_tokens=5)

    assert ([said], [note]) == (replies, [usage.note for usage in step.usages])


def test_clients_are_asked_with_messages():
    """OpenAI's client and LiteLLM's module: the model's name, no sampling, the most tokens."""
    calls = []
    openai = client(calls)
    litellm = SimpleNamespace(completion=openai.chat.completions.create)
    replies = as_llm(openai, name="m").complete([PROMPT, PROMPT], max_tokens=5)
    replies += as_llm(litellm, name="n").complete([PROMPT], max_tokens=5)
    messages = [{"role": role, "content": content} for role, content in PROMPT]

    with sharing(3) as share:  # each question by itself, so that one that fails is no other's
        assert (llm := as_llm(openai, name="m")) is share(llm)

    assert ["reply 1", "reply 2", "reply 3"] == replies
    openai.base_url = "http://127.0.0.1:1/v1/"

    assert "m@http://127.0.0.1:1/v1/" == as_llm(openai, name="m").identity

    assert ["m", "m", "n"] == [call["model"] for call in calls]
    assert all(call["messages"] == messages for call in calls)
    assert all((0, 5) == (call["temperature"], call["max_tokens"]) for call in calls)


@pytest.mark.parametrize("adapt", [as_llm, as_embedder, as_cross_encoder])
def test_a_cache_file_tells_functions_apart(adapt, tmp_path):
    """By module and name; one without a name of its own is refused, or named by its user."""
    assert f"{__name__}.last_words" == adapt(last_words).identity

    scripts = FunctionType(last_words.__code__, {"__name__": "__main__"})
    for function in (
        scripts,
        lambda texts: texts,
        partial(last_words),
        PROMPT[0]._replace,
        client([]).chat.__eq__,
    ):
        Cached(adapt(function))
        Cached(adapt(function, name="mine"), tmp_path / "c")
        with pytest.raises(InputError, match=r"must have a name of its own, got .*<.*name=\.\.\."):
            Cached(adapt(function), tmp_path / "c")


def test_a_pipeline_of_transformers_is_an_llm():
    """It is asked with messages, greedily, for what is new."""
    calls = []

    class Pipeline:
        task, model = "text-generation", SimpleNamespace(name_or_path="org/model")

        def __call__(self, chats, **options):
            calls.append(options)
            return [[{"generated_text": chat[-1]["content"]}] for chat in chats]

    llm = as_llm(Pipeline())

    assert ["Who sang it?"] == llm.complete([PROMPT], max_tokens=4)
    assert "org/model" == llm.identity
    assert [{"max_new_tokens": 4, "do_sample": False, "return_full_text": False}] == calls


def test_functions_of_texts_and_pairs_are_encoders():
    """Unit length, float32, none of none; an object with predict scores pairs."""
    embedder, cross_encoder = as_embedder(letters), as_cross_encoder(lengths)
    vectors = embedder.embed(["abba", "cab"])

    assert (2, 26) == vectors.shape
    assert np.allclose(1, np.linalg.norm(vectors, axis=1))
    assert [3.0, 1.0] == cross_encoder.score([("q", "abc"), ("q", "d")]).tolist()
    assert 0 == len(embedder.embed([])) == len(cross_encoder.score([]))

    own = SimpleNamespace(predict=lambda pairs: np.array(lengths(pairs)))

    assert [3.0] == as_cross_encoder(own).score([("q", "abc")]).tolist()


@pytest.mark.models
def test_objects_of_sentence_transformers_are_taken_as_they_are():
    """A SentenceTransformer gives the vectors of the model by its name."""
    library = pytest.importorskip("sentence_transformers")
    named = models.load("minilm")
    own = as_embedder(library.SentenceTransformer(str(named.folder)))

    assert np.allclose(named.embed(["a wind"]), own.embed(["a wind"]), atol=1e-2)


def test_load_and_compositions_take_them():
    """A system runs on functions from documents to an answer, and can be pickled."""
    system = ragsieve.load("top-sentences", last_words, letters)
    result = system.ask("Who sang it?", DOCUMENTS)

    assert result.kept
    assert result.answer
    assert result.text == pickle.loads(pickle.dumps(system))("Who sang it?", DOCUMENTS).text

    stage = Pipeline(split.Sentences(), score.Pair(as_cross_encoder(lengths)), select.TopK(1))
    system = System(stage, Reader(as_llm(last_words)))

    assert ["A breeze is a wind."] == [s.text for s in system("Who?", DOCUMENTS).kept]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_llm(lambda prompts: [1]).complete([PROMPT]), "a string for each prompt, got"),
        (lambda: as_llm(lambda prompts: "x").complete([PROMPT]), "must give a list .* got 'x'"),
        (lambda: as_llm(lambda prompts: 1 / 0).complete([PROMPT]), "failed: ZeroDivisionError"),
        (
            lambda: as_llm(last_words, context=4).complete([PROMPT], max_tokens=2),
            r"the context of .*last_words holds 4",
        ),
        (lambda: as_embedder(lambda texts: [1]).embed(["a"]), r"shape \(n, dim\) for n=1, got"),
        (lambda: as_embedder(lambda texts: ["x"]).embed(["a"]), "must give numbers"),
        (lambda: as_cross_encoder(lambda p: [np.nan]).score([("a", "b")]), "finite numbers"),
    ],
)
def test_what_a_function_gets_wrong_is_one_line(call, message):
    """The function's name, and the rule."""
    with pytest.raises(ModelError, match=message):
        call()
