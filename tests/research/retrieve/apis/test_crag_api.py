"""The bundled tables of CRAG's mock API, against answers that are replayed."""

import json
from pathlib import Path

import pytest

from ragsieve import InputError, Query
from ragsieve.run.questions import lines
from ragsieve.trace import Trace, step
from ragsieve_research.retrieve.apis.api import DOMAINS, crag
from ragsieve_research.retrieve.apis.entities import Rules
from ragsieve_research.retrieve.apis.sentences import render
from ragsieve_research.retrieve.records import Records


def ask(http, question, api):
    return Records(api, http, entities=Rules())(Query(question))


def test_the_bundled_tables_are_whole():
    """Five domains, together or one by one."""
    assert [("crag", 45)] == [(crag().name, len(crag().endpoints))]
    assert list(DOMAINS) == [crag(domain).name for domain in DOMAINS]
    with pytest.raises(InputError, match="domains must be among"):
        crag("weather")


@pytest.mark.parametrize(
    "answer",
    [None, 5, "text", [], [None], [[]], {}, {"a": None}, {"a": {"b": []}}, [{"name": 5}], True],
)
def test_no_answer_crashes_a_bundled_template(answer):
    """What does not fit is written by rules; no template prints what is no value."""
    arguments = ("query", "date", "team_name", "rank", "song_name", "game_ids")
    seen = {"reply": answer, "args": dict.fromkeys(arguments, "X"), "name": "X", "names": {}}
    for endpoint in crag().endpoints:
        try:
            text = render(endpoint.template, {**seen, "dates": ["2001-02-03"]})
        except InputError as error:
            text = str(error)

        assert "<" not in text.replace("<class", "")


class Replaying:
    """Answers by path and body, and keeps the paths that it is asked for."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def post_json(self, path, body, /):
        self.asked.append(path)
        return self.answers.get((path, key(body)), {"result": None})


def key(body):
    """Arguments as the server compares them: without regard to case, order and type."""
    return json.dumps({name: str(value).lower() for name, value in body.items()}, sort_keys=True)


def reply(path, result, **body):
    return (path, key(body)), {"result": result}


GAME = {"game_date": {"0": "2001-02-03 00:00:00"}, "team_name_home": {"0": "Utah Jazz"}}
GAME |= {"team_name_away": {"0": "Miami Heat"}}
OWN = dict(
    [
        reply("/finance/get_company_name", ["Quill Corp. Common Stock", "Quiller"], query="Quill"),
        reply("/finance/get_ticker_by_name", "QLL", query="Quill Corp. Common Stock"),
        reply("/finance/get_market_capitalization", 1234567.5, query="QLL"),
        reply("/movie/get_movie_info", [{"title": "Mud"}], query="Red Mud"),
        reply("/music/search_artist_entity_by_name", ["Dov Tallis"], query="Dov Tallis"),
        reply("/music/get_artist_birth_date", "1971-02-03", query="Dov Tallis"),
        reply("/open/search_entity_by_name", ["Dov Tallis"], query="Dov Tallis"),
        reply("/open/get_entity", {"summary_text": "A [[bass|bassist]]."}, query="Dov Tallis"),
        reply("/sports/nba/get_games_on_date", GAME, date="2001-02-03", team_name="Utah Jazz"),
    ]
)


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        (
            "What is the market cap of Quill?",
            ["The market capitalisation of Quill Corp. Common Stock (QLL) is 1,234,567.5"],
        ),
        (
            "When was Dov Tallis born?",
            ["Dov Tallis was born, or formed, on 1971-02-03.", "A bassist."],
        ),
        ("Who directed the film Red Mud?", []),
        ("Who won, the Utah Jazz or another, on February 3, 2001?", ["On 2001-02-03, Utah Jazz"]),
    ],
)
def test_the_bundled_tables_ask_what_fits(question, texts):
    """Company names become tickers, titles must match, teams are known by name."""
    found = ask(Replaying(OWN), question, crag())

    assert texts == [segment.text[: len(text)] for segment, text in zip(found, texts, strict=True)]


TABLE = Path(__file__).with_name("crag_calls.tsv").read_text(encoding="utf-8")
CALLS = [line.split("\t") for line in TABLE.splitlines()]  # a recorded call, a question for it
ARGUMENTS = {
    "get_billboard_rank_date": ("rank", "date"),
    "get_billboard_attributes": ("date", "attribute", "song_name"),
    "get_games_on_date": ("date", "team_name"),
    "get_play_by_play_data_by_game_ids": ("game_ids",),
}


def path_of(call):
    """The server's path of a recorded call: ``/sports/nba/get_games_on_date``."""
    domain, _, rest = call.partition("_")
    part, _, name = rest.partition("_")
    return f"/sports/{part}/{name}" if domain == "sports" else f"/{domain}/{rest}"


@pytest.fixture(scope="module")
def recorded(data):
    """The recorded answers by path and body, and searches for the names that calls mention."""
    answers = {}
    searches = ["open/search_entity_by_name", "finance/get_company_name"]
    searches += [f"music/search_{kind}_entity_by_name" for kind in ("artist", "song")]
    for _, line in lines(data / "crag_mock_api.jsonl.gz"):
        record = json.loads(line)
        path, arguments = path_of(record["call"]), record["args"]
        names = ARGUMENTS.get(path.rpartition("/")[2], ("query",))
        answers[path, key(dict(zip(names, arguments, strict=False)))] = record["response"]
        for search in searches:
            if arguments and isinstance(arguments[-1], str):
                found = reply(f"/{search}", [arguments[-1]], query=arguments[-1].partition(",")[0])
                answers.setdefault(*found)
    films = next(v for (path, _), v in answers.items() if path == "/movie/get_movie_info")
    answers["/movie/get_movie_info", key({"query": "Rings"})] = films
    return answers


@pytest.mark.data
@pytest.mark.parametrize(("call", "question"), CALLS)
def test_recorded_answers_are_told_by_their_templates(recorded, call, question):
    """The question calls the endpoint, and each answer fits its template."""
    http = Replaying(recorded)
    with Trace().recording(), step("records") as record:
        found = ask(http, question, crag(call.partition("_")[0]))

    assert path_of(call) in http.asked
    assert path_of(call) in {s.document.source.split()[1] for s in found}
    assert [] == [note for note in record.notes if "by rules" in note or "failed" in note]
    assert all(segment.text[-1] in ".!?" for segment in found)
