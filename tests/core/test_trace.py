"""The trace of a question."""

import json

from ragsieve.trace import (
    Step,
    Trace,
    Usage,
    Verdict,
    note,
    record_drop,
    record_usage,
    segment_to_dict,
    step,
    warn,
)
from ragsieve.types import Document, Segment

DOCUMENT = Document("d", "He sang. She danced.")
HE, SHE = Segment(DOCUMENT, 0, 8), Segment(DOCUMENT, 9, 20)


def test_without_a_step_or_trace_nothing_is_recorded():
    """No later trace has the records; a stage called by hand costs a step nobody keeps."""
    note("lost")
    record_drop(HE, "lost")
    record_usage([Usage("m", 1)])
    trace = Trace()
    with trace.recording(), step("stage"):
        pass

    assert [] == trace.steps[0].notes
    assert {} == trace.steps[0].reasons
    assert [] == trace.steps[0].usages

    trace = Trace()
    with step("alone") as alone:
        note("in the step")
    with trace.recording():
        pass

    assert ["in the step"] == alone.notes
    assert [] == trace.steps


def test_what_was_not_kept_is_dropped_for_a_reason():
    """The first, particular one, else its stage; neither rescored nor split spans are."""
    with Trace().recording(), step("TopK(k=0)", [HE, SHE]) as record:
        record_drop(SHE, "rank 2 is past k=0")

    reasons = "not kept by TopK(k=0)", "rank 2 is past k=0"
    assert [*map(Verdict, (HE, SHE), ["TopK(k=0)"] * 2, reasons)] == record.dropped

    with Trace().recording(), step("stage", [HE]) as record:
        record_drop(HE, "too long to be read")
        record_drop(HE, "not named")

    assert ["too long to be read"] == [d.reason for d in record.dropped]

    record = Step("Cosine", before=(HE,), after=(HE.scored("cosine", 0.5),))

    assert [] == record.dropped

    blank = Segment.whole(Document("blank", " "))
    record = Step("Sentences", before=(Segment.whole(DOCUMENT), blank), after=(HE, SHE))

    assert [blank] == [d.segment for d in record.dropped]

    record = Step("shortened", before=(HE, SHE), after=(Segment(DOCUMENT, 0, 2),))

    assert [HE.text[2:], SHE.text] == [d.segment.text for d in record.dropped]


def test_what_a_stage_does_without_is_a_warning():
    """Beside what failed, in the order of the stages; outside a step it is lost."""
    trace = Trace()
    warn("lost")
    with trace.recording():
        with step("first"):
            warn("a source is missing")
        with step("Broken()") as record:
            record.error = "ModelError: no"

    assert ["a source is missing", "Broken() was skipped: ModelError: no"] == trace.warnings


def test_a_step_is_kept_where_its_stage_raises():
    """The trace of a failed question shows how far it came."""
    trace = Trace()
    try:
        with trace.recording(), step("Broken()"):
            raise RuntimeError("no")
    except RuntimeError:
        pass
    with step("later"):
        pass

    assert ["Broken()"] == [s.stage for s in trace.steps]


def test_inner_steps_have_their_own_notes():
    """A note goes to the innermost step, and steps stand in the order in which they ended."""
    trace = Trace()
    with trace.recording(), step("outer"):
        with step("inner"):
            note("in")
        note("out")

    assert [("inner", ["in"]), ("outer", ["out"])] == [(s.stage, s.notes) for s in trace.steps]


def test_a_trace_is_json():
    """Steps, notes and warnings, every value a JSON value; cached items cost no call and token."""
    trace = Trace()
    trace.notes.append("of the question")
    scored = HE.scored("bm25", 2).scored("cosine", 0.5)
    with trace.recording(), step("TopK(k=0)", [scored]):
        record_drop(scored, "rank 1 is past k=0")
        record_usage([Usage("m", 3), Usage("m", 5, 2)])
        record_usage([Usage("m", 100, 50, cached=True)])
    shown = json.loads(json.dumps(trace.to_dict()))
    seconds = shown["steps"][0].pop("seconds")

    assert seconds >= 0
    assert {
        "steps": [
            {
                "stage": "TopK(k=0)",
                "segments_in": 1,
                "segments_out": 0,
                "calls": 2,
                "embedded": 0,
                "cached": 1,
                "tokens_in": 3 + 5,
                "tokens_out": 0 + 2,
                "unreadable": 0,
                "notes": [],
                "error": "",
                "dropped": [
                    {
                        **{"document": "d", "start": 0, "end": 8, "text": "He sang."},
                        **{"score": 0.5, "scores": {"bm25": 2.0, "cosine": 0.5}},
                        "reason": "rank 1 is past k=0",
                    }
                ],
            }
        ],
        "notes": ["of the question"],
        "warnings": [],
    } == shown
    assert (None, {}) == tuple(segment_to_dict(HE)[name] for name in ("score", "scores"))
