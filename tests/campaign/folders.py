"""Trained folders that someone else made: paths, links, pickles, numbers, bits, calibrations."""

import json
import os
import pickle
import random
import shutil
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np

import ragsieve
from ragsieve import Query, RagsieveError
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.models.pruner import Pruner
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve_research.artifacts.folder import save
from ragsieve_research.artifacts.recipe import Base, Known, Trained, TrainedRouter
from ragsieve_research.artifacts.router import load_router, save_router
from ragsieve_research.retrieve.route import LightRouter, Named, nothing
from tests.research.artifacts.test_trained import Bomb

from .campaign import Kind, lacking
from .laws import check_result, draw_text, holds

NUMBERS = [0, -1, 1, 2, 1e308, -1e308, 1e-320, 2**63, 10**400, 0.5, -0.5, 1e999, True, 2**31]
VALUES = [*NUMBERS, None, "", "..", "../x", "/etc/passwd", "a/../b", "~", "file:///x", [], {}, [[]]]
VALUES += ["transformers:../x", "openai:x", "fake:echo", "pickle:x", "x" * 9999, [1e999], [None]]
TEXTS = ["Song 7 was sung by Seals. It rained.", "Bees make honey."]
CUT = {"weights": [[-1.0, 0.0], [1.0, 0.0], [0.5, 0.5]], "bias": [0.0, 0.0, 0.5], "price": 0.1}
MORE = ["pickle", "link", "weights", "nested", "nan", "keys", "bom", "bits"]
PRUNER = ("config.json", "tokenizer.json", "model.onnx", "pruner.json")


@cache
def pristine(kind):
    """A sound folder of a kind, without digests, as a stranger may leave it."""
    folder = Path(shutil.copytree(sealed(kind), Path(tempfile.mkdtemp()) / "f"))
    values = json.loads((folder / DOCUMENTS[kind]).read_text())
    del values["files"]
    (folder / DOCUMENTS[kind]).write_text(json.dumps(values))
    return folder


@cache
def sealed(kind):
    """A folder of a kind as it is written, with digests."""
    folder = Path(tempfile.mkdtemp()) / "f"
    fakes = {"generator": Base("fake:echo"), "embedder": Base("fake:hashing")}
    if kind == "filter":
        options = {"min_keep": 1, "order": "score"}
        return save(folder, Trained(**fakes, options=options, cut=CUT), {})
    if kind == "router":
        weights = ((0.1,) * 256, (-0.1,) * 256)
        light = LightRouter(HashingEmbedder(), ("web", "api"), weights, (0.25, -0.3))
        known = (Known("web", "News."), Known("api", "Prices."))
        bases = {"base": Base("fake:hashing"), "generator": Base("fake:echo")}
        trained = TrainedRouter(form="light", sources=known, identity="hashing:256", **bases)
        return save_router(folder, trained, light=light)
    folder.mkdir()
    for name in PRUNER:
        (folder / name).write_bytes((Pruner().folder / name).read_bytes())
    return folder


DOCUMENTS = {"filter": "filter.json", "router": "router.json", "pruner": "pruner.json"}


def draw(rng):
    """A kind of folder, values put at places of its JSON, and files put beside it."""
    kind = rng.choice(["filter", "filter", "router", "pruner"])
    changes = [
        [rng.random(), rng.choice([*VALUES, draw_text(rng)])] for _ in range(rng.randrange(4))
    ]
    more = rng.sample(MORE, rng.randrange(3))
    promise = rng.choice([0.8, 0.95])
    return {"folder": kind, "changes": changes, "more": more, "keep_answer": promise}


def leaves(value, place=()):
    """Places of all values in JSON, those that hold others too."""
    inside = []
    if isinstance(value, dict):
        inside = [*value.items()]
    elif isinstance(value, list):
        inside = [*enumerate(value)]
    return [place, *(leaf for key, inner in inside for leaf in leaves(inner, (*place, key)))]


def put(value, share, new):
    """Replace the value at one place."""
    places = leaves(value)[1:]
    if places:
        *way, last = places[int(share * len(places))]
        for key in way:
            value = value[key]
        value[last] = new


