"""The folder in which a page is followed, and the weights there."""

import json
import shutil
import subprocess
import sys

import docx

from ragsieve_research.models import store
from tests.blocks import ROOT, write_files
from tests.office import pdf
from tests.tiny import llama

LLM = "smollm2"
SHOP = {  # an API as a reader may have one
    "openapi": "3.0.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/articles": {
            "get": {
                "summary": "What an article costs.",
                "parameters": [
                    {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}
                ],
                "responses": {"200": {"description": "The article."}},
            }
        }
    },
}


def workplace(folder):
    """Make a folder with the files that the pages speak of."""
    (folder / "reports").mkdir(parents=True)
    (folder / "notes").mkdir()
    write_files(folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copy(ROOT / "examples" / "eiffel.jsonl", folder / "articles.jsonl")
    (folder / "openapi.json").write_text(json.dumps(SHOP), encoding="utf-8")
    for name in ("notes/notes.txt", "FILE…"):
        shutil.copy(folder / "notes.txt", folder / name)
    (folder / "reports" / "scan.pdf").write_bytes(pdf("Koechlin drew it."))
    letter = docx.Document()
    letter.add_paragraph("Koechlin drew it.")
    letter.save(str(folder / "reports" / "letter.docx"))
    (folder / "many.jsonl").write_text("".join(map(asked, range(160))), encoding="utf-8")
    made = ("index", "build", "my-index", "notes.txt")
    subprocess.run(
        [sys.executable, "-m", "ragsieve", *made], cwd=folder, check=True, capture_output=True
    )
    return folder


def asked(number):
    """A line of a file of questions, with its evidence."""
    evidence = f"The code of room {number} is K{number}."
    text = f"{evidence} It was painted in 1990."
    page = {"title": "Rooms", "text": text, "evidence": [[0, len(evidence)]]}
    documents = [page, {"title": "Roof", "text": "It is flat. It is green.", "evidence": []}]
    question = f"What is the code of room {number}?"
    row = {"question": question, "answers": [f"K{number}"], "documents": documents}
    return json.dumps(row) + "\n"


def weights(folder):
    """Make a folder of named weights, as RAGSIEVE_HOME, in which SmolLM2's are small and random."""
    folder.mkdir(parents=True)
    for weights, place in store.listed():
        if place and weights.name != LLM:
            (folder / weights.name).symlink_to(place)
    known = store.pull(LLM)
    skip = shutil.ignore_patterns("*.safetensors", "config.json")
    shutil.copytree(known, folder / LLM, ignore=skip)
    words = json.loads((known / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    llama(words, "bfloat16").save_pretrained(folder / LLM)
    ends = {"eos_token_id": [*range(2, words, 8)]}  # its replies have some eight tokens
    (folder / LLM / "generation_config.json").write_text(json.dumps(ends), encoding="utf-8")
    return folder.parent
