"""Other languages with the second distribution installed."""

import sys

import pytest

import ragsieve
from ragsieve.errors import MissingExtra
from ragsieve.models.pruner import Pruner
from ragsieve.spec import SystemSpec
from tests.blocks import ROOT

ASKED = [
    (
        "Wann wurde die Brücke von Port Lorne eröffnet?",
        "Port Lorne liegt am Meer. Die Brücke wurde 1885 eröffnet. Hunde sind erlaubt.",
        "Der Bahnhof stammt aus dem Jahr 1901. Er hat vier Gleise.",
    ),
    (
        "¿Quién diseñó el puente?",
        "El puente se abrió en mayo. Fue diseñado por la ingeniera Marta Ruiz. Tiene tres arcos.",
        "El museo abre a las diez. La entrada cuesta cinco euros.",
    ),
    (
        "这座桥是什么时候开通的？",
        "洛恩港是一个海边小镇。这座桥于1885年开通。",
        "火车站有四条轨道。",
    ),
    (
        "When was the bridge opened?",
        "Port Lorne liegt am Meer. Die Brücke wurde 1885 eröffnet. Sie ist 240 Meter lang.",
        "Der Bahnhof stammt aus dem Jahr 1901. Er hat vier Gleise.",
    ),
]
QUESTIONS = [(question, [*documents]) for question, *documents in ASKED]
EVIDENCE = ["1885", "Marta Ruiz", "1885", "1885"]


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "multilingual"))
    yield
    sys.modules.pop("ragsieve_multilingual", None)


def test_evidence_survives_alone_and_among_others(installed):
    """The same spans in threads; less than all; the trace says what reads."""
    sieve = ragsieve.load("finefilter", "fake:echo")
    alone = [sieve(*one) for one in QUESTIONS]

    for result, among, evidence in zip(
        alone, sieve.map(QUESTIONS, workers=4), EVIDENCE, strict=True
    ):
        assert [s.key for s in result.kept] == [s.key for s in among.kept]
        assert evidence in result.text
        assert result.tokens.after < result.tokens.before
        assert result.answerable is not None and result.answerable > 0.5
        assert [] == result.trace.warnings
        assert any("read by another model" in n for s in result.trace.steps for n in s.notes)
        assert any("multilingual" in step.stage and step.usages for step in result.trace.steps)


def test_a_language_that_it_does_not_read_goes_by_characters(installed):
    result = ragsieve.load("finefilter", "fake:echo")(
        "Quand le pont de la ville a-t-il été ouvert ?", ["Le pont a été ouvert en 1885, je crois."]
    )

    assert "(fr): 1 of 1 documents are filtered by shared characters" in result.trace.warnings[0]


def test_english_is_as_without(installed):
    sieve = ragsieve.load("finefilter", "fake:echo")
    result = sieve("When was the bridge opened?", ["The bridge was opened in 1885. It rained."])

    assert not any("multilingual" in step.stage for step in result.trace.steps)
    assert "+pruner:multilingual@" in SystemSpec().identity


@pytest.mark.parametrize("name", ["large", "multilingual"])
def test_without_the_package_one_line_says_how_to_get_it(name):
    with pytest.raises(MissingExtra, match=rf"pip install 'ragsieve\[{name}\]'"):
        _ = Pruner(name).languages


def test_the_larger_net_is_a_distribution_of_its_own(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "large"))
    sieve = ragsieve.load("finefilter", "fake:echo", pruner="pruner:large")
    result = sieve("When was the bridge opened?", ["It rained. The bridge was opened in 1885."])

    assert result.text == "The bridge was opened in 1885."
    assert "pruner:large@" in {u.model[:13] for step in result.trace.steps for u in step.usages}
