"""Fixtures that several test files share."""

import hashlib
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragsieve import MissingExtra
from ragsieve.run.questions import lines, parse_record
from tests.serving import Handler, served

pytest_plugins = ("tests.plugins.servers", "tests.plugins.cli", "tests.plugins.browser")


@pytest.hookimpl(tryfirst=True)  # before markers select
def pytest_collection_modifyitems(items):
    """Mark tests of the real models and of the browser as slow; files with slow ones go first."""
    for item in items:
        if item.get_closest_marker("models") or "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    """Skip a file that imports a package which is not installed, of an extra."""
    report = yield
    raised = report.call.excinfo and report.call.excinfo.value.__cause__
    own = ("ragsieve", "ragsieve_research", "tests")
    missing = isinstance(raised, ModuleNotFoundError) and str(raised.name).split(".")[0] not in own
    if missing or isinstance(raised, MissingExtra):
        report.outcome, report.longrepr = "skipped", (report.nodeid, 1, f"Skipped: {raised}")
    return report


@pytest.fixture(scope="module")
def one_thread():
    """Threads take longer to meet than a tiny model takes to compute."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Lays packages out as pip would have installed them: the name, entry points of one group, and
    the texts of modules by their names, which are forgotten after the test."""

    def lay(name, group, *points, **modules):
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("\n".join([f"[ragsieve.{group}]", *points, ""]))
        for module, text in modules.items():
            (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")

    monkeypatch.syspath_prepend(str(tmp_path))
    before = {*sys.modules}
    yield lay
    for name, module in [*sys.modules.items()]:
        if name not in before and str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def data():
    """The folder of real questions: RAGSIEVE_DATA, else ../shared/data beside the repository."""
    named = os.environ.get("RAGSIEVE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not any(folder.glob("*.jsonl.gz")):
        pytest.skip(f"no *.jsonl.gz in {folder}: set RAGSIEVE_DATA to a folder of real questions")
    return folder


@pytest.fixture(scope="session")
def records(data):
    """Every question with documents of every file, by the file's name."""
    found = {
        path.name.removesuffix(".jsonl.gz"): [
            parse_record(line) for _, line in lines(path) if b'"documents"' in line
        ]
        for path in sorted(data.glob("*.jsonl.gz"))
    }
    return {name: examples for name, examples in found.items() if examples}


def save_encoder(folder, words, positions, kind="BertModel", **options):
    """Write a BERT of random weights that knows some words and reads so many tokens. Its class is
    the encoder's, or another of transformers by name; options are its configuration's."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = [*dict.fromkeys([*special, ":", ".", "?", *words])]
    (folder / "vocab.txt").write_text("\n".join(known))
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    tokenizer.model_max_length = positions
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 6,
        "num_attention_heads": 2,
        "max_position_embeddings": positions,
        "vocab_size": len(known),
        "initializer_range": 0.3,
    }
    config = transformers.BertConfig(**{**sizes, **options})
    getattr(transformers, kind)(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_encoder(tmp_path_factory):
    """Makes encoders by `save_encoder`, each in a folder of its own."""
    return lambda *options, **more: save_encoder(
        tmp_path_factory.mktemp("encoder"), *options, **more
    )


@pytest.fixture
def hub_of():
    """Serves a hub on 127.0.0.1 with one repository: its address, and the files that it gave."""

    @contextmanager
    def serve(repository, files):
        given = []

        class Hub(Handler):
            def do_HEAD(self):
                self.do_GET()

            def do_GET(self):
                name = self.path.rpartition("/resolve/")[2].partition("/")[2]
                revision = "a" * 40
                rows = [
                    {"type": "file", "path": path, "size": len(content), "oid": "b" * 40}
                    for path, content in files.items()
                ]
                siblings = [{"rfilename": path} for path in files]
                about = {"id": repository, "sha": revision, "siblings": siblings}
                body = rows if "/tree/" in self.path else about
                if not self.path.startswith("/api/"):
                    body = files.get(name, b"")
                tag = hashlib.sha256(repr(body).encode()).hexdigest()
                status = 200 if repository in self.path else 404
                self.reply(status, body, ETag=f'"{tag}"', X_Repo_Commit=revision)
                if self.command == "GET":
                    given.extend({name} & files.keys())

        with served(Hub) as url:
            yield url, given

    return serve
