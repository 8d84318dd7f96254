"""How often a question reaches the right endpoint with the right entity, on CRAG's recorded calls.

    python experiments/api_linking.py [FOLDER] [--rules]

Each recorded call of the mock API (``crag_mock_api.jsonl.gz`` in FOLDER) is asked for as people
write, and once more in small letters throughout, as CRAG's questions are; the questions of
``OTHERS`` name what was not recorded. The server is simulated: its searches return names that share
a word with what is asked, nearest first. All five domains are one API.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from ragsieve.run.questions import lines
from ragsieve.text import words
from ragsieve.types import Query
from ragsieve_research.retrieve.apis.api import crag
from ragsieve_research.retrieve.apis.entities import Entities, Rules
from ragsieve_research.retrieve.records import Records

CALLS = [  # question, recorded call, its argument
    ("How many people live in Florida City, Florida?", "open/get_entity", "Florida City, Florida"),
    ("What is Florida City, Florida known for?", "open/get_entity", "Florida City, Florida"),
    ("In which films did the actor Jackson play?", "movie/get_person_info", "Jackson"),
    ("Who starred in the film Rings?", "movie/get_movie_info", "Rings"),
    ("Which Oscars were awarded in 1992?", "movie/get_year_info", "1992"),
    ("Which film has the movie id 100?", "movie/get_movie_info_by_id", "100"),
    ("Which actor has the person id 100?", "movie/get_person_info_by_id", "100"),
    ("What was the price of META on March 1, 2023?", "finance/get_price_history", "META"),
    ("How much did Meta close at on February 28, 2023?", "finance/get_price_history", "META"),
    ("What did META cost by the minute?", "finance/get_detailed_price_history", "META"),
    ("Which dividend did Meta pay?", "finance/get_dividends_history", "META"),
    ("What is the market cap of Meta Platforms?", "finance/get_market_capitalization", "META"),
    ("Market cap of META?", "finance/get_market_capitalization", "META"),
    ("What is the EPS of Meta?", "finance/get_eps", "META"),
    ("What are META's earnings per share?", "finance/get_eps", "META"),
    ("What is the P/E ratio of Meta?", "finance/get_pe_ratio", "META"),
    ("Who is the CEO of Meta?", "finance/get_info", "META"),
    ("Where is Meta Platforms headquartered?", "finance/get_info", "META"),
    ("Which song was number 1 on Billboard on 2024-02-28?", "music/get_billboard_rank_date", "1"),
    (
        "How many weeks had Texas Hold 'Em been in the chart on February 28, 2024?",
        "music/get_billboard_attributes",
        "Texas Hold 'Em",
    ),
    ("Who was the best new artist of 1998?", "music/grammy_get_best_artist_by_year", "1998"),
    ("Which was the song of the year in 1998?", "music/grammy_get_best_song_by_year", "1998"),
    ("Which was the album of the year 1998?", "music/grammy_get_best_album_by_year", "1998"),
    ("How many Grammys has Adele won?", "music/grammy_get_award_count_by_artist", "Adele"),
    ("In which years did Adele win a Grammy?", "music/grammy_get_award_date_by_artist", "Adele"),
    (
        "How many Grammys did the song I Can Feel It win?",
        "music/grammy_get_award_count_by_song",
        "I Can Feel It",
    ),
    ("List all the best new artists", "music/grammy_get_all_awarded_artists", ""),
    ("Which country does Adele come from?", "music/get_artist_birth_place", "Adele"),
    ("When was Adele born?", "music/get_artist_birth_date", "Adele"),
    ("How old is Adele?", "music/get_artist_birth_date", "Adele"),
    ("Who are the members of Maroon 5?", "music/get_members", "Maroon 5"),
    ("Who is the drummer of Maroon 5?", "music/get_members", "Maroon 5"),
    ("Is Adele alive?", "music/get_lifespan", "Adele"),
    ("Who wrote I Can Feel It?", "music/get_song_author", "I Can Feel It"),
    (
        "In which country did I Can Feel It appear?",
        "music/get_song_release_country",
        "I Can Feel It",
    ),
    ("When was I Can Feel It released?", "music/get_song_release_date", "I Can Feel It"),
    ("Which albums has Adele recorded?", "music/get_artist_all_works", "Adele"),
    ("How did Everton play on March 9, 2024?", "sports/soccer/get_games_on_date", "Everton"),
    ("Which soccer games were on March 1, 2024?", "sports/soccer/get_games_on_date", "2024-03-01"),
    ("Did the Bulls win on October 11, 2022?", "sports/nba/get_games_on_date", "Chicago Bulls"),
    ("Which NBA games were on October 11, 2022?", "sports/nba/get_games_on_date", "2022-10-11"),
    (
        "What happened in NBA game 0012200049?",
        "sports/nba/get_play_by_play_data_by_game_ids",
        "0012200049",
    ),
]
OTHERS = [
    ("Who is the CEO of Apple?", "finance/get_info", "AAPL"),
    ("What is the EPS of Apple?", "finance/get_eps", "AAPL"),
    ("What is the EPS of AAPL?", "finance/get_eps", "AAPL"),
    ("Market cap of Target?", "finance/get_market_capitalization", "TGT"),
    ("How much did Funko open at today?", "finance/get_price_history", "FNKO"),
    ("When was Tom Hanks born?", "movie/get_person_info", "Tom Hanks"),
    ("Which company has more employees, Apple or Target?", "finance/get_info", "TGT"),
]
COMPANIES = {
    "Apple Inc. Common Stock": "AAPL",
    "Apple Hospitality REIT Inc. Common Shares": "APLE",
    "Meta Platforms Inc. Class A Common Stock": "META",
    "Target Corporation Common Stock": "TGT",
    "Funko Inc. Class A Common Stock": "FNKO",
    "Inflection Point Acquisition Corp. II Unit": "IPXXU",
    "Opendoor Technologies Inc Common Stock": "OPEN",
    "Best Buy Co. Inc. Common Stock": "BBY",
}
PEOPLE = ["Tom Hanks", "Colin Hanks", "Tom Holland"]
_SEARCHES = ("movie/get_person_info", "movie/get_movie_info")


class Server:
    """The mock API, as far as it was recorded; keeps what it is asked."""

    def __init__(self, recorded: Path) -> None:
        names: dict[str, list[str]] = {"company": [*COMPANIES], "person": [*PEOPLE]}
        self._replies: dict[str, Any] = {}
        kinds = {"open": "open", "artist": "artist", "song": "song"}
        for _, line in lines(recorded):
            record = json.loads(line)
            result, call = record["response"]["result"], record["call"]
            self._replies.setdefault(call, record["response"])
            kind = next((k for word, k in kinds.items() if f"{word}_entity" in call), "")
            kind = "open" if call == "open_search_entity_by_name" else kind
            if kind:
                names.setdefault(kind, []).extend(result)
            for key, part in (("name", "person"), ("title", "film")):
                if call.endswith(f"{'person' if part == 'person' else 'movie'}_info"):
                    names.setdefault(part, []).extend(r[key] for r in result)
        names["artist"] += ["Adele", "Maroon 5", "Maroon", "Hanks", "Who", "Grammy"]
        names["song"] += ["Texas Hold 'Em", "Texas", "Hello", "Alive"]
        names["open"] += ["Adele", "Maroon 5", "Everton F.C.", "Tom Hanks", "Apple Inc.", "Target"]
        self._names = names
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def post_json(self, path: str, body: Mapping[str, Any], /) -> Any:
        """The names that a search finds, a ticker, or the answer recorded of such a call."""
        path, query = path.strip("/"), str(body.get("query", ""))
        if path == "finance/get_ticker_by_name":
            return {"result": COMPANIES.get(query)}
        if path == "finance/get_company_name":
            return {"result": self._found("company", query)}
        for kind in ("open", "artist", "song"):
            if path.endswith(f"search_{kind}_entity_by_name") or (
                kind == path.partition("/")[0] and "search" in path
            ):
                return {"result": self._found(kind, query)}
        self.asked.append((path, dict(body)))
        if path in _SEARCHES:
            kind, key = ("person", "name") if "person" in path else ("film", "title")
            fields = {"birthday": "1956-07-09", "release_date": "1994-06-23"}
            return {"result": [{key: name, **fields} for name in self._found(kind, query)]}
        known = query == query.upper() or not path.startswith("finance")
        return self._replies[path.replace("/", "_")] if known else {"result": None}

    get_json = post_json

    def _found(self, kind: str, query: str) -> list[str]:
        asked = {*words(query)}
        shared = [name for name in self._names[kind] if asked & {*words(name)}]
        return sorted(shared, key=lambda name: -fuzz.ratio(name.lower(), query.lower()))[:10]


def is_right(found: Sequence[Mapping[str, Any]], endpoint: str, entity: str) -> bool:
    """Whether one of the calls is of ``endpoint``, about ``entity``."""
    return any(
        call["path"] == endpoint
        and (not entity or entity.lower() in str([*call["arguments"].values()]).lower())
        for call in found
    )


def measured(server: Server, entities: Entities, lower: bool) -> tuple[int, int, list[str]]:
    """How many questions reach what they should, how many calls that took, and the others."""
    right, calls, missed = 0, 0, []
    api = crag()
    source = Records(api, server, entities=entities)
    for question, endpoint, entity in (*CALLS, *OTHERS):
        asked = question.lower() if lower else question
        found = [
            {"path": api[fields["endpoint"]].path.strip("/"), "arguments": fields["arguments"]}
            for fields in (segment.document.metadata for segment in source(Query(asked)))
        ]
        calls += len(found)
        if is_right(found, endpoint, entity):
            right += 1
        else:
            missed.append(f"{asked} -> {[(f['path'], *f['arguments'].values()) for f in found]}")
    return right, calls, missed


def main() -> None:
    """Print both forms' share of right questions, and the questions that went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="../shared/data", type=Path)
    parser.add_argument("--rules", action="store_true", help="entities by rules alone")
    options = parser.parse_args()
    entities: Entities = Rules()
    if not options.rules:
        from ragsieve_research.retrieve.apis.ner import Spacy

        entities = Spacy()
    total = len(CALLS) + len(OTHERS)
    for lower in (False, True):
        server = Server(options.folder / "crag_mock_api.jsonl.gz")
        right, calls, missed = measured(server, entities, lower)
        print(f"{'small letters' if lower else 'as written'}: {right} of {total} right", end=" ")
        print(f"({right / total:.0%}), {calls / total:.1f} records a question")
        print(*(f"  {line}" for line in missed), sep="\n")


if __name__ == "__main__":
    main()
