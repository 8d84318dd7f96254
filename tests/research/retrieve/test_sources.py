"""Sources by a TOML file."""

import json
import time

import pytest

from ragsieve import Document, InputError, Query
from ragsieve.models.fake import HashingEmbedder
from ragsieve_research.retrieve.indexes import IndexOptions, create_index
from ragsieve_research.retrieve.route import nothing
from ragsieve_research.retrieve.sources import read_sources, sources_content

PAGE = "<html><body><p>Bees make honey in the summer.</p></body></html>"
HEAD = '[[sources]]\nname = "a"\n'
MEMORY, PAGES, INDEX, PASSAGES, API = (
    f'{HEAD}kind = "{kind}"\n' for kind in ("memory", "pages", "index", "passages", "api")
)
CRAG = API + 'api = "crag"\nurl = "http://a"\n'


def load(name):
    """No source of these tests needs another model."""
    return {"fake:hashing": HashingEmbedder()}[name]


def read(folder, text):
    path = folder / "sources.toml"
    path.write_text(text)
    return read_sources(path, load)


def test_memory_and_pages(tmp_path):
    """Paths count from the file's folder; HTML is a page, JSONL one a line."""
    (tmp_path / "bees.html").write_text(PAGE)
    line = {"html": PAGE.replace("Bees", "Wasps"), "url": "https://x.org/w", "id": "w"}
    (tmp_path / "more.jsonl").write_text(json.dumps(line) + "\n")
    memory, web = read(
        tmp_path,
        '[[sources]]\nname = "memory"\nkind = "memory"\n'
        '[[sources]]\nname = "web"\nkind = "pages"\nfiles = ["bees.html", "more.jsonl"]\n'
        'description = "Insects."\ntimeout_s = 2.5\n',
    )

    assert (nothing, None) == (memory.search, memory.timeout_s)
    assert "What the model itself knows: general knowledge." == memory.description
    assert ("Insects.", 2.5) == (web.description, web.timeout_s)
    found = web.search(Query("Who makes honey?"))
    assert ["bees.html", "w"] == [s.document.id for s in found]
    assert "Bees make honey in the summer." == found[0].text.strip()


def test_pages_of_folders_and_patterns(tmp_path):
    """By name, each once; pages of one name in two folders are told apart; other files are none."""
    for place in ("a/x.html", "a/deep/y.HTM", "b/x.html", "a/notes.txt"):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.replace("Bees", place.replace("/", " ").replace(".", " ")))
    table = PAGES + 'files = ["a", "*/x.html"]\n'
    (web,) = read(tmp_path, table)
    before = sources_content(tmp_path / "sources.toml")
    (tmp_path / "a" / "z.html").write_text(PAGE)

    found = web.search(Query("Who makes honey?"))
    assert ["a/deep/y.HTM", "a/x.html", "b/x.html"] == [s.document.id for s in found]
    assert before != sources_content(tmp_path / "sources.toml")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('<meta charset="iso-8859-1"><p>Caf\u00e9 \u201chalf\u201d honey', "cp1252"),
        ("<meta http-equiv=x content='text/html; charset=Shift_JIS'><p>\u8702\u871c honey", "sjis"),
        ('<meta charset="utf-8"><p>Caf\u00e9 honey', "utf-8"),
        ("<p>Caf\u00e9 honey", "utf-16"),
    ],
)
def test_pages_are_read_in_their_charset(tmp_path, text, encoding):
    """As they declare it, and as browsers take it."""
    (tmp_path / "a.html").write_bytes(text.encode(encoding))
    (web,) = read(tmp_path, PAGES + 'files = ["a.html"]\n')

    assert [text.partition("<p>")[2]] == [s.text for s in web.search(Query("honey"))]


def test_only_an_api_has_a_clock_by_itself(tmp_path):
    """What computes here may wait for a local model that writes, however long that takes."""
    (tmp_path / "a.html").write_text(PAGE)
    api = '[[sources]]\nname = "b"\nkind = "api"\napi = "crag"\nurl = "http://x"\n'
    text = f'{PAGES}files = ["a.html"]\n{api}entities = "rules"\n'
    local, remote = read(tmp_path, text)

    assert (None, 20.0) == (local.timeout_s, remote.timeout_s)


def test_pages_are_read_before_a_question(tmp_path):
    """Which takes none of its time: this page takes long."""
    (tmp_path / "a.html").write_text("<p>" + "a & " * 50_000)
    began = time.monotonic()
    (web,) = read(tmp_path, PAGES + 'files = ["a.html"]\n')
    done = time.monotonic()
    web.search(Query("Who makes honey?"))

    assert time.monotonic() - done < (done - began) / 3


