"""A kept span is the same after it was cited: blocks and annotations, and back."""

import pytest

import ragsieve
from ragsieve import InputError
from ragsieve.integrations.citations import anthropic, cited, langchain, openai

TEXTS = [
    {"id": "a", "title": "Rain", "source": "https://a.example", "text": "It rained. 😀 Rain fell."},
    "It rained. It was cold, and rain fell on us. Nobody sang.",
    "Rome is a city.",
    '{"weather": [{"day": 1, "rain": "fell"}, {"day": 2, "sun": "shone"}]}',
]


@pytest.fixture(params=["all", "top-sentences"])
def result(request):
    """Of two documents two spans each, or of all one."""
    options = {"k": 5} if request.param == "top-sentences" else {}
    system = ragsieve.load(request.param, "fake:echo", "fake:hashing", options=options)
    return system("When has rain fell?", TEXTS)


def place_of(number, start, end):
    place = {"search_result_index": number, "start_block_index": start, "end_block_index": end}
    return {"type": "search_result_location", **place}


def located(blocks):
    """A model's citation of each text of each block."""
    return [
        {
            **place_of(number, place, place + 1),
            **{"cited_text": part["text"], "source": block["source"], "title": block["title"]},
        }
        for number, block in enumerate(blocks)
        for place, part in enumerate(block["content"])
    ]


def test_anthropics_blocks_are_places_in_documents(result):
    """A document a block, a kept span a text: each is cited by itself, or with the next one."""
    blocks = anthropic(result)
    citations = located(blocks)
    spans = [span for citation in citations for span in cited(result, citation)]

    assert set(result.kept) == set(spans)
    assert [span.text for span in spans] == [one["cited_text"] for one in citations]
    assert all(s.text == s.document.text[s.start : s.end] for s in spans)
    assert [s.document.source or s.document.id for s in spans] == [c["source"] for c in citations]
    whole = {**citations[0], "end_block_index": len(blocks[0]["content"])}
    assert blocks[0]["content"] == [{"type": "text", "text": s.text} for s in cited(result, whole)]


def test_anthropics_types_take_the_blocks(result):
    """As its client checks them; what it reads of a reply names the same spans."""
    types = pytest.importorskip("anthropic").types
    pydantic = pytest.importorskip("pydantic")
    blocks = anthropic(result)
    read = pydantic.TypeAdapter(list[types.SearchResultBlockParam]).validate_python(blocks)
    replies = [types.CitationsSearchResultLocation(**one) for one in located(blocks)]

    assert blocks == [{**one, "content": [*one["content"]]} for one in read]
    for reply in replies:
        assert reply.cited_text == cited(result, reply.model_dump())[0].text


def test_langchains_and_openais_citations_are_places_in_text_and_document(result):
    """In their types and back; the text before the index ends in the span."""
    made = openai(result)
    annotation = pytest.importorskip("openai.types.responses.response_output_text")
    read = [annotation.AnnotationFileCitation(**one).model_dump() for one in made]

    assert made == read
    assert [[span] for span in result.kept] == [cited(result, one) for one in read]
    assert all(result.text[: one["index"]].endswith(one["text"]) for one in read)

    messages = pytest.importorskip("langchain_core.messages")
    made = langchain(result)
    block = {"type": "text", "text": result.text, "annotations": made}
    (read,) = messages.AIMessage(content=[block]).content_blocks

    assert made == read["annotations"]
    assert [[span] for span in result.kept] == [cited(result, one) for one in read["annotations"]]
    for one in made:
        assert one["cited_text"] == result.text[one["start_index"] : one["end_index"]]
    assert "https://a.example" in [one.get("url") for one in made]


def test_a_span_shown_otherwise_has_no_place_in_the_text():
    """What is kept of JSON stands under its keys; it is a place in the document all the same."""
    system = ragsieve.load("finefilter", "fake:echo", pruner="fake:pruner")
    result = system("sun shone?", TEXTS[3:])
    made = langchain(result)

    assert made and [[s] for s in result.kept] == [cited(result, one) for one in made]
    for one in made:
        shown = result.text[one.get("start_index", 0) : one.get("end_index", 0)]
        assert shown in ("", one["cited_text"])


@pytest.mark.parametrize(
    "citation",
    [
        {},
        {"type": "file_citation", "file_id": "a", "start": 0, "end": 1},
        {"type": "citation", "extras": {"ragsieve": None}},
        *(
            place_of(*place)
            for place in (
                *((9, 0, 1), (-1, 0, 1), (0, -1, 1), (0, 9, 10), (0, 1, 1)),
                *((0, 0, 99), (0, 0, -1), (0, 0, None)),
            )
        ),
    ],
    ids=str,
)
def test_a_citation_of_nothing_kept_is_an_error(result, citation):
    """Not the nearest span."""
    with pytest.raises(InputError, match="citation must name kept spans"):
        cited(result, citation)


def test_a_place_is_in_the_documents_own_text():
    """Neither in its title nor in another one, though the same words stand there."""
    json = '{"rules": [{"day": "1 May", "fee": "20 cents"}], "note": "fee of May: 20 cents"}'
    quoted = f"Write {json[json.index('note') :]} where the fee of May is asked for."
    titled = {"title": "The fee is 9.", "text": "The fee is 9. Rome is far."}
    system = ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 9})
    result = system("What is the fee of May?", [json, quoted, titled])
    places = [(c.get("start_index"), c.get("end_index")) for c in langchain(result)]
    texts = [result.text[a:b] for a, b in places if a is not None]

    assert result.text.index("Write") == places[-3][0]
    assert [s.text for s in result.kept][-3:] == texts[-3:]
    assert result.text.index(": The fee") + 2 == places[-2][0]
