"""The document that holds views, as text."""

import base64
import hashlib
import json
import re

from ragsieve.inspector import page
from ragsieve.inspector.page import policy

EVIL = "</script><script>alert(1)</script><!-- \u2028 & \ud800 \x00 ]]>"


def data_of(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found[1])


def empty(**values):
    """A view of nothing."""
    lists = ("documents", "spans", "segments", "kept", "steps", "notes", "warnings")
    bare = {"name": "", "question": "Who?", "answer": None, "tokens": {"before": 0, "after": 0}}
    return {**bare, **{name: [] for name in lists}, **values}


def test_no_text_is_markup():
    """What a view says stands in the page's data alone, and comes out as it went in, made safe;
    numbers that JSON has not, which a view from elsewhere may hold, become text."""
    html = page([empty(question=EVIL, name=EVIL, notes=[EVIL, float("nan"), float("inf")])])
    shown = EVIL.replace("\ud800", "\ufffd").replace("\x00", "\ufffd")

    assert 2 == html.count("<script")
    assert "alert(1)</" not in html.replace("alert(1)&lt;/", "")
    assert [shown, "nan", "inf"] == data_of(html)["views"][0]["notes"]
    assert html.encode("utf-8")


def test_the_page_names_no_other_place_and_runs_its_own():
    """By hashes of script and style; a live page may ask its server."""
    html = page([empty()])
    script, style = html.rsplit("<script>", 1)[1], html.split("<style>", 1)[1]
    texts = (script.split("</script>")[0], style.split("</style>")[0])
    hashes = [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts]

    assert f"script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'" in html
    assert "default-src 'none'" in policy(live=False)
    assert "connect-src 'none'" in policy(live=False)
    assert "connect-src 'self'" in policy(live=True)
    assert policy(live=True) in page([], live=True)

    html = page([empty()])

    assert {"http://www.w3.org/2000/svg"} == {*re.findall(r"https?://[^\"'\s]+", html)}
    assert [] == re.findall(
        r"(?:src|@import|url\()=?", html.split("<style>")[1].split("</style>")[0]
    )