def test_passages_of_questions(tmp_path):
    """A file beside the sources', or a data set by its name; of one source where it says so."""
    documents = [{"id": "n", "text": "Bees.", "source": "news"}, {"id": "w", "text": "Wasps."}]
    line = {"question": "Who makes honey?", "documents": documents}
    (tmp_path / "mine.jsonl").write_text(json.dumps(line) + "\n")
    news, both, sample = read(
        tmp_path,
        PASSAGES + 'questions = "mine.jsonl"\nonly = "news"\n'
        '[[sources]]\nname = "b"\nkind = "passages"\nquestions = "mine.jsonl"\n'
        '[[sources]]\nname = "c"\nkind = "passages"\nquestions = "sample"\n',
    )
    asked = Query("Who makes honey?")

    assert ["n"] == [s.document.id for s in news.search(asked)]
    assert ["n", "w"] == [s.document.id for s in both.search(asked)]
    assert [] == sample.search(asked)


def test_content_changes_with_any_file(tmp_path):
    """So records of other sources are not taken for these; what is wrong is known before it."""
    (tmp_path / "a.html").write_text(PAGE)
    table = PAGES + 'files = ["a.html"]\n'
    read(tmp_path, table)
    path = tmp_path / "sources.toml"
    before, again = sources_content(path), sources_content(path)
    (tmp_path / "a.html").write_text(PAGE + " ")
    page = sources_content(path)
    read(tmp_path, table + 'description = "Insects."\n')

    described = sources_content(path)
    (tmp_path / "a.toml").write_text('name = "x"\n')
    path.write_text(API + 'api = "a.toml"\nurl = "http://a"\n')
    api = sources_content(path)
    (tmp_path / "a.toml").write_text('name = "y"\n')

    assert before == again
    assert 5 == len({before, page, described, api, sources_content(path)})

    (tmp_path / "sources.toml").write_text(PAGES + 'files = ["no.html"]\n')

    with pytest.raises(InputError, match=r"sources\.toml, source 'a': .*no\.html cannot be read"):
        sources_content(tmp_path / "sources.toml")


def test_an_index(tmp_path):
    """It is searched as the table says; its embedder is loaded by the caller."""
    index = create_index(tmp_path / "i", IndexOptions(embedder="none", chunks="whole"))
    index.add([Document("1", "Bees make honey."), Document("2", "Honey is sold.")])
    index.close()
    (source,) = read(tmp_path, INDEX + 'folder = "i"\nk = 1\n')

    assert ["1"] == [s.document.id for s in source.search(Query("Who make honey? Bees?"))]


def test_an_api_with_a_key_from_the_environment(tmp_path, monkeypatch):
    """A bundled description says what it holds; no key shows."""
    monkeypatch.setenv("MY_KEY", "s3cret")
    (source,) = read(
        tmp_path,
        API + 'api = "crag:movie"\nurl = "http://127.0.0.1:9"\n'
        'entities = "rules"\nallow_private = true\nheaders = { authorization = "env:MY_KEY" }\n'
        "timeout_s = 3\n",
    )

    assert 1.5 == source.search.http.timeout_s
    assert "" != source.description
    assert "s3cret" not in repr(source.search)
    assert "s3cret" == source.search.http.headers["authorization"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[sources]\n", "sources.toml must be TOML: "),
        ("x = 1\n", "x is not known; known are sources"),
        (
            HEAD + 'kind = "web"\n',
            "kind must be one of index, pages, passages, api, memory, got 'web'",
        ),
        (
            '[[sources]]\nkind = "memory"\nname = "a\\u001b[31m\\n"\n',
            r"name must be printable and not blank, got 'a\\x1b\[31m\\n'",
        ),
        (INDEX + 'folder = "none"\n', "none holds no index"),
        (MEMORY + "timeout_s = nan\n", "timeout_s must be over 0 and at most 86,400"),
        (MEMORY + f"timeout_s = {'1' * 5000}\n", "must be TOML: "),
        (f"sources.{'a.' * 3000}a = 1\n", "must be TOML: "),
        (PAGES + 'files = ["a\\u0000"]\n', "files\\[0\\] must be text without NUL"),
        (PAGES + "files = []\n", r"files must be names of files, folders or patterns, got \[\]"),
        (PAGES + 'files = ["no.html"]\n', "source 'a': .*no.html cannot be read"),
        (
            CRAG + 'entities = "rules"\nheaders = { key = "env:NOT_SET_ANYWHERE" }\n',
            "headers.key needs the environment variable NOT_SET_ANYWHERE, not set",
        ),
        (2 * (MEMORY), "names of sources must differ, got 'a' twice"),
    ],
)
def test_what_is_wrong_is_one_line_with_table_and_key(tmp_path, text, message):
    """And the file's name in front."""
    with pytest.raises(InputError, match=message) as raised:
        read(tmp_path, text)

    assert str(raised.value).startswith(str(tmp_path / "sources.toml"))
    assert "\n" not in str(raised.value)