def spoil(folder, value):
    """Change a sound folder as an input says."""
    path = folder / DOCUMENTS[value["folder"]]
    content = json.loads(path.read_text())
    for share, new in value["changes"]:
        put(content, share, new)
    if "keys" in value["more"]:
        content |= {f"key {n}": n for n in range(2000)}
    text = json.dumps(content)
    if "nan" in value["more"]:
        text = text.replace("0.", "NaN", 1)
    path.write_text(("\ufeff" if "bom" in value["more"] else "") + text)
    if "nested" in value["more"]:
        path.write_text("[" * 100_000)
    weights = [*folder.glob("*.safetensors"), *folder.glob("*.onnx")]
    bomb = pickle.dumps(Bomb(folder.parent / "exploded"))
    if "pickle" in value["more"]:
        for name in ("model.pkl", "pytorch_model.bin", "adapter_model.bin", "training_args.bin"):
            (folder / name).write_bytes(bomb)
    if "weights" in value["more"] and weights:
        weights[0].unlink()  # may be a link to the sound one
        weights[0].write_bytes(bomb)
    if "bits" in value["more"]:
        flip(folder, random.Random(json.dumps(value)))
    if "link" in value["more"]:
        (folder / "extractor").symlink_to("/etc")
        path.rename(folder.parent / "outside.json")
        path.symlink_to(folder.parent / "outside.json")


def flip(folder, rng):
    """Turn some bits of a file, most of them near its ends, and cut or lengthen it, or neither."""
    path = rng.choice(sorted(path for path in folder.iterdir() if path.is_file()))
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 5, 30]) if data else 0):
        near = rng.choice([len(data), min(len(data), 3000)])
        data[rng.choice([-1 - rng.randrange(near), rng.randrange(near)])] ^= 1 << rng.randrange(8)
    place = rng.randrange(len(data) + 1)
    data[place:] = rng.choice([data[place:], data[place:], b"", b"\xff" * 9 + data[place:]])
    path.unlink()  # may be a link to the sound one
    path.write_bytes(data)


def check(value, folder):
    """One clear line of ours, or a filter that keeps the laws; nothing of it is run."""
    made = folder / "f"
    shutil.copytree(pristine(value["folder"]), made, copy_function=os.link)
    (made / DOCUMENTS[value["folder"]]).unlink()  # the others are links: this one changes
    sound = pristine(value["folder"]) / DOCUMENTS[value["folder"]]
    (made / sound.name).write_bytes(sound.read_bytes())
    spoil(made, value)
    try:
        use(value, made)
    except RagsieveError as error:
        holds("an error is a line of moderate length", "\n" not in str(error), error)
        holds("an error is a line of moderate length", len(str(error)) < 3000, len(str(error)))
    holds("no pickle is opened", not (folder / "exploded").exists())
    return 1


def use(value, folder):
    """Load what the folder says, and filter by it."""
    if value["folder"] == "router":
        router = load_router(folder, HashingEmbedder())
        known = [Named(name, "", nothing) for name in ("web", "api")]
        holds("a router routes", {*router(Query("x"), known)} <= {"web", "api"})
        return
    if value["folder"] == "filter":
        system = ragsieve.load(folder, echo(), HashingEmbedder())
    else:
        pruner = Pruner(str(folder))
        threshold = pruner.threshold(value["keep_answer"])
        holds("a threshold is a probability", 0 <= threshold <= 1, threshold)
        found = pruner.prune(["Who?"], [[]])
        holds("it prunes", np.isfinite(found[0].passages).all())
        system = finefilter_one_pass(echo(), pruner, keep_answer=value["keep_answer"])
    result = system.ask("Who sang song 7?", TEXTS)
    check_result(result, system, None)


def draw_bit(rng):
    """A kind of folder, and one bit of one of its files."""
    at = [rng.random(), rng.random(), rng.randrange(8)]
    return {"folder": rng.choice([*DOCUMENTS]), "at": at, "keep_answer": 0.95}


def check_bit(value, folder):
    """A sealed folder is refused, unless its settings say the same as before."""
    made, (which, place, bit) = folder / "f", value["at"]
    shutil.copytree(sealed(value["folder"]), made)
    files = sorted({*made.iterdir()} - {made / "README.md"})  # the card is for people
    file = files[int(which * len(files))]
    before = file.read_bytes()
    data = bytearray(before)
    data[int(place * len(data))] ^= 1 << bit
    file.write_bytes(data)
    try:
        use(value, made)
    except RagsieveError:
        return 1
    own = file.name == DOCUMENTS[value["folder"]]
    holds("a changed bit is told", own and json.loads(before) == json.loads(data), file.name)
    return 1


FOLDERS = Kind("folders", 2_500, 80, draw, check, partial(lacking, "safetensors"))
BITS = Kind("bits", 500, 20, draw_bit, check_bit, partial(lacking, "safetensors"))
