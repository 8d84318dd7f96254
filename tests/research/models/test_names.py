"""Local models by name: what a name loads, and the rules of their options."""

import pytest

from ragsieve import models
from tests.rules import check_fields

pytest.importorskip("sentence_transformers")
NAMES = {
    "smollm2": "Transformers",
    "minilm": "SentenceTransformer",
    "transformers:org/model": "Transformers",
    "sentence_transformers:org/model": "SentenceTransformer",
    "cross_encoder:org/model": "LocalCrossEncoder",
    "token_classifier:org/model": "LocalTokenClassifier",
    "pruner": "Pruner",
    "pruner:some/folder": "Pruner",
}


@pytest.mark.parametrize(("name", "kind"), NAMES.items())
def test_a_name_loads_its_backend(name, kind):
    """A named model or any other, without fetching a byte of it."""
    model = models.load(name)

    assert kind == type(model).__name__
    assert name.partition(":")[2] in ("", model.model)


LOCAL = ("transformers", "provence", "token_classifier", "sentence_transformers", "cross_encoder")


@pytest.mark.parametrize("name", [*LOCAL, "jina_bert"])
def test_a_number_is_held_to_its_rule(name):
    """At the edges that the error names; there need be no such model."""
    check_fields(models.load(f"{name}:a"))
