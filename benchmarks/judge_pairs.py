"""How often an LLM judges a reply as a person does: 22 pairs of a correct answer and a reply.

    python benchmarks/judge_pairs.py transformers:QWEN --dtype bfloat16

Half of the replies say the same in other words. Printed are those that it judges otherwise, with
how sure it is that they say the same.
"""

from __future__ import annotations

import argparse

from ragsieve import models
from ragsieve_research.evaluate.answers import AnswerJudge

PAIRS = [
    ("Who wrote Hamlet?", "William Shakespeare", "Shakespeare wrote Hamlet.", True),
    ("When was the bridge opened?", "1885", "It was opened in the year 1885.", True),
    ("What is the capital of Norway?", "Oslo", "The capital is Oslo.", True),
    ("How long is it?", "240 metres", "It is 240 m long", True),
    ("Who sang it?", "Seals and Crofts", "Seals & Crofts", True),
    ("Where was she born?", "New York City", "She was born in NYC, in the Bronx.", True),
    ("How many people live there?", "2.1 million", "About 2,100,000 people.", True),
    ("When did it happen?", "12 March 1990", "March 12th, 1990", True),
    ("Which team won?", "Manchester United", "Man United won the match 2-1.", True),
    ("What is it made of?", "iron", "The tower is made of wrought iron lattice.", True),
    ("Is it open on Sundays?", "no", "No, it is closed on Sundays.", True),
    ("Who wrote Hamlet?", "William Shakespeare", "Christopher Marlowe", False),
    ("When was the bridge opened?", "1885", "In 1931.", False),
    ("What is the capital of Norway?", "Oslo", "Bergen is the capital.", False),
    ("Who sang it?", "Seals and Crofts", "The Beatles", False),
    ("Where was she born?", "New York City", "She was born in Boston.", False),
    ("How many people live there?", "2.1 million", "About 3 million people.", False),
    ("When did it happen?", "12 March 1990", "It happened in March 1991.", False),
    ("Which team won?", "Manchester United", "Manchester City", False),
    ("Who sang it?", "Seals and Crofts", "Either Seals and Crofts, the Beatles or Abba.", False),
    ("Is it open on Sundays?", "no", "Yes, from ten to five.", False),
    ("Who was her father?", "Henry VIII", "Her father was a king of England.", False),
]


def main() -> None:
    """Print what is judged otherwise, and how many are not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("llm", help="the judge, as `ragsieve bench --judge` takes it")
    parser.add_argument("--dtype", help="of a local model, as bfloat16")
    options = parser.parse_args()
    judge = AnswerJudge(models.load(options.llm, **({"dtype": d} if (d := options.dtype) else {})))
    right = 0
    for question, answer, reply, same in PAIRS:
        sure = judge(question, reply, [answer])
        right += (sure >= 0.5) == same
        if (sure >= 0.5) != same:
            print(f"{sure:.2f} {question} {answer} | {reply}", flush=True)
    print(f"{right} of {len(PAIRS)} judged as by a person")


if __name__ == "__main__":
    main()
