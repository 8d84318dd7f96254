"""Results of tools: which are cut, by which rule, for which question, and the same each time."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragsieve import load
from ragsieve.adapter import Adapter
from ragsieve.agents.conversation_query import leans, turns_of
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.messages import tool_results
from ragsieve.agents.prefixes import Prefixes
from ragsieve.agents.rules import LEFT_OUT, ToolRule, ToolRules, failed, rule_for
from ragsieve.errors import InputError, ModelError, Overdue
from ragsieve.schema import read
from ragsieve.spec import SystemSpec
from tests.processes import python

QUESTION = "Which cable feeds the pump?"
TEXT = "Cable W7 feeds the pump. " + " ".join(f"Lamp {n} is green." for n in range(40))
LOG = "\n".join(f"2026-01-02 10:00:{n:02} INFO step {n} is done" for n in range(40))
ALARM = LOG.replace("step 20 is done", "Cable W7 feeds no pump")
ITEMS = [
    {"url": f"https://x/{n}", "body": TEXT if n else "Cable W7 feeds the pump."} for n in (0, 1)
]
BODIES = ["Cable W7 feeds the pump." if n == 3 else f"Lamp {n} is green and old." for n in range(9)]
ROWS = [{"url": f"https://x/{n}", "body": body * 6} for n, body in enumerate(BODIES)]
DATA = json.dumps({"total": 2, "items": ITEMS})


class Said:
    """A message of an SDK."""

    def __init__(self, values):
        self.values = values

    def model_dump(self, *, exclude_none, warnings):
        return {key: value for key, value in self.values.items() if value is not None}


def turn(text, name="read", said="", arguments="{}", **more):
    """A call of a tool, and its result."""
    function = {"name": name, "arguments": arguments}
    call = {"role": "assistant", "content": said, "tool_calls": [{"id": "c", "function": function}]}
    return [call, {"role": "tool", "tool_call_id": "c", "content": text, **more}]


def cut(text, *rules, question=QUESTION, **more):
    """A conversation of one result, cut by a filter that keeps units by shared words."""
    adapter = Adapter(load("finefilter", "fake:echo", pruner="fake:pruner"), on_error="raise")
    given = [{"role": "user", "content": question}, *turn(text, **more)]
    return ToolFilter(adapter, rules or ["*"])(given)


@pytest.mark.parametrize(
    ("text", "rule", "more", "why"),
    [
        ("Cable W7 feeds it.", {}, {}, "under 200 tokens"),
        (TEXT, {"min_tokens": 500}, {}, "under 500 tokens"),
        (TEXT, {"min_saving": 0.95}, {}, "under 95% would be saved"),
        (TEXT, {}, {"question": " "}, "there is no question"),
        (TEXT, {}, {"status": "error"}, "its tool failed"),
        (TEXT, {}, {"is_error": True}, "its tool failed"),
        (f"Error: no pump\n{TEXT}", {}, {}, "its tool failed"),
        (json.dumps({"error": "no pump", "log": TEXT}), {}, {}, "its tool failed"),
        (json.dumps({"exit_code": 2, "log": TEXT}), {}, {}, "its tool failed"),
        (TEXT, {"fields": ["body"]}, {}, "it has none of the fields"),
    ],
)
def test_a_result_that_is_not_to_be_cut_passes(text, rule, more, why):
    """Byte by byte, and its outcome says why."""
    one = cut(text, read(ToolRule, rule), **more)
    (outcome,) = one.outcomes.values()

    assert (text, why) == (one.messages[-1]["content"], outcome.passed)
    assert outcome.tokens_before == outcome.tokens_after and not outcome.handle


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        *[("Traceback (most recent call last):\n  x", True), ("fatal: not a repository", True)],
        *[("404 Not Found", True), ("requests.HTTPError: 500", True), ('{"ok": false}', True)],
        *[('{"status": 503}', True), ('{"isError": true}', True), ('{"status": "error"}', True)],
        *[("Errors are rare.", False), ('{"errors": [], "ok": true}', False), ("450 Grams", False)],
        *[("ERROR: x\n" + LOG, False), ('{"exit_code": 0}', False), ('{"error": ', False)],
    ],
)
def test_a_result_says_whether_its_tool_failed(text, is_error):
    """By its first words, or by its own fields; a log of errors is no failure."""
    assert is_error == failed(text)


@pytest.mark.parametrize(
    ("text", "rule", "stays", "goes"),
    [
        (TEXT, {}, ["Cable W7 feeds the pump."], ["Lamp 3 "]),
        (LOG, {}, [f"step {n} is" for n in (0, 1, 2, 37, 38, 39)], ["step 20 is", "step 5 is"]),
        (LOG, {"edges": 1}, ["step 0 is", "step 39 is"], ["step 2 is", "step 37 is"]),
        (LOG, {"edges": 0}, [], ["step 38 is"]),
        (DATA, {"fields": ["body"]}, ['"url": "https://x/0", "body": "Cable W7'], ["Lamp 3 "]),
        (
            json.dumps(ROWS),
            {"whole": ["url"]},
            ["Cable W7", "https://x/0", "https://x/8"],
            ["Lamp"],
        ),
        (str(ROWS), {"whole": ["url"]}, ["Cable W7", "https://x/0", "https://x/8"], ["Lamp"]),
        (
            str(json.loads(DATA)),
            {"fields": ["body"]},
            ["'https://x/0', 'body': \"Cable"],
            ["Lamp 3 "],
        ),
        (
            json.dumps(ROWS),
            {"whole": ["url"], "max_tokens": 120},
            ["Cable W7", "https://x/3", "https://x/0"],
            ["https://x/8"],
        ),
        (ALARM, {"max_tokens": 60}, ["Cable W7", "step 0 is"], ["step 39 is"]),
        (json.dumps(ROWS), {}, ["Cable W7", "https://x/3"], ["Lamp", "https://x/8"]),
        (TEXT, {"max_tokens": 0}, ["[what matters does not fit max_tokens=0]"], ["Cable W7"]),
    ],
)
def test_a_rule_says_where_a_result_is_cut(text, rule, stays, goes):
    """The last line says what is gone; fields that are not named stay as they came."""
    one = cut(text, read(ToolRule, {"max_unanswered": 0, **rule}))
    *kept, line = one.messages[-1]["content"].split("\n\n")
    shown = "\n\n".join(kept)

    assert [] == [text for text in stays if text not in shown]
    assert [] == [text for text in goes if text in shown]
    assert "tokens kept" in line and "show_dropped(handle=" in line
    if "fields" in rule:
        assert [item["url"] for item in ITEMS] == [
            i["url"] for i in ast.literal_eval(shown)["items"]
        ]


@pytest.mark.parametrize("items", [ROWS, [str(row) for row in ROWS], BODIES * 9], ids=len)
@pytest.mark.parametrize("rule", [{}, {"whole": ["url"]}])
def test_items_of_a_list_are_read_together(items, rule):
    """MCP has a part for each: the last one has what the same lines in one text have; what one
    item says of itself is no failure, an image stays, and spans are of the parts as they came."""
    said = [one if isinstance(one, str) else json.dumps({**one, "ok": False}) for one in items]
    mark, image = {"cache_control": {"type": "ephemeral"}}, {"type": "image"}
    parts = [image, *({"type": "text", "text": one} for one in said), image]
    whole = cut("\n".join(said), read(ToolRule, rule))
    one = cut([image, parts[1] | mark, *parts[2:]], read(ToolRule, rule))
    (outcome,), (expected,) = one.outcomes.values(), whole.outcomes.values()
    text = whole.messages[-1]["content"].replace(expected.handle, outcome.handle)
    spans = [*outcome.about["kept"], *outcome.about["dropped"]]

    assert [image, {"type": "text", "text": text, **mark}, image] == one.messages[-1]["content"]
    assert "Cable W7" in text and expected.tokens_after < expected.tokens_before
    assert {*range(1, len(said) + 1)} == {span["part"] for span in spans}
    assert all(s["text"] == said[s["part"] - 1][s["start"] : s["end"]] for s in spans)


@pytest.mark.parametrize(
    "said", ["Page 2 of 9", "Content is cut. Ask with start=500.", '{"total": 4}']
)
def test_what_a_tool_says_in_a_part_of_its_own_stays(said):
    """Behind what it is about, as a line of the same text does; else it grew, and was lost."""
    parts = [{"type": "text", "text": one} for one in (TEXT.replace(". ", ".\n"), said)]
    first, last = cut(parts).messages[-1]["content"]

    assert "Lamp 3 " not in first["text"] and "Cable W7" in first["text"]
    assert last["text"].startswith(f"{said}\n\n[") and "show_dropped" in last["text"]


@pytest.mark.parametrize(
    ("part", "failure"),
    [
        ({"type": "search_result", "title": "W7", "content": [{"type": "text", "text": TEXT}]}, {}),
        ({"type": "document", "source": {"type": "text", "data": TEXT}, "title": "W7"}, {}),
        ({"type": "resource", "resource": {"uri": "file:///w7", "text": TEXT}}, {}),
        ({"stdout": TEXT, "stderr": ""}, {"outcome": {"type": "exit", "exit_code": 2}}),
        ({"made_up": [Said({"page": {"body": TEXT}})]}, {"state": {"success": False}}),
    ],
)
def test_texts_inside_a_part_are_cut_in_their_places(part, failure):
    """Whatever its type; pictures and ids in it are no texts, and a failure passes."""
    picture = {"type": "image", "source": {"data": "iVBORw0KGgo" * 99}, "id": "w7 " * 9}
    message = cut([picture, part]).messages[-1]

    expected, shown = (json.dumps(one, default=lambda x: x.values) for one in (part, message))
    assert 0 < shown.count("Cable W7 feeds the pump.") == shown.count("show_dropped")
    assert expected.split(json.dumps(TEXT)[:9])[0] in shown and "Lamp 7" not in shown
    assert picture == message["content"][0]
    if failure:
        assert part | failure == cut([part | failure]).messages[-1]["content"][0]


def test_a_budget_takes_the_result_of_a_search_whose_title_is_asked_for():
    """Of pages that read alike; of the others a short mark stays."""
    lands = ["France", "Austria", "Norway", "Poland"]
    terms = [f"Goods may be sent back within {30 + n} days of delivery. " for n in range(4)]
    more = "Postage is yours to pay. Mails are answered within two days. Vouchers stay vouchers. "
    pages = [
        {"type": "search_result", "title": land, "content": [{"type": "text", "text": own + more}]}
        for land, own in zip(lands, terms, strict=True)
    ]
    question = "How many days do customers in Norway have to return goods?"
    results = ToolFilter(tools=[ToolRule(max_tokens=15, min_tokens=0)])
    last = results([{"role": "user", "content": question}, *turn(pages)]).messages[-1]
    texts = [page["content"][0]["text"] for page in last["content"]]

    assert terms[2].strip() == texts[2]
    assert [LEFT_OUT] * 3 == [*texts[:2], texts[3].partition("\n")[0]]


def test_where_all_is_there_nothing_is_said_to_be_left_out():
    """As in rows that stand under their heads once: there is no rest that a handle would show."""
    rows = [{"name": f"pump {n}", "cable": f"W{n}", "feeds": "the pump"} for n in range(30)]
    one = cut(json.dumps(rows), question="Which cable feeds the pump?")
    (outcome,) = one.outcomes.values()

    assert not outcome.result.dropped and outcome.tokens_after < 0.8 * outcome.tokens_before
    assert all(str(row["cable"]) in one.messages[-1]["content"] for row in rows)
    assert "left out" not in one.messages[-1]["content"]


def test_the_first_rule_that_fits_counts():
    """Names are patterns; a file of rules is checked, and names what is wrong."""
    rules = read(ToolRules, {"tools": [{"name": "web_*", "cut": False}, {"name": "w*"}]}).tools

    assert [None, rules[1], None] == [rule_for(name, rules) for name in ("web_x", "wiki", "calc")]
    for wrong, message in [
        ({"min_saving": 2}, "min_saving must be in"),
        ({"budget": 3}, "budget is not known"),
        ({"fields": ["a"], "whole": ["b"]}, "name fields or whole, not both"),
    ]:
        with pytest.raises(InputError, match=message):
            read(ToolRules, {"tools": [wrong]})
    with pytest.raises(InputError, match="tools must be a list"):
        ToolFilter(Adapter(), "web_*")
    with pytest.raises(InputError, match="name must be a string, got 3"):
        ToolFilter(Adapter(), [3])
    wrong_rules = [{"whole": "url"}, {"whole": 3}, {"fields": [3]}, {"name": None}]
    for wrong in wrong_rules:
        (name,) = wrong
        with pytest.raises(InputError, match=rf"{name}.* must be a (list|string), got"):
            ToolRule(**wrong)
    with pytest.raises(InputError, match="sieve must be an Adapter, got 'finefilter'"):
        ToolFilter("finefilter")


def test_the_same_conversation_gives_the_same_bytes():
    """In another process' filter, too, and whatever comes later; nothing is filtered twice."""
    runs = []
    given = [{"role": "user", "content": QUESTION}, *turn(TEXT)]
    more = [*given, {"role": "user", "content": "And the lamps?"}, *turn(TEXT, "look")]
    filters = [
        ToolFilter(Adapter("top-sentences", "fake:echo", "fake:hashing"), on_result=runs.append)
        for _ in range(2)
    ]
    first = [one(given) for one in filters]
    later = filters[0](more)
    page = filters[0].show_dropped(first[1].outcomes[2].handle, "lamp 7")
    other = Adapter("top-sentences", "fake:echo", "fake:hashing", {"k": 2})
    handles = {one(given).outcomes[2].handle for one in (*filters, ToolFilter(other))}

    own = [given[0], *turn(TEXT, "mcp__ragsieve__show_dropped")]
    assert own == filters[0](own).messages  # what was asked for is not cut again
    assert first[0].messages == first[1].messages == later.messages[:3]
    assert [0, 0] == [first[0].cache_broken, later.cache_broken] and 3 == len(runs)
    assert later.messages[5]["content"] != later.messages[2]["content"] and 2 == len(handles)
    assert later.tokens.after < later.tokens.before and "Lamp 7 is" in page.runs[0].text


