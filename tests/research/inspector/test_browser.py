"""The page in headless Chromium: cut again, read, reached by keyboard, looked at by axe."""

import re
from dataclasses import replace

import pytest

from ragsieve import Pipeline, System, answer, select, split
from ragsieve.inspector import view
from ragsieve.models.fake import HashingEmbedder, OverlapPruner, ScriptedLLM, echo
from ragsieve.select.cut import Odds
from ragsieve.systems.finefilter import finefilter_one_pass
from ragsieve.trace import record_drop
from ragsieve_research.select.adaptive import Adaptive
from ragsieve_research.select.distinct import Distinct
from ragsieve_research.systems.recomp import recomp_abstractive
from ragsieve_research.systems.winnowrag import winnowrag
from tests.plugins.browser import QUESTION, TEXTS, system

ODDS = Odds(((0.1, 0.0), (0.6, 0.1), (0.4, 0.3)), (-1.4, -0.5, -0.4))
EVIL = "</script><img src=x onerror=alert(1)> \"'`${alert(2)} \u202egnol\u202c \x1b[31m\0\ud800."


def at(made, option, value):
    """The same system with another number where the first stage cuts that has such an option."""
    stages = list(made.stage.stages)
    place = next(n for n, stage in enumerate(stages) if hasattr(stage, option))
    stages[place] = replace(stages[place], **{option: value})
    return replace(made, stage=Pipeline(*stages))


def kept(made, values, documents=TEXTS):
    """What the system keeps, by the numbers of the view's segments."""
    number = {tuple(segment[:3]): n for n, segment in enumerate(values["segments"])}
    result = made(values["question"], documents)
    place = {document["id"]: n for n, document in enumerate(values["documents"])}
    return [number[place[s.document.id], s.start, s.end] for s in result.kept]


CASES = [
    ([select.Threshold(0.2, min_keep=1), select.Order("document")], "min_score"),
    ([select.TopK(3), select.Order("document")], "k"),
    ([select.Cut(ODDS), select.Order("ends")], "price"),
    ([Distinct(max_similarity=0.9), select.Order("score")], "max_similarity"),
    ([select.TopK(5), select.Threshold(0.2), select.Order("ends")], "min_score"),
    ([select.Threshold(0.1), select.TopK(3), select.Order("score")], "min_score"),
    ([select.Threshold(0.5, min_keep=3)], "min_score"),
    ([select.Cut(ODDS, min_keep=2)], "price"),
]
STAGES = {"min_score": "Threshold", "k": "TopK", "price": "Cut", "max_similarity": "Distinct"}
NUMBERS = {"min_score": [0.0, 0.15, 0.2, 0.31, 0.5, 0.62, 0.8, 1.0], "k": [0, 1, 3, 6, 99]}
NUMBERS |= {"price": [0.0, 0.03, 0.15, 0.5, 1.0], "max_similarity": [0.5, 0.55, 0.7, 1.0]}


@pytest.mark.parametrize(("stages", "option"), CASES)
def test_a_moved_cut_keeps_what_the_system_would(show, stages, option):
    """In the browser, without a model: the same spans in the same order as a run so configured."""
    made = system(*stages)
    texts = [*TEXTS, f"{TEXTS[0]} {TEXTS[1]}"]
    values = view(made(QUESTION, texts))
    shown = show([values])

    assert values["kept"] == shown.kept()
    for number in NUMBERS[option]:
        shown.cut(STAGES[option], number)
        said = shown.page.inner_text(".banner")
        assert kept(at(made, option, number), values, texts) == shown.kept(), number
        assert said == "" or "exactly what the system would keep" in said
    assert [] == shown.errors


def test_an_adaptive_threshold_becomes_a_fixed_one(show):
    """At which the best segment stays."""
    values = view(system(Adaptive())(QUESTION, TEXTS))
    shown = show([values])

    for number in (0.2, 0.8, 2.0):
        shown.cut(0, number)
        fixed = system(select.Threshold(number, min_keep=1))
        assert kept(fixed, values) == shown.kept(), number


def test_a_stage_that_does_more_than_cut_has_no_slider(show):
    """It turns around what its cut-off keeps."""

    def turned(query, segments):
        return select.TopK(3)(query, segments)[::-1]

    shown = show([view(system(turned)(QUESTION, TEXTS))])

    assert 3 == len(shown.kept())
    assert 0 == shown.page.locator(".control").count()


def test_what_a_preview_leaves_out_is_said(show, seen):
    """A stage that cannot be run again is named; the way back restores the run."""
    values = seen(select.TopK(3), Distinct(), select.Order("document"))
    shown = show([values])
    shown.cut(0, 6)

    assert "Distinct is not cut again" in shown.page.inner_text(".banner")
    assert 6 == len(shown.kept())
    assert "about" in shown.page.inner_text(".stats")
    shown.page.click("text=Back to the run")
    assert values["kept"] == shown.kept()
    assert shown.page.locator(".banner").is_hidden()


