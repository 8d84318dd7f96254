"""Data sets through the hub's library, where it is installed; nothing is fetched."""

import json

import pytest
from msgspec.structs import replace

from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve_research.datasets import DATASETS, load
from ragsieve_research.systems.finefilter import finefilter
from tests.research.datasets.test_columns import HOTPOTQA as ROW

library = pytest.importorskip("datasets")
hub = pytest.importorskip("ragsieve_research.datasets.hub")

TABLE = [{**ROW, "id": f"h{i}"} for i in range(3)]
HOTPOTQA = DATASETS["hotpotqa"].hub
assert HOTPOTQA


def on_disk(folder, rows):
    """A data set of the hub's layout, in a folder that the library takes for one of the hub."""
    (folder / "validation.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert HOTPOTQA
    return replace(HOTPOTQA, id=str(folder), config="", revision="")


def test_rows_of_any_layout_are_read_or_named():
    """Lists side by side, records, rows without ids; the error names row and columns."""
    table = library.Dataset.from_list(TABLE)
    lines = list(hub.records(table, HOTPOTQA, "hotpotqa"))
    first = json.loads(lines[0][1])

    assert [1, 2, 3] == [number for number, _ in lines]
    assert "hotpotqa" == first["metadata"]["dataset"]
    assert ["Rhine", "Vienna", "Danube"] == [d["title"] for d in first["documents"]]
    assert ["Vienna lies on the Danube."] == first["documents"][1]["supporting_sentences"]

    rows = [
        {
            **TABLE[0],
            "supporting_facts": [{"title": "Marie Curie", "sent_id": 0}],
            "context": [{"title": "Marie Curie", "sentences": ["She was born in Warsaw."]}],
        }
    ]
    (_, line) = next(hub.records(library.Dataset.from_list(rows), HOTPOTQA, "h"))

    assert json.loads(line)["documents"][0]["is_positive"]

    rows = [{"question": "who", "answer": ["I"]}, {"question": "what", "answer": ["it"]}]
    lines = hub.records(library.Dataset.from_list(rows), DATASETS["nq"].hub, "nq")

    assert ["nq-1", "nq-2"] == [json.loads(line)["id"] for _, line in lines]

    with pytest.raises(InputError, match=r"row 1 of hotpotqa/hotpot_qa must have .* \['text'\]"):
        list(hub.records([{"text": "a"}], HOTPOTQA, "h"))


def test_a_data_set_of_the_hub_is_one_like_any_other(tmp_path, monkeypatch):
    """Loaded by the library's own loader, it iterates, samples and answers."""
    monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    dataset = hub.load("hotpotqa", on_disk(tmp_path, TABLE), DATASETS["hotpotqa"])
    (example,) = dataset.take(1, seed=0)
    result = finefilter(echo(), HashingEmbedder()).ask(example.query, example.documents)

    assert "validation" == dataset.split
    assert 3 == dataset.count()
    assert ["0", "1", "2"] == [d.id for d in example.documents]
    assert result.answer


def test_the_table_leads_to_the_hub(monkeypatch):
    """Where no folder is named the hub is the place; nothing is fetched before a pass."""
    monkeypatch.delenv("RAGSIEVE_DATA", raising=False)
    dataset = load("hotpotqa")

    assert "hotpotqa/hotpot_qa (distractor) on the hub" == dataset.origin
    assert load("hotpotqa", place="hub").origin == dataset.origin