@pytest.mark.parametrize("error", [ModelError("it broke"), Overdue("too late")])
def test_a_failure_stays_as_it_was_sent_unless_time_was_short(error):
    """Else a result would read otherwise at the next turn, and break a cache."""
    system = load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})
    runs = []

    def fail(result):
        runs.append(result)
        if len(runs) == 1:
            raise error

    results = ToolFilter(Adapter(system), on_result=fail)
    given = [{"role": "user", "content": QUESTION}, *turn(TEXT)]
    outcomes = [results(given).outcomes[2] for _ in range(2)]

    assert ("the filter failed", str(error)) == (
        outcomes[0].passed,
        outcomes[0].warnings[0].partition(": ")[2],
    )
    assert isinstance(error, Overdue) is bool(outcomes[1].texts)


def test_tokens_that_a_cache_loses_are_counted():
    """Those of messages that were sent before and read otherwise now, and of all behind them."""
    prefixes = Prefixes()
    given = ["a", "b", "c", "d"]

    def count(texts):
        return [10 for _ in texts]

    assert 0 == prefixes.broken(given[:3], ["a", "B", "c"], count)
    assert 0 == prefixes.broken(given, ["a", "B", "c", "d"], count)
    assert 30 == prefixes.broken(given, ["a", "b", "c", "d"], count)
    assert 0 == prefixes.broken(["x", "b"], ["x", "b"], count)


