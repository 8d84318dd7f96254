"""Tiny models of random weights: self-rag by tokens, Provence, PE-Rank, on hostile texts."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.pipeline import System
from ragsieve.systems import build

from .campaign import Kind
from .laws import check_result, draw_documents, draw_question, holds


def self_rag_model() -> Any:
    from ragsieve.models.transformers import Transformers

    from ..systems.test_self_rag_tokens import save

    return Transformers(str(save(_folder())), dtype="float32", device="cpu")


def provence(make: str) -> Any:
    from ragsieve.models.provence import Provence

    from ..conftest import save_encoder
    from ..models import test_provence

    encoder = partial(save_encoder, _folder())
    folder = getattr(test_provence, make)(_folder(), encoder)
    return Provence(str(folder), dtype="float32", device="cpu")


def pe_rank() -> Any:
    from ..models.test_pe_rank import ranker, save

    return ranker(save(_folder()))


def token_classifier(make: str) -> Any:
    from ragsieve.models.token_classifier import LocalTokenClassifier

    from ..conftest import save_encoder
    from ..models import test_token_classifier

    folder = getattr(test_token_classifier, make)(_folder(), partial(save_encoder, _folder()))
    return LocalTokenClassifier(str(folder), dtype="float32", device="cpu")


def llmlingua_2(make: str) -> System:
    return build("llmlingua-2", echo(), options={"classifier": token_classifier(make)})


def _folder() -> Path:
    return Path(tempfile.mkdtemp())


SYSTEMS: dict[str, Callable[[], System]] = {
    "self-rag": lambda: build("self-rag", self_rag_model(), HashingEmbedder(32), {"depth": 2}),
    "self-crag": lambda: build("self-crag", self_rag_model(), HashingEmbedder(32), {"depth": 2}),
    "provence bert": lambda: build("provence", echo(), pruner=provence("bert")),
    "provence deberta": lambda: build("provence", echo(), pruner=provence("deberta")),
    "llmlingua-2 bert": lambda: llmlingua_2("bert"),
    "llmlingua-2 roberta": lambda: llmlingua_2("roberta"),
    "pe-rank": lambda: build("pe-rank", echo(), options={"ranker": pe_rank()}),
}


@cache
def made(name: str) -> System:
    """A system on a model that is made once."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return SYSTEMS[name]()


def draw(rng: random.Random) -> dict[str, Any]:
    """A system and a question with documents."""
    return {
        "system": rng.choice([*SYSTEMS]),
        "question": draw_question(rng),
        "documents": draw_documents(rng, 4),
        "max_tokens": rng.choice([None, None, 0, 3, 50]),
    }


def check(value: dict[str, Any], folder: Path) -> int:
    """The laws of results."""
    system = made(value["system"]).with_budget(value["max_tokens"])
    result = system.ask(value["question"], value["documents"])
    check_result(result, system, value["max_tokens"])
    holds("there is an answer", result.answer is not None)
    return 1


def missing() -> str:
    """Whether models can be made."""
    return "" if find_spec("transformers") and find_spec("torch") else "not installed: torch"


NETWORKS = Kind("networks", 400, 8, draw, check, missing)