def test_a_slider_moves_by_keyboard(show, seen):
    """Up is more of its number; to the right is less to read, whatever the number means."""
    shown = show([seen(select.TopK(2))])
    slider, says = shown.page.locator("input[type=range]"), shown.page.locator(".control output")
    slider.press("ArrowUp")

    assert "3 of 8 spans stay, 24 tokens in all; the run cut at 2" == says.inner_text()
    assert 3 == len(shown.kept())
    slider.press("ArrowRight")
    assert 2 == len(shown.kept())
    assert ["keep more", "read less"] == shown.page.locator(".ends span").all_inner_texts()


def test_the_cut_that_drops_most_comes_first(show, seen):
    """The others are folded under it."""
    page = show([seen(select.TopK(7), select.Threshold(0.5))]).page

    assert ["Threshold"] == page.locator(".cuts > .control label b").all_inner_texts()
    assert page.locator(".others .control").is_hidden()


def test_why_spans_went_is_read_without_pointing(show, seen):
    """Once for spans that follow each other; scores are there on demand; previews say their cut."""
    shown = show([seen(select.TopK(1))])
    whys = shown.page.locator(".doc .why:visible")

    assert 3 == whys.count()
    assert all(re.fullmatch(r"TopK: rank \d to \d is past k=1", t) for t in whys.all_inner_texts())
    score = "getComputedStyle(document.querySelector('.doc .s'), '::after').content"
    assert "none" == shown.page.evaluate(score)
    shown.page.click("text=Show scores")
    assert "none" != shown.page.evaluate(score)
    shown.cut(0, 0)
    assert {"TopK: k = 0"} == {*whys.all_inner_texts()}


def test_a_link_keeps_the_cuts(show, seen):
    """Its fragment says them; one that says nonsense changes nothing."""
    values = seen(select.TopK(2))
    shown = show([values])
    shown.cut(0, 5)
    shown.page.click("#link")
    shown.page.wait_for_url("**#*")
    shown.page.reload()

    assert 5 == len(shown.kept())
    for nonsense in ("%", "[]", '{"at":[{"2/0":"9"}]}', '{"at":[null]}', '{"at":7}', "v0"):
        shown.page.goto(f"{shown.page.url.split('#')[0]}#{nonsense}")
        shown.page.reload()
        assert values["kept"] == shown.kept(), nonsense
    assert [] == shown.errors


def test_the_reason_is_there_on_focus_and_on_hover(show, seen):
    """Arrow keys go from span to span; Escape takes the tip away."""
    shown = show([seen(select.TopK(1))])
    spans = shown.page.locator(".doc .s")
    shown.page.locator(".doc .s.kept").focus()
    kept_tip = shown.page.inner_text("#tip")
    shown.page.locator(".doc .s[tabindex='0']").last.focus()
    shown.page.keyboard.press("ArrowRight")
    tip = shown.page.inner_text("#tip")

    assert "Kept: the generator reads it 1st of 1" in kept_tip
    assert "Dropped by TopK" in tip
    assert "is past k=1" in tip
    assert "cosine" in tip
    assert "tip" == shown.page.evaluate("document.activeElement.getAttribute('aria-describedby')")
    shown.page.keyboard.press("Escape")
    assert shown.page.locator("#tip").is_hidden()
    spans.last.hover()
    assert "Dropped by TopK" in shown.page.inner_text("#tip")


def test_on_a_phone_the_kept_text_comes_first_and_tables_scroll(show, seen):
    """Behind four figures in one row; by a finger to the last column, where names stay."""
    page = show([seen(select.TopK(2))], width=390).page
    tops = [page.locator(one).first.bounding_box()["y"] for one in (".context", ".cuts", ".docs")]
    rows = {one.bounding_box()["y"] for one in page.locator(".stat").all()}

    assert tops == sorted(tops)
    assert tops[0] < 500
    assert 1 == len(rows)

    shown = show([view(finefilter_one_pass(echo(), Relative())(QUESTION, TEXTS))], width=390)
    page, table = shown.page, shown.page.locator(".stages .scroll")
    table.scroll_into_view_if_needed()
    box, devtools = table.bounding_box(), page.context.new_cdp_session(page)
    swipe = {"x": box["x"] + 200, "y": box["y"] + 60, "xDistance": -300, "yDistance": 0}
    devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    devtools.send("Input.synthesizeScrollGesture", swipe)
    name = page.locator(".stages tbody th").first.bounding_box()
    last = page.locator(".stages thead th").last.bounding_box()

    assert table.evaluate("box => box.scrollLeft > 0 && box.scrollWidth > box.clientWidth")
    assert box["x"] <= name["x"]
    assert last["x"] + last["width"] <= box["x"] + box["width"] + 1
    assert name["x"] + name["width"] < last["x"]
    assert 390 == page.evaluate("document.documentElement.scrollWidth")


