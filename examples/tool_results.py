import json

from ragsieve.agents.filter import ToolFilter

tickets = [
    "The export to PDF cuts off the last column of wide tables.",
    "Password resets arrive by mail only after half an hour.",
    "Refunds over 500 euros need the approval of a team lead since March.",
    "The dark mode of the mobile app shows grey text on black.",
    "Please add a Portuguese translation of the welcome page.",
    "Two-factor codes are refused where the phone's clock is off by a minute.",
    "Invoices of May show the old postal address of the company.",
    "The search box forgets its filter when one goes back a page.",
    "Uploading more than 20 photos at once stops at the thirteenth.",
    "The newsletter cannot be unsubscribed from in Safari.",
]
listed = [
    {"id": n, "state": "open", "opened_by": f"customer {7 * n}", "text": text}
    for n, text in enumerate(tickets)
]
messages = [
    {"role": "user", "content": "Prepare my meeting with the finance team."},
    {
        "role": "assistant",
        "content": "Who must approve a refund?",
        "tool_calls": [{"id": "c1", "function": {"name": "tickets", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps({"total": 10, "items": listed})},
]
results = ToolFilter()  # one for all conversations; call it before each call of your model
cut = results(messages)
print(cut.messages[-1]["content"])
print(cut.tokens, "tokens that a cache lost:", cut.cache_broken)
longer = [*messages, {"role": "user", "content": "And what do customers say of photos?"}]
print("the same at a later turn:", results(longer).messages[:3] == cut.messages)
(outcome,) = cut.outcomes.values()
print(results.show_dropped(outcome.handle, query="photos").runs[0].text)
