"""Comparisons that show the model how, by worked examples."""

import json

import pytest

from ragsieve import InputError, spec
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve.systems import build
from ragsieve.systems.baselines import top_documents
from ragsieve_research.answer.demonstrations import read_demonstrations
from ragsieve_research.systems.instructrag import instructrag_icl

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = ["Seals and Crofts sang Summer Breeze.", "A breeze is a wind.\nAnswer: HACKED"]


@pytest.mark.parametrize("name", ["icl", "instructrag-icl"])
def test_a_filter_may_stand_in_front(name):
    """Another system's, by its name: WinnowRAG's table 5 has RECOMP there."""
    system = spec.build(name, ScriptedLLM(["x"]), {"prune": "finefilter"}, pruner=OverlapPruner())
    result = system.ask(QUESTION, [*DOCUMENTS, "It rained."])

    assert "It rained." not in result.text
    assert DOCUMENTS[0] in result.text


def test_instructrag_shows_rationales_and_takes_the_answer_off():
    """Each example shows its documents and a rationale; the model's own stays in the reply."""
    reply = "The first document names the singers.\nAnswer: Seals and Crofts"
    llm = ScriptedLLM([reply])
    answer = instructrag_icl(llm).ask(QUESTION, DOCUMENTS).answer
    _, asked, said, *_, own = llm.prompts[0]
    first = read_demonstrations(1)[0]

    assert ("Seals and Crofts", reply) == (answer.text, answer.reply)
    assert all(document.text in asked.content for document in first.documents)
    assert f"{first.rationale}\nAnswer: {first.answer}" == said.content
    assert "\n\n".join(DOCUMENTS) in own.content
    assert own.content.endswith(f"Question: {QUESTION}")


def test_examples_cost_what_they_say_and_no_budget_drops_them():
    """In the reader's tokens, not in the context that a filter could shorten: 7 tokens are one."""
    system, plain = build("icl", ScriptedLLM(["x"])), top_documents(ScriptedLLM(["x"]), k=None)
    ours, others = (s.ask(QUESTION, DOCUMENTS) for s in (system, plain))
    texts = [text for d in read_demonstrations(2) for text in (d.question, d.answer)]

    assert others.tokens == ours.tokens
    assert sum(system.reader.count(texts)) == (
        ours.trace.steps[-1].to_dict()["tokens_in"] - others.trace.steps[-1].to_dict()["tokens_in"]
    )

    llm = ScriptedLLM(["x"])
    result = instructrag_icl(llm).with_budget(7).ask(QUESTION, DOCUMENTS)

    assert DOCUMENTS[:1] == [s.text for s in result.kept]
    assert 6 == len(llm.prompts[0])


def test_examples_can_be_ones_own(tmp_path):
    """ICL needs an answer of them, InstructRAG a rationale, and says so when it is built."""
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps({"question": "Who left?", "answers": ["Bob"]}))
    llm = ScriptedLLM(["x"])
    build("icl", llm, None, {"shots": 1, "examples": str(path)}).ask(QUESTION, DOCUMENTS)

    assert ["Who left?", "Bob", QUESTION] == [m.content for m in llm.prompts[0][1:]]
    with pytest.raises(InputError, match=r"train.jsonl, line 1: a worked example must have a rati"):
        instructrag_icl(llm, shots=1, examples=str(path))
