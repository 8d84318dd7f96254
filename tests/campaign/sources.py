"""Web pages and APIs whose server lies, hangs up, or sends what is no answer."""

import json
from functools import partial

from ragsieve import Query, RagsieveError
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.systems import build
from ragsieve_research.retrieve.route import AskAll, Named, Routed

from .campaign import Kind, lacking
from .laws import check_result, draw_question, draw_text, holds

RIGHT = [
    {"weather": {"sky": "grey", "city": "Rome"}}, [{"id": 3, "name": "Rome"}], {"result": "x"},
]  # fmt: skip
ODD = [None, True, 10**400, 1e308, "", "\ud800", [], {}, [[[]]], {"": {"": ""}}, "x" * 99_000]
HEADS = ["", "Content-Type: text/html", "Content-Encoding: gzip", "Content-Length: 5"]
HEADS += ["Transfer-Encoding: chunked", "Location: http://127.0.0.1:1/", "X: " + "y" * 9000]
STATUS = ["200 OK"] * 8 + ["500 x", "302 Found", "404 x", "204 x", "999", "", "200 \x1b[31m"]
QUESTIONS = ["What is the weather in Rome?", "Which order has orderId 7?", "weather Rome kelvin"]
HTML = ["<p>", "</p>", "<div>" * 3000, "<table><tr><td>", "<script>", "<!--", "&#0;", "&#x110000;"]
HTML += ["<title>", "<svg><style>", "<td rowspan=99999999>", "<ol start=-1>", "\x00", "<pre>"]

MARKUP = [
    "<script>PWN</script>", "</script><script>PWN</script>", "<img src=x onerror=PWN>",
    "<svg/onload=PWN>", "<a href='javascript:PWN'>x</a>", "<iframe srcdoc='<script>PWN</script>'>",
    "<style>*{background:url(http://evil.example/x)}</style>", "<base href=http://evil.example/>",
    "<form action=http://evil.example/><input autofocus onfocus=PWN>", "'\" onmouseover=PWN x='",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>", "${PWN}", "{{PWN}}", "-->",
    "<math><mtext></table><mglyph><style><!--</style><img title='--><img src=x onerror=PWN>'>",
    "\u2028PWN//", "<!--<script>", "]]><script>PWN</script>", "<link rel=stylesheet href=//evil>",
    "<details open ontoggle=PWN>", "\\u003cscript\\u003ePWN\\u003c/script\\u003e", "&lt;script&gt;",
]  # fmt: skip
CODE = "window.pwned=1"


def markup(rng):
    """A few attacks in a text."""
    found = [rng.choice([*MARKUP, draw_text(rng)]) for _ in range(rng.randrange(1, 5))]
    return rng.choice([" ", "", ". "]).join(found).replace("PWN", CODE)


def draw_json(rng):
    """An answer, of which some values are others."""
    value = rng.choice([*RIGHT, *ODD])
    for _ in range(rng.randrange(3)):
        inner = rng.choice([*ODD, draw_text(rng), value])
        value = {draw_text(rng)[:20]: inner, "weather": value} if rng.random() < 0.5 else [inner]
    text = json.dumps(value)
    return text if rng.random() < 0.8 else text[: rng.randrange(len(text) + 1)]


def draw_page(rng):
    """HTML of a page that was never right."""
    pieces = [rng.choice([rng.choice(HTML), markup(rng), draw_text(rng)]) for _ in range(9)]
    return "".join(pieces)


def draw(rng):
    """What the API's server answers, in turn; pages; a question."""
    replies = [
        [rng.choice(STATUS), rng.choice(HEADS), draw_json(rng), rng.choice([1, 1, 1, rng.random()])]
        for _ in range(3)
    ]
    pages = [draw_page(rng) for _ in range(rng.randrange(4))]
    question = rng.choice([*QUESTIONS, *QUESTIONS, draw_question(rng)])
    return {"replies": replies, "pages": pages, "question": question}


def check(value, folder):
    """Each source fails by a line or finds evidence; a system that asks both always answers."""
    from ragsieve_research.retrieve.apis.entities import Rules
    from ragsieve_research.retrieve.apis.openapi import described
    from ragsieve_research.retrieve.fetch import Http
    from ragsieve_research.retrieve.pages import Pages
    from ragsieve_research.retrieve.records import Records
    from tests.research.retrieve.apis.test_openapi import DOCUMENT
    from tests.serving import Sockets

    answers = [_bytes(*reply) for reply in value["replies"]]
    said = []

    def script(request, connection):
        said.append(len(request))
        connection.sendall(answers[len(said) % len(answers)])

    with Sockets(script) as server:
        http = Http(server.url, timeout_s=5, max_bytes=50_000, allow_private=True)
        api = Records(described(DOCUMENT), http, entities=Rules())
        web = Pages([{"html": page} for page in value["pages"]])
        for source in (api, web):
            try:
                source(Query(value["question"]))
            except RagsieveError as error:
                holds("an error is one line", "\n" not in str(error), error)
        named = [Named("api", "Weather.", api), Named("web", "Pages.", web)]
        both = Routed(named, AskAll())
        system = build("top-sentences", echo(), HashingEmbedder(32), source=both)
        result = system.lenient().ask(value["question"])
    check_result(result, system, None)
    holds("there is an answer", result.answer is not None)
    return 1


def _bytes(status, head, body, cut):
    length = "" if "Length" in head or "chunked" in head else f"Content-Length: {len(body)}\r\n"
    heads = f"HTTP/1.1 {status}\r\n{head}\r\n" if head else f"HTTP/1.1 {status}\r\n"
    data = f"{heads}{length}\r\n{body}".encode("utf-8", "surrogatepass")
    return data[: int(cut * len(data))]


SOURCES = Kind(
    "sources", 1_000, 30, draw, check, partial(lacking, "httpx", "html_to_markdown", "rapidfuzz")
)
