"""What programs print of their objects, in eight languages."""

import pytest

from ragsieve.structure import joined

PLACES = ["The library was moved to the station", "A storm took the roof of the church"]
PRINTED = {
    "LangChain": "Document(metadata={{'source': 'p{n}.md'}}, page_content='{text} (1953).')",
    "a dataclass": "Place(id={n}, kind=Kind.BARN, seen=datetime.date(2024, 5, 1), text='{text}')",
    "Java": "Place{{id={n}, name=Place {n}, text={text}}}",
    "Ruby": '{{:id=>{n}, "text"=>"{text}", :seen=>nil}}',
    "Node.js": "{{\n  _id: ObjectId('65f0{n}'), // of MongoDB\n  text: '{text}',\n}}",
    "Elixir": '%{{id: {n}, text: "{text}"}}',
    "Rust": 'Place {{\n  id: {n},\n  text: "{text}",\n  seen: Some(\n    4,\n  ),\n}}',
    "Lua": '{{ id = {n}, text = "{text}" }}',
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_programs_print_of_their_objects_is_read(name):
    """A record is kept whole, of a list in the brackets of each language."""
    rows = [PRINTED[name].format(n=n, text=PLACES[n % 2]) for n in range(6)]
    opens, closes = ("{\n", "\n}") if name == "Lua" else ("[", "]")
    text = f"{opens}{', '.join(rows)}{closes}"
    place = text.index(rows[3])

    kept = joined(text, [(place, place + len(rows[3]))])

    assert kept.startswith(f"{opens}{rows[3]},")
    assert kept.endswith(f'"… 1 of 6 shown"{closes}')
