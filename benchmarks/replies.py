"""How many shapes of replies each part reads as a careful person does: `benchmarks/replies.jsonl`.

    python benchmarks/replies.py            # right, wrong and unread of both halves, by part
    python benchmarks/replies.py --show     # and each shape of the development half that is not

A line of the file is a part, a reply, and the value that it has to somebody who reads it with care,
null where it has none. The halves are drawn by a hash: whoever changes a reader looks at the first.
"Wrong" is another value than the person's, "unread" a value that was not read.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve import Document, Query, Segment
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import collect_step
from ragsieve_research.answer.agent import Agent, Argument
from ragsieve_research.answer.critic import Critic
from ragsieve_research.answer.parts import is_answer, plain
from ragsieve_research.answer.reasoning import Reasoning
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.score.judge import Relevance
from ragsieve_research.score.listwise import Permuting
from ragsieve_research.select.adaptive import Adaptive
from ragsieve_research.select.extract import Extract
from ragsieve_research.select.truncate import chosen
from ragsieve_research.systems.instructrag import explaining
from ragsieve_research.systems.written import Write

SHAPES = Path(__file__).with_suffix(".jsonl")
QUERY = Query("Which city is it?")
PASSAGES = [Segment.whole(Document(f"d{n}", f"Passage {n} of some words.")) for n in range(1, 9)]
TOWNS = ["Paris", "Lyon", "Paris", "Marseille"]
STATES = ["USA", "United Kingdom", "United States", "Great Britain", "France"]


def ordered(llm: ScriptedLLM) -> list[int]:
    """The order of four passages."""
    (places,) = Permuting(llm).rank([QUERY.text], [[s.text for s in PASSAGES[:4]]])
    return [place + 1 for place in places]


def verdict(llm: ScriptedLLM) -> dict[str, object]:
    """The critic's verdict on `TOWNS`."""
    judged = Critic(llm).judge(QUERY, [Argument(town) for town in TOWNS])
    return {"incorrect": [p + 1 for p in judged.incorrect], "answer": plain(judged.answer or "")}


def threshold(llm: ScriptedLLM) -> int:
    """The threshold of scores from .12 to .87, in hundredths."""
    scored = [s.scored("s", v) for s, v in zip(PASSAGES, (0.87, 0.6, 0.4, 0.12), strict=False)]
    with collect_step() as step:
        Adaptive(llm)(QUERY, scored)
    if step.unreadable:
        raise ValueError
    return round(100 * float(step.events[0]["threshold"]))


def argued(llm: ScriptedLLM) -> str:
    """An agent's answer; empty where it has none."""
    (reply,) = Agent(llm).argue([Agent(llm).argument_prompt(QUERY, PASSAGES[:1])])
    return plain(reply.answer) if isinstance(reply, Argument) and is_answer(reply.answer) else ""


READERS: dict[str, Callable[[ScriptedLLM], Any]] = {
    "yesno": lambda llm: yes_probability(llm, [()])[0] == 1,
    "rating": lambda llm: round(9 * float(Relevance(llm).scores(QUERY, PASSAGES[:1])[0]), 2),
    "k": lambda llm: chosen(llm, (), range(11)),
    "verdict": verdict,
    "duplicates": lambda llm: [
        [n + 1 for n in group] for group in Critic(llm).same(QUERY, STATES) if len(group) > 1
    ],
    "threshold": threshold,
    "clues": lambda llm: [PASSAGES.index(s) + 1 for s in Extract(llm)(QUERY, PASSAGES)],
    "order": ordered,
    "argument": argued,
    "reasoning": lambda llm: plain(Reasoning(llm).read(QUERY, PASSAGES[:1])[0].text),
    "final": lambda llm: plain(explaining(llm, "reader_rationale")(QUERY, PASSAGES[:1]).text),
    "written": lambda llm: plain(
        " ".join(s.text for s in Write(llm, "summarise")(QUERY, PASSAGES))
    ),
}


def read(part: str, reply: str) -> Any:
    """What a part reads in a reply; None where it counts it as unreadable."""
    llm = ScriptedLLM(lambda _: reply, can=frozenset({"complete"}))
    with collect_step() as step, np.errstate(invalid="ignore"):
        try:
            value = READERS[part](llm)
        except (ValueError, IndexError):  # NaN of an unknown rating, an event that is not there
            value = None
    return None if step.unreadable else value


def wanted(value: Any) -> Any:
    """A person's value, as `read` gives one."""
    if isinstance(value, dict):
        return {**value, "answer": plain(value["answer"])}
    return plain(value) if isinstance(value, str) else value


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--show", action="store_true", help="what is not right, of the first half")
    parser.add_argument("--part", help="of this part alone")
    options = parser.parse_args()
    counts: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for line in SHAPES.read_text("utf-8").splitlines():
        row = json.loads(line)
        part, reply, value = row["part"], row["reply"], wanted(row["value"])
        held = sha256(f"0 {part} {reply}".encode()).digest()[0] % 2 == 1
        if options.part not in (None, part):
            continue
        got = read(part, reply)
        kind = "right" if got == value else "unread" if got is None else "wrong"
        counts[part, held][kind] += 1
        counts["all", held][kind] += 1
        if options.show and not held and kind != "right":
            print(f"{part} {kind}: {got!r} for {value!r}: {reply!r}")
    print("part        developed on: right wrong unread   held out: right wrong unread")
    for part in dict.fromkeys(part for part, _ in counts):
        cells = [
            counts[part, held][k] for held in (False, True) for k in ("right", "wrong", "unread")
        ]
        print("{:12}{:19}{:6}{:7}{:18}{:6}{:7}".format(part, *cells))


if __name__ == "__main__":
    main()
