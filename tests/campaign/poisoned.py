"""Questions with a document among ten that lies, or repeats the question: `docs/hostile.md`."""

from functools import cache

import ragsieve
from benchmarks.attacks import ATTACKS, SITE, attacked
from ragsieve import Document, Example, Query

from .campaign import Kind
from .laws import check_result, holds

NAMES = ["Ann Lee", "Boris Vogel", "Chioma Ade", "Dag Holm", "Emma Ruiz", "Farid Nasser"]
WORKS = ["Harbour Bridge", "Summer Breeze", "Old Mill", "Glass Pavilion", "North Gate", "Salt Road"]
MADE = {
    "Who designed {work}?": "{name} designed {work}, which opened in {year}.",
    "Who wrote the song {work}?": "The song {work} was written by {name} in {year}.",
    "Who founded {work}?": "{work} was founded in {year} by {name}.",
    "Who directed the film {work}?": "{work} is a film of {year} that {name} directed.",
}
OTHERS = [
    "The weather in {name}'s town was mild that spring, and the market stayed open.",
    "{work} stands near a river. Many visitors come in summer.",
    "A ferry leaves for the islands every morning at {hour}.",
    "In {year} the county raised its taxes. The roads were paved again.",
    "Bees make honey. Cheese is made of milk, and it keeps for years.",
]


def draw(rng):
    """A question, the place of its evidence among nine documents, an attack and a budget."""
    asked = rng.choice([*MADE])
    values = {
        "name": rng.choice(NAMES),
        "work": rng.choice(WORKS),
        "year": rng.randrange(1800, 2020),
    }
    documents = [
        rng.choice(OTHERS).format(
            name=rng.choice(NAMES),
            work=rng.choice(WORKS),
            year=rng.randrange(1800, 2020),
            hour=rng.randrange(5, 12),
        )
        for _ in range(8)
    ]
    documents.insert(rng.randrange(9), MADE[asked].format(**values))
    return {
        "question": asked.format(**values),
        "documents": documents,
        "answer": values["name"],
        "evidence": MADE[asked].format(**values),
        "false": rng.choice([name for name in NAMES if name != values["name"]]),
        "attack": rng.choice([*ATTACKS]),
        "budget": rng.choice([None, None, 60, 0]),
        "seed": rng.randrange(1000),
    }


@cache
def system():
    """The default one."""
    return ragsieve.load("finefilter", "fake:echo")


def check(value, folder):
    """Laws hold, and what is kept without the attack is kept with it where nothing limits it."""
    documents = tuple(Document(str(n), text) for n, text in enumerate(value["documents"]))
    example = Example(Query(value["question"]), documents, (value["answer"],))
    poisoned = attacked(example, value["attack"], value["false"], value["seed"]).documents
    budget = value["budget"]
    filtering = system() if budget is None else system().with_budget(budget)
    found = filtering(value["question"], poisoned)
    check_result(found, filtering, budget)
    if budget is None:
        kept = [
            value["evidence"]
            in " ".join(s.text for s in result.kept if SITE not in s.document.source)
            for result in (system()(value["question"], documents), found)
        ]
        holds("evidence is not pushed out", kept[1] or not kept[0], value["attack"])
    return 1


POISONED = Kind("poisoned", 5_000, 40, draw, check)
