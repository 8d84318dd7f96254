"""Parts of trained filters without weights; where weights count, a test makes tiny ones."""

import json

import pytest

from ragsieve_research.artifacts.recipe import Base, Split, Trained, TrainedPart, TrainingData


@pytest.fixture
def adapter(tmp_path):
    """Makes a folder that looks like PEFT's."""

    def make(name, **changes):
        folder = tmp_path / "work" / name
        folder.mkdir(parents=True)
        config = {"peft_type": "LORA", "base_model_name_or_path": str(tmp_path), **changes}
        (folder / "adapter_config.json").write_text(json.dumps(config))
        (folder / "adapter_model.safetensors").write_bytes(b"numbers")
        return folder

    return make


@pytest.fixture
def whole():
    """A filter with every part trained, and every field filled."""
    return Trained(
        generator=Base("smollm2", "a" * 64),
        embedder=Base("minilm"),
        extractor=TrainedPart("llm", "smollm2", "extractor", "write"),
        reranker=TrainedPart("embedder", "minilm", "reranker"),
        truncator=TrainedPart("llm", "smollm2", "truncator"),
        options={"min_keep": 1, "order": "score", "max_tokens": None},
        data=(TrainingData("nq", "CC BY-SA 3.0", 12, "b" * 64),),
        split=Split("salt-1", "by sha256"),
        training={"seed": 0, "epochs": 2},
        figures={"nq": {"accuracy": 0.25, "tokens": 31}, "popqa": {"accuracy": 0.5}, "auc": 0.9},
        versions={"torch": "2.6"},
        licence="apache-2.0",
    )