def test_a_price_gives_the_cost(show, seen):
    """Of 1,000 questions like this one, before and after; without a price there is none."""
    values = seen(select.TopK(1))
    shown = show([values])

    assert "Context of 1,000" not in shown.page.inner_text(".run")
    shown.page.click("text=Settings")
    shown.page.fill("#price", "1000")
    before, after = values["tokens"]["before"], values["tokens"]["after"]
    assert f"{before:,}.00 → {after:,}.00" in shown.page.inner_text(".run")


@pytest.mark.parametrize("many", [1, 14_000])
def test_hostile_text_stays_text(show, many):
    """Markup, addresses, overrides and control characters are shown, and nothing is asked for."""
    made = system(select.TopK(2))
    names = dict.fromkeys(("id", "source", "title"), EVIL * many)  # of 1 MB, too
    document = {**names, "text": f"{EVIL} {EVIL} Who sang?", "metadata": {EVIL: EVIL, "url": EVIL}}
    values = view(made.ask(f"Who sang {EVIL}?", [document, "", "\ud800"]), EVIL)
    shown = show([values])
    for span in shown.page.locator(".doc .s").all():
        span.focus()

    assert "<img src=x onerror=alert(1)>" in shown.page.inner_text("h1")
    assert 0 == shown.page.locator("img, iframe, a, object, form").count()
    assert [] == [u for u in shown.requests if not u.startswith(("file:", "data:"))]
    assert [] == shown.errors
    assert not {"\u202e", "\x1b", "\0", "\ud800"} & {*shown.page.inner_text("body")}
    assert [] == shown.violations()


LONG = " ".join(f"Bees make honey number {n}." for n in range(1000))


def test_a_long_document_is_folded_and_whole(show):
    """What is dropped is folded to a line, opens on demand, and no character is missing."""
    texts = [f"{LONG} Seals sang Summer Breeze.", "y" * 30000]
    shown = show([view(system(select.TopK(1))(QUESTION, texts))])
    few = shown.page.locator(".doc .s").count()
    for fold in shown.page.locator(".fold summary").all():
        fold.click()
    while shown.page.locator(".doc .more").count():
        shown.page.locator(".doc .more").first.click()
    read = """[...document.querySelectorAll('.doc .text')].map(text => {
        const copy = text.cloneNode(true);
        copy.querySelectorAll('summary, .n, .why').forEach(one => one.remove());
        return copy.textContent;
    })"""

    assert few < 20
    assert texts == shown.page.evaluate(read)
    assert [] == shown.errors


def test_a_span_of_the_context_leads_to_its_place(show):
    """Also into a fold that is closed."""
    made = system(select.TopK(1))
    shown = show([view(made(QUESTION, [f"{LONG} Seals sang Summer Breeze."]))])
    shown.cut(0, 40)
    shown.page.locator(".context .s").nth(30).click()

    shown.page.wait_for_selector(".doc .found")
    assert 40 == len(shown.kept())


def test_a_table_is_shown_as_the_generator_reads_it(show):
    """Below its header, with a mark for the rows that are left out."""
    rows = "".join(f"| berth {n} | {n} m |\n" for n in range(30))
    result = System(Pipeline(split.Blocks(), select.TopK(3)), answer.Reader(echo()))(
        QUESTION, [f"| Name | Depth |\n|---|---|\n{rows}"]
    )
    program = (
        "marks => { marks.forEach(mark => mark.remove()); "
        "return document.querySelector('.context p').textContent; }"
    )
    shown = show([view(result)]).page.locator(".context .s .n").evaluate_all(program)

    assert "… 3 of 30 shown" in shown
    assert result.text == shown


def test_the_keyboard_keeps_its_place(show, seen):
    """Enter on a span of the context goes to its document; the way back ends at the slider."""
    page = show([seen(select.TopK(3), select.Order("document"))]).page
    page.locator(".context .s").nth(1).focus()
    page.keyboard.press("Enter")
    at_span = page.evaluate("document.activeElement.closest('.doc') !== null")
    page.locator("input[type=range]").press("ArrowRight")
    page.locator(".banner button").press("Enter")

    assert at_span
    assert "range" == page.evaluate("document.activeElement.type")
    assert page.locator(".banner").is_hidden()