def test_a_question_is_of_the_call():
    """The words before it, its arguments, then the user's; later turns change none."""
    use = {"type": "tool_use", "id": "u", "name": "see", "input": {"of": "pump"}}
    used = {"type": "tool_result", "tool_use_id": "u"}
    given = [
        {"role": "user", "content": "Fix it."},
        *turn("x", "grep", "Where is it?", '{"pattern": "pump", "flags": {"in": ["src"]}, "n": 3}'),
        {"role": "user", "content": "Thanks!"},
        {"type": "function_call", "call_id": "r", "name": "look", "arguments": "not JSON"},
        {"type": "function_call_output", "call_id": "r", "output": [{"type": "text", "text": "y"}]},
        {"type": "custom_tool_call", "call_id": "k", "name": "sql", "input": "all pumps"},
        {"type": "custom_tool_call_output", "call_id": "k", "output": "y"},
        {"type": "local_shell_call", "call_id": "l", "action": {"command": ["grep", "-r", "a b"]}},
        {"type": "local_shell_call_output", "call_id": "l", "output": "y"},
        {"type": "web_search_call", "action": {"query": "q"}},
        {"role": "tool", "content": "z", "name": "lost"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "k", "custom": {"name": "py", "input": "all pumps"}}],
        },
        {"role": "tool", "tool_call_id": "k", "content": "z"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{**used, "content": "q"}, text("<note>Mind.</note>")]},
        {"role": "assistant", "content": [text("<b>Look</b>."), use]},
        {"role": "user", "content": [text("<a>Be brief.</a>\n<a>x</a>"), text("So?"), used]},
        {"role": "assistant", "content": [{**use, "id": "u2", "input": None}]},
        {"role": "user", "content": [{**used, "tool_use_id": "u2", "content": [text("r")]}]},
    ]
    found = [*tool_results(given)]

    assert [
        ("grep", "c", "Where is it?\npump\nsrc\nFix it."),
        ("look", "r", "not JSON\nThanks!"),
        ("sql", "k", "all pumps\nThanks!"),
        ("local_shell", "l", "Thanks!"),
        ("lost", "", "Thanks!"),
        ("py", "k", "all pumps\nThanks!"),
        ("see", "u", "pump\nThanks!"),
        ("see", "u", "<b>Look</b>.\npump\nThanks!"),
        ("see", "u2", "So?"),
    ] == [(one.tool, one.call, one.question) for one in found]


