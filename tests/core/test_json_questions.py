"""The default filter on questions about fields of JSON: tickets, orders, pods, prices."""

import json

import pytest

import ragsieve

pytestmark = [pytest.mark.models, pytest.mark.slow]

PEOPLE = ["Ana Ray", "Bo Lind", "Cy Obi", "Dee Wu", "Eli Sand", "Fay Moss", "Gus Holm", "Hana Ito"]
TROUBLES = [
    ("Login fails after five seconds", "The session cookie is dropped by the proxy."),
    ("Export has no header row", "CSV files begin with the first record."),
    ("Printer offline in Oslo", "The driver was removed by an update."),
    ("Search returns nothing for umlauts", "The index was built without folding."),
    ("Invoices are sent twice", "The retry job ignores the sent flag."),
    ("Dark mode flickers", "The theme is read after the first paint."),
]
TICKETS = {"total": 6, "issues": [
    {"id": str(10000 + n), "key": f"OPS-{n + 1}", "fields": {
        "summary": summary, "status": {"name": ["Open", "Done", "In Progress"][n % 3]},
        "priority": {"name": ["High", "Low", "Blocker"][n % 3]},
        "assignee": {"displayName": PEOPLE[n], "emailAddress": f"{PEOPLE[n][:3].lower()}@x.org"},
        "created": f"2026-03-{n + 1:02}T10:00:00.000+0000", "fixVersions": [{"name": f"4.{n}.1"}],
        "labels": ["auth", "web"], "description": told}}
    for n, (summary, told) in enumerate(TROUBLES)
]}  # fmt: skip
ORDERS = [
    {"orderId": f"A{1000 + n}", "customer": {"name": PEOPLE[n], "city": ["Oslo", "Rome"][n % 2]},
     "items": [{"sku": f"SK-{n}{k}", "title": ["Desk lamp", "Oak table", "Wool rug"][(n + k) % 3],
                "quantity": k + 1, "price": {"amount": 10 * n + k + 0.5, "currency": "EUR"}}
               for k in range(2)],
     "shipping": {"carrier": ["DHL", "UPS", "PostNord"][n % 3], "trackingNumber": f"TR{n}77{n}",
                  "estimatedDelivery": f"2026-05-{10 + n}"},
     "payment": {"method": ["card", "invoice"][n % 2], "status": ["paid", "pending"][n % 2]}}
    for n in range(8)
]  # fmt: skip
PODS = {"items": [
    {"metadata": {"name": f"pod-{name}", "namespace": "prod", "labels": {"app": name}},
     "spec": {"containers": [{"name": name, "image": f"reg.io/{name}:1.{n}",
                              "resources": {"limits": {"memory": f"{128 * (n + 1)}Mi"}},
                              "ports": [{"containerPort": 8000 + n}]}], "nodeName": f"node-{n}"},
     "status": {"phase": ["Running", "Pending"][n % 2], "restartCount": n * 7}}
    for n, name in enumerate(("auth", "billing", "search", "mail", "cache"))
]}  # fmt: skip
ASKED = [
    (TICKETS, "Who is assigned to OPS-3?", "Cy Obi"),
    (TICKETS, "What is the status of OPS-2?", '"Done"'),
    (TICKETS, "Why are invoices sent twice?", "retry job ignores"),
    (TICKETS, "Which version fixes the printer problem in Oslo?", "4.2.1"),
    (TICKETS, "When was OPS-4 created?", "2026-03-04"),
    (TICKETS, "Who works on the missing header in exports?", "Bo Lind"),
    (ORDERS, "When will order A1003 arrive?", "2026-05-13"),
    (ORDERS, "Which carrier ships order A1004?", "UPS"),
    (ORDERS, "What is the tracking number of order A1006?", "TR6776"),
    (PODS, "What is the memory limit of the search pod?", "384Mi"),
    (PODS, "Which port does mail listen on?", "8003"),
    (PODS, "On which node does cache run?", "node-4"),
]


@pytest.mark.parametrize(
    ("keep_answer", "max_tokens", "least"), [(0.95, None, 22), (0.8, None, 22), (0.95, 150, 12)]
)
def test_fields_that_answer_are_kept(keep_answer, max_tokens, least):
    """Of 24 questions, over JSON on one line and indented; at most half of it stays."""
    system = ragsieve.load("finefilter").at(keep_answer=keep_answer, max_tokens=max_tokens)
    cases = [(json.dumps(v, indent=i), q, a) for i in (None, 2) for v, q, a in ASKED]
    found = [(system(question, [text]), text, answer) for text, question, answer in cases]
    shares = [sum(len(s.text) for s in result.kept) / len(text) for result, text, _ in found]

    assert sum(any(a in s.text for s in r.kept) for r, _, a in found) >= least
    assert sum(shares) / len(shares) <= 0.5
