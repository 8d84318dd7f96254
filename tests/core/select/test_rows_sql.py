"""Rows that SQL gives for a predicate, and rows kept for the same predicate in words.

DuckDB is the judge. `SEEN` are the wordings that the reader of conditions was written against;
`HELD` were written down before it and are only measured.
"""

from __future__ import annotations

SEEN = {
    "=": [
        "Which {rows} have the {column} {a}?",
        "Show the {rows} whose {column} is {a}.",
        "How many {rows} are there with {column} {a}?",
    ],
    "in": ["Compare the {rows} with {column} {a} and {b}.", "List {rows} whose {column} is {a} or {b}"],
    "<>": ["Which {rows} do not have the {column} {a}?", "All {rows} except those with {column} {a}."],
    ">": ["Which {rows} have a {column} over {a}?", "{rows} with a {column} of more than {a}"],
    ">=": ["Which {rows} have a {column} of at least {a}?", "{rows} whose {column} is {a} or more"],
    "<": ["Which {rows} have a {column} under {a}?", "List {rows} with a {column} of less than {a}."],
    "<=": ["Which {rows} have a {column} of at most {a}?", "{rows} whose {column} is no more than {a}"],
    "between": ["Which {rows} have a {column} between {a} and {b}?", "{rows} with {column} from {a} to {b}"],
    "after": ["Which {rows} have a {column} after {a}?", "{rows} later than {a}"],
    "before": ["Which {rows} have a {column} before {a}?", "What {rows} came before {a}?"],
    "during": ["Which {rows} are from {a} to {b}?", "{rows} between {a} and {b}"],
}
HELD = {
    "=": [
        "I need every {row} where the {column} equals {a}",
        "give me all {rows} with {a} as {column}",
        "{a}: what are the {rows} of this {column}?",
    ],
    "in": ["What do we know of {column} {a}, and of {b}?", "either {a} or {b} as {column}: which {rows}?"],
    "<>": ["every {row} whose {column} isn't {a}", "{rows} of any {column} other than {a}"],
    ">": ["{rows} that exceed {a} in {column}", "where is the {column} higher than {a}? name the {rows}"],
    ">=": ["{rows} with a minimum {column} of {a}", "{rows} having {column} >= {a}"],
    "<": ["{rows} whose {column} is smaller than {a}", "the {rows} that stay below a {column} of {a}"],
    "<=": ["{rows} with a {column} up to {a}", "the {column} should be {a} or less: which {rows}?"],
    "between": ["{rows} where {column} lies in the range {a} to {b}", "{column} {a}-{b}: which {rows}?"],
    "after": ["{rows} past {a}", "Any {rows} more recent than {a}?"],
    "before": ["{rows} up until {a}, that day not included", "Name the {rows} earlier than {a}."],
    "during": ["{rows} starting {a} and ending {b}", "everything in the {rows} from {a} through {b}"],
}