def text(said):
    """A part of a content."""
    return {"type": "text", "text": said}


@pytest.mark.parametrize("name", ["read", "other"])
def test_messages_that_are_objects_are_read(name):
    """As an SDK gives them: their calls count, and they stay the same objects."""
    call, result = turn(TEXT, said="Which cable?", arguments='{"of": "pump 7"}')
    parts = {**result, "content": [Said({"type": "text", "text": TEXT})]}
    item = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}", "id": None}
    output = {"type": "function_call_output", "call_id": "c", "output": TEXT}
    own_calls = {**call, "tool_calls": [Said(one) for one in call["tool_calls"]]}
    user = {"role": "user", "content": QUESTION}
    use = Said({"type": "tool_use", "id": "c", "name": "read", "input": {}})
    used = Said({"type": "tool_result", "tool_use_id": "c", "content": TEXT})
    pairs = [
        ({"role": "assistant", "content": [use]}, {"role": "user", "content": [used]}),
        (call, result),
        (own_calls, result),
        (call, Said(result)),
        (call, parts),
        (item, output),
    ]
    adapter = Adapter(load("finefilter", "fake:echo", pruner="fake:pruner"), on_error="raise")
    for call, result in pairs:
        given = [user, Said(call), result]
        one, alike = (ToolFilter(adapter, [name])([user, c, result]) for c in (given[1], call))

        assert given[:2] == one.messages[:2] and one.messages[2:] == alike.messages[2:]
        assert ["read"] * (name == "read") == [o.tool for o in one.outcomes.values() if o.texts]
        assert [o.question for o in alike.outcomes.values()] == [
            o.question for o in one.outcomes.values()
        ]
    assert "hello" == ToolFilter(adapter)("hello").messages