def test_written_texts_and_debates_are_shown(show):
    """A text that a model wrote names its parents; agents stand with their answers."""
    wrote = recomp_abstractive(ScriptedLLM(lambda prompt: "Seals sang it."))
    debater = ScriptedLLM(lambda p: "Seals" if "Seals" in p[-1].content else "Bees")
    debated = winnowrag(debater, HashingEmbedder(), clusters=2)
    views = [view(made.ask(QUESTION, TEXTS), name) for name, made in (("a", wrote), ("b", debated))]
    shown = show(views)

    assert "from 8 spans" in shown.page.inner_text("#v0 .written")
    assert "Agent 2" in shown.page.inner_text("#v1 .agents")
    assert "stands" in shown.page.inner_text("#v1 .acts")
    assert [] == shown.violations()
    assert [] == shown.errors


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing(show, seen, scheme, width):
    """Two systems, one of them cut again, a tip open; nothing is wider than a phone."""
    stages = (select.Threshold(0.2, min_keep=1), select.Order("document"))
    views = [seen(*stages, ask=True), seen(select.TopK(2), name="cosine")]
    shown = show(views, width=width, scheme=scheme)
    shown.page.click("text=Settings")
    shown.page.fill("#price", "2.5")
    shown.cut(0, 0.35)
    shown.cut(1, 4)
    shown.page.click("text=Show scores")
    shown.page.locator("#v1 .doc .s").first.focus()

    assert [] == shown.violations()
    assert width >= shown.page.evaluate("document.documentElement.scrollWidth")
    assert [] == shown.errors


class Relative(OverlapPruner):
    """Shares of the question's words, of which thresholds go with the best."""

    relative = 0.6


SONG = "Who sang Summer Breeze, that song of summer by Seals and Crofts?"
"""Of its eleven words the sentences have none, one, two, three or six."""


def test_the_slider_of_a_promise_is_the_promise(show):
    """At another stays what the system would keep; one between two is there to come back to."""

    def made(promise):
        return finefilter_one_pass(echo(), Relative(), keep_answer=promise)

    values = view(made(0.95)(SONG, TEXTS), "finefilter")
    shown = show([values])
    page, few = shown.page, kept(made(0.8), values)
    field, slider = page.locator(".control input[type=number]"), page.locator("input[type=range]")

    assert "how often the answer survives (keep_answer)" in page.inner_text(".control label")
    assert ("0.95", "0.95") == (field.input_value(), slider.input_value())
    assert values["kept"] == shown.kept()
    for typed, promise in ((0.8, 0.8), (0.9, 0.9), (0.935, 0.94), (0.99, 0.99), (0.1, 0.5)):
        shown.cut(0, typed)
        assert kept(made(promise), values) == shown.kept(), promise
        field.blur()
        assert str(promise) == field.input_value()
    assert few != values["kept"]
    assert page.inner_text(".control output").endswith("; the run promised 0.95")
    assert "Threshold: keep_answer = 0.8" in page.locator(".why").all_inner_texts()
    slider.press("ArrowUp")
    assert "0.51" == field.input_value()
    page.click("#link")
    page.wait_for_url("**#*")
    page.reload()
    assert (kept(made(0.51), values), "0.51") == (shown.kept(), field.input_value())
    assert [] == shown.errors

    made = finefilter_one_pass(echo(), Relative(), keep_answer=0.955)
    shown = show([view(made(SONG, TEXTS), "finefilter")])
    field = shown.page.locator(".control input[type=number]")
    shown.cut(0, 0.8)
    shown.page.click("text=Back to the run")

    assert "0.955" == field.input_value()
    assert [] == shown.errors


def test_whether_a_document_answers_stands_first(show, seen):
    """In words where none seems to; a system that does not say it has no such figure."""
    made = finefilter_one_pass(echo(), OverlapPruner())
    views = [
        view(made(question, TEXTS), question) for question in (QUESTION, "Why do goats climb?")
    ]
    figures = [
        show([values], width=390).page.locator(".stat").all_inner_texts()
        for values in (*views, seen(select.TopK(1)))
    ]

    assert "Answerable 50% that some document answers" == " ".join(figures[0][0].split())
    assert "Answerable 0% no document seems to answer" == " ".join(figures[1][0].split())
    assert ["Tokens", "Spans", "Time"] == [text.split()[0] for text in figures[2]]


@pytest.mark.parametrize("width", [390, 1440])
def test_a_reason_stands_in_one_line(show, width):
    """A long one ends in an ellipsis; all of it is in the tip."""

    def judged(query, segments):
        for segment in segments[1:]:
            record_drop(segment, f"{segment.document.id}: it says nothing " * 5)
        return segments[:1]

    made = finefilter_one_pass(echo(), Relative())
    for system_made in (made, system(judged)):
        page = show([view(system_made(QUESTION, TEXTS))], width=width).page
        boxes = [why.bounding_box() for why in page.locator(".doc .why:visible").all()]

        assert boxes
        assert max(box["height"] for box in boxes) < 24
        assert max(box["x"] + box["width"] for box in boxes) < width
        assert width >= page.evaluate("document.documentElement.scrollWidth")
    page.locator(".doc .s.gone").first.focus()
    assert 5 == page.inner_text("#tip").count("it says nothing")
