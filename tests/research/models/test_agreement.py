"""The same question gives the same spans and text in any company and on any processor."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.models

TOLERANCE = 1e-4  # of scores and probabilities in float32
PROCESSORS = {  # what the libraries below are told that there is, so that any machine tests others
    "this one": {},
    "AVX-512 without AMX": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "AVX2 alone": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}


def ways(*, all_of_them):
    """What a system of the two default models makes of questions, by how it is called."""
    from ragsieve import Pipeline, System, score, select, split
    from ragsieve.answer import Reader
    from ragsieve.models.batcher import DynamicBatcher
    from ragsieve.models.cache import Cached
    from ragsieve_research import datasets
    from ragsieve_research.models.sentence_transformers import SentenceTransformer
    from ragsieve_research.models.transformers import Transformers
    from ragsieve_research.score.judge import Relevance
    from ragsieve_research.select.adaptive import Adaptive

    examples = [*datasets.load("sample")][:2]
    embedder = SentenceTransformer()

    def run(llm, embedder, workers=1):
        stages = split.Sentences(), score.Cosine(embedder), select.TopK(2), Relevance(llm)
        system = System(Pipeline(*stages, Adaptive()), Reader(llm, max_tokens=12))

        def asked(example):
            result = system.ask(example.query, example.documents)
            spans = [[*s.key] for s in result.kept]
            scores = [[*s.scores.values()] for s in result.kept]
            return {"spans": spans, "text": result.answer.text, "scores": scores}

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(asked, examples))

    found = {"alone": run(Transformers(prefix_mb=0), embedder)}
    if not all_of_them:
        return found
    kept = Transformers()
    with (
        TemporaryDirectory() as folder,
        DynamicBatcher(kept) as llm,
        DynamicBatcher(embedder) as encoder,
        Cached(llm, Path(folder, "llm")) as stored_llm,
        Cached(encoder, Path(folder, "encoder")) as stored_encoder,
    ):
        found["together"] = run(stored_llm, stored_encoder, 2)
        found["cached"] = run(stored_llm, stored_encoder)
    found["remembered"] = run(kept, embedder)
    return found


@cache
def on(processor):
    """`ways` in a process of its own: all where the processor is this one, else alone."""
    env = {**os.environ, **PROCESSORS[processor]}
    command = [sys.executable, __file__, *PROCESSORS[processor]]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_spans_and_text_are_the_same_and_scores_agree(processor):
    """Alone, behind remembered beginnings, together, out of a cache; here and elsewhere."""
    expected = on("this one")["alone"]
    for way, found in on(processor).items():
        for one, other in zip(expected, found, strict=True):
            assert (one["spans"], one["text"]) == (other["spans"], other["text"]), way
            for a, b in zip(one["scores"], other["scores"], strict=True):
                assert a == pytest.approx(b, abs=TOLERANCE), way


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ways(all_of_them=not sys.argv[1:])))