def test_a_callback_that_fails_stops_no_turn(caplog):
    """The conversation is cut, and a warning says why; with on_error="raise" it raises."""

    def fail(_):
        raise OSError("metrics\nare down")

    given = [{"role": "user", "content": QUESTION}, *turn(TEXT)]
    named = ("top-sentences", "fake:echo", "fake:hashing")

    assert (
        ToolFilter(Adapter(*named))(given).messages
        == ToolFilter(Adapter(*named), on_cut=fail)(given).messages
    )
    assert ["on_cut failed: OSError: metrics are down"] == caplog.messages
    with pytest.raises(OSError, match="down"):
        ToolFilter(Adapter(*named, on_error="raise"), on_cut=fail)(given)


LEANING = [
    *("How tall is it?", "And in winter?", "what did they say about the roof", "Why?", "为什么?"),
    *("Which film did he make in 1994?", "Did he win the Nobel Prize?", "Does it support Windows?"),
    *("what happened next", "Can you tell me more about that?", "What about Germany?"),
    *("How much does the larger one cost?", "Is there a cheaper one?"),
    *("But why did the project fail?", "How do you get there from the airport?"),
    *("Show me more courses", "Why is the first so expensive?", "Do both have a parking lot?"),
    *("Would the second be larger?", "Any others near the station?", "Who paid for all this?"),
]
STANDING = [
    *("When was the Forth Bridge opened to its first train?", "who painted the chapel of the pope"),
    *("who sings the song i feel it still", "when did they start adding zinc to pennies"),
    *("how many seasons of the rugrats are there", "who was jim thorpe and what did he do"),
    *("where did they film ghosts of girlfriends past", "what year is it for the jewish calendar"),
    *("who scored the most points in their nba career", "what time is it in alaska time zone"),
]


