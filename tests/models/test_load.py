"""Names of models: what they load, and what is said of names that are none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.base import Message, Passage

NAMES = {
    "smollm2": "Transformers",
    "minilm": "SentenceTransformer",
    "transformers:org/model": "Transformers",
    "sentence_transformers:org/model": "SentenceTransformer",
    "cross_encoder:org/model": "CrossEncoder",
    "pruner": "Pruner",
    "pruner:some/folder": "Pruner",
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_a_name_loads_its_backend(name: str, kind: str) -> None:
    """A named model or any other, without fetching a byte of it."""
    pytest.importorskip("sentence_transformers")
    model = models.load(name)

    assert kind == type(model).__name__
    assert name.partition(":")[2] in ("", model.model)


def test_openai_is_a_backend() -> None:
    """What stands behind the first colon is the server's name of the model, colons and all."""
    pytest.importorskip("openai")
    model = models.load("openai:qwen3:0.6b", base_url="http://127.0.0.1:1/v1")

    assert "qwen3:0.6b" == model.model


def test_options_are_the_backends() -> None:
    """They reach the class."""
    pytest.importorskip("torch")
    model = models.load("smollm2", batch_size=2, max_context=64)

    assert (2, 64) == (model.batch_size, model.max_context)


@pytest.mark.parametrize("name", ["", "gpt-5", "nothing:x", "transformers:", "minilm:x", ":x"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    """The error lists the forms and shows the name."""
    with pytest.raises(InputError) as caught:
        models.load(name)

    assert str(caught.value).startswith(
        "a model must be one of smollm2, minilm, pruner, transformers:"
    )
    assert str(caught.value).endswith(f"got {name!r}")


def test_an_unknown_option_is_refused() -> None:
    """The error names the model and the option."""
    pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"smollm2 cannot take options \['colour'\]"):
        models.load("smollm2", colour="red")


def test_fakes_need_no_weights() -> None:
    """For trying a pipeline: an LLM, an embedder, a cross-encoder and a sentence pruner."""
    (reply,) = models.load("fake:echo").complete([(Message("user", "Hello there."),)])

    assert isinstance(reply, str)
    assert (1, 256) == models.load("fake:hashing").embed(["a"]).shape
    assert (1,) == models.load("fake:overlap").score([("a", "b")]).shape
    (pruned,) = models.load("fake:pruner").prune(["a?"], [[Passage("", ["a b"])]])
    assert ([1.0], [1.0]) == pruned


def test_the_kind_of_a_name_is_known_without_its_packages() -> None:
    """A misplaced model is refused before anything is imported."""
    models.check("smollm2", "LLM")
    models.check("minilm", "embedder")
    models.check("cross_encoder:org/model", "cross-encoder")
    models.check("pruner", "LLM", "sentence pruner")
    with pytest.raises(InputError, match="minilm is no LLM"):
        models.check("minilm", "LLM")
    with pytest.raises(InputError, match="minilm is no LLM or sentence pruner"):
        models.check("minilm", "LLM", "sentence pruner")


def test_importing_models_imports_no_backend() -> None:
    """A backend's packages are imported when a model of it is asked for."""
    code = (
        "import sys, ragsieve.models as m; m.check('smollm2', 'LLM'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False" == done.stdout.strip()
