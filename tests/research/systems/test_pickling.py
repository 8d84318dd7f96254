"""Systems go to other processes: a pickle holds options, and the copy gives the same."""

import copy
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import ragsieve
from ragsieve import Pipeline, System, models, score, select, split
from ragsieve.answer import Reader

QUESTION = "Who designed the Eiffel Tower?"
LINES = (Path(__file__).parents[3] / "examples/eiffel.jsonl").read_text(encoding="utf-8")
DOCUMENTS = [json.loads(line) for line in LINES.splitlines()]


def kept(system):
    return [segment.key for segment in system(QUESTION, DOCUMENTS).kept]


@pytest.mark.models
def test_a_system_by_hand_is_one_too():
    """Models are opened again by their names; no weights are pickled; a deep copy shares them."""
    stage = Pipeline(split.Sentences(), score.Cosine(models.load("minilm")), select.TopK(3))
    system = System(stage, Reader(models.load("smollm2"))).with_budget(60)
    before = kept(system)
    pickled = pickle.dumps(system)

    assert len(pickled) < 5_000
    assert before == kept(pickle.loads(pickled))

    again = copy.deepcopy(stage)

    assert again is not stage
    assert stage.stages[1].embedder is again.stages[1].embedder


def test_the_default_filters_in_another_process():
    """A process that is begun anew gets the system by its pickle."""
    system = ragsieve.load("finefilter").with_budget(60)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = pool.submit(kept, system).result(timeout=300)

    assert kept(system) == elsewhere