@pytest.mark.parametrize(
    ("last", "follows"),
    [*((text, True) for text in LEANING), *((text, False) for text in STANDING)],
)
def test_a_question_that_follows_another_is_read_with_it(last, follows):
    """Where it is short, or refers to what it does not name; else a change of topic costs. Most
    that stand alone are of Natural Questions, in small letters and with such words, too."""
    before = [("user", "Who designed the Eiffel Tower?"), ("assistant", "Stephen Sauvestre.")]
    turns = [*before, ("user", last), ("assistant", ""), ("tool", "x")]
    question = turns_of({"role": role, "content": text} for role, text in reversed(turns))
    whole = "\n".join(f"{role}: {text}" for role, text in turns[:3])

    assert question == (whole if follows else last)
    assert last == turns_of([{"role": "user", "content": last}]) and "" == turns_of([])

    added = [f"<system-reminder>Today is {day}.</system-reminder>" for day in ("Monday", "May")]
    spoken = [{"role": role, "content": [added[0], text, added[1]]} for role, text in turns[:3]]

    assert question == turns_of(reversed(spoken))
    assert added[0] == turns_of([{"role": "user", "content": added[0]}])


ROOT = Path(__file__).parents[3]
TURNS = ROOT / "experiments" / "turns" / "test.tsv"
TRACES = ROOT / "tests" / "traces.jsonl"


def test_nearly_all_turns_are_told_that_others_wrote():
    """Nothing was learned from these."""
    lines = [line.split("\t") for line in TURNS.read_text(encoding="utf-8").splitlines()]
    right = Counter(label for label, text in lines if leans(text) == (label == "1"))

    assert len(lines) == 300 and right["1"] >= 140 and right["0"] >= 135


def cut_traces(system="finefilter", workers=1, step=1):
    """The results of six traces as a model reads them, whatever the order they are cut in."""
    llm = "fake:echo" if isinstance(system, str) else None
    results = ToolFilter(Adapter(system, llm), label="finefilter")
    traces = [json.loads(line) for line in TRACES.read_text(encoding="utf-8").splitlines()[:6]]

    def one(trace):
        said, arguments = trace["said"], trace["arguments"]
        call = turn(trace["result"], trace["tool"], said, arguments)
        given = [{"role": "user", "content": trace["user"]}, *call]
        return json.dumps(results(given).messages)

    with ThreadPoolExecutor(workers) as pool:
        return [*pool.map(one, traces[::step])][::step]


@pytest.mark.models
def test_a_result_reads_the_same_wherever_it_is_cut():
    """In another process, in threads and in any order, and where calls share one model's batches.
    So does a provider's cache hold after a restart, and behind several servers."""
    expected = cut_traces()
    code = f"import json\nfrom {__name__} import *\nprint(json.dumps(cut_traces()))"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = python(code, cwd=ROOT, env=environment)
    with SystemSpec(llm="fake:echo").opened(callers=4) as shared:
        batched = cut_traces(shared, 4)

    assert sum("show_dropped(handle=" in one for one in expected) >= 3
    assert expected == json.loads(other.stdout)
    assert expected == cut_traces(workers=4, step=-1) == batched


def measured(name):
    """What a script of benchmarks/ says of the twenty traces."""
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), str(TRACES), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=900).stdout)


@pytest.mark.models
def test_a_call_says_more_of_what_a_result_is_read_for_than_the_user():
    """Evidence that is kept, of 70 spans, and the share of words."""
    rows = measured("tool_questions")
    alone, call = rows["the user's last message"], rows["words, arguments, user"]

    assert alone["spans"] + 5 <= call["spans"] >= 64 and call["words"] < 0.5


@pytest.mark.models
def test_ten_turns_cost_less_where_results_are_cut_once():
    """Less than raw, and than what is cut anew, which is not in the provider's cache."""
    pytest.importorskip("uvicorn")
    raw, ours, anew = measured("agent_bill").values()

    assert ours["billed"] < 0.85 * raw["billed"] and ours["billed"] < anew["billed"]
    assert 0 == ours["broken"] and anew["evidence"] < ours["evidence"] >= 30
    assert ours["cached"] / ours["sent"] > raw["cached"] / raw["sent"] - 0.05
    assert anew["cached"] / anew["sent"] < 0.7
