"""Names of models: what they load, and what is said of names that are none."""

import pytest

import ragsieve
from ragsieve import InputError, models
from ragsieve.models.base import Message


def test_names_and_options_reach_their_backend():
    """Behind openai: all colons are the server's; fakes need no weights."""
    assert (1, 256) == models.load("fake:hashing").embed(["a"]).shape
    assert (1,) == models.load("fake:overlap").score([("a", "b")]).shape
    pytest.importorskip("openai")
    model = models.load("openai:qwen3:0.6b", base_url="http://127.0.0.1:1/v1")

    assert "qwen3:0.6b" == model.model


FORMS = r"^a model must be one of openai:MODEL, ollama:MODEL, openai_embeddings:MODEL, .*got "
OPTIONS = r"^{} cannot take options \['{}'\]: its options are "
MEANT = r"{!r}; did you mean {!r}\?$"


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        *((name, {}, f"{FORMS}{name!r}") for name in ("", "gpt-5", "nothing:x", "minilm:x", ":x")),
        ("transformers:", {}, f"{FORMS}'transformers:'"),
        ("smolm2", {}, FORMS + MEANT.format("smolm2", "smollm2")),
        ("opnai:gpt-5", {}, FORMS + MEANT.format("opnai:gpt-5", "openai:gpt-5")),
        ("transformer:o/m", {}, FORMS + MEANT.format("transformer:o/m", "transformers:o/m")),
        ("fake:hasing", {}, FORMS + MEANT.format("fake:hasing", "fake:hashing")),
        ("fake:echo", {"contex": 9}, OPTIONS.format("fake:echo", "contex") + ".*mean 'context'"),
        ("pruner", {"colour": 9}, OPTIONS.format("pruner", "colour")),
    ],
)
def test_a_wrong_name_or_option_says_what_was_meant(name, options, line):
    """With all forms of names; of options those that are unknown alone; no constructor's name."""
    with pytest.raises(InputError, match=line):
        models.load(name, **options)


def test_the_kind_of_a_name_is_known_without_its_packages():
    """A misplaced model is refused before anything is imported."""
    models.check("smollm2", "LLM")
    models.check("minilm", "embedder")
    models.check("cross_encoder:org/model", "cross-encoder")
    models.check("pruner", "LLM", "sentence pruner")
    with pytest.raises(InputError, match="minilm is no LLM"):
        models.check("minilm", "LLM")
    with pytest.raises(InputError, match="minilm is no LLM or sentence pruner"):
        models.check("minilm", "LLM", "sentence pruner")


OTHERS = '''"""Models of another package."""
from ragsieve.models import backend
from ragsieve.models.fake import OverlapCrossEncoder, ScriptedLLM

@backend("parrot", "LLM")
def parrot(model: str, *, context: int = 512) -> ScriptedLLM:
    """Say ``model``, whatever is asked."""
    return ScriptedLLM(lambda _: model, context=context)

@backend("counting", "cross-encoder")
class Counting(OverlapCrossEncoder):
    """Counts words."""
    def __init__(self, model: str) -> None:
        """``model`` changes nothing."""

def unregistered(model: str) -> ScriptedLLM:
    """No backend: nothing registers it."""
'''


@pytest.fixture
def forgotten():
    """Backends that a test adds are gone after it."""
    with models.BACKENDS.isolated():
        yield


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("point", ["others = other_models", "parrot = other_models:parrot"])
def test_another_package_adds_models(install, point):
    """Its entry point names a module or a function; its models go wherever a name goes."""
    install("other_models", "models", point, other_models=OTHERS)
    parrot = models.load("parrot:Hello", context=256)

    models.check("parrot:Hello", "LLM")
    assert (256, ["Hello"]) == (parrot.context, parrot.complete([(Message("user", "Hi."),)]))
    assert [1.0] == models.load("counting:x").score([("a", "a b")]).tolist()
    assert "Hello" == ragsieve.load("all", "parrot:Hello").ask("Who?", ["Ada."]).answer.text
    with pytest.raises(InputError, match="counting:x is no LLM, it is of kind cross-encoder"):
        models.check("counting:x", "LLM")
    with pytest.raises(InputError, match=r"counting:MODEL, got 'nothing:x'"):
        models.load("nothing:x")
