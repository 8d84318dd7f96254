#!/usr/bin/env bash
# Guess: jc's parsers of drawn tables give one record for each row that psql and mysql print.
# Seen: `asciitable` gives one more of the line that counts the rows, its words put into the columns
# as if they were cells, without a warning; `asciitable_m`, the one for rows of several lines, joins
# all rows of a table by mysql into a single record, and refuses psql's.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check jc==1.26.1 2>/dev/null
"$d/v/bin/python" - <<'P'
import jc
PSQL = """ id | name
----+-------
  1 | Ada
  2 | Ben
(2 rows)
"""
MYSQL = """+----+------+
| id | name |
+----+------+
|  1 | Ada  |
|  2 | Ben  |
+----+------+
2 rows in set (0.00 sec)
"""
print("jc", jc.lib.__version__)
seen = {}
for parser in ("asciitable", "asciitable_m"):
    for program, text in (("psql", PSQL), ("mysql", MYSQL)):
        try:
            seen[parser, program] = jc.parse(parser, text, quiet=True)
        except jc.exceptions.ParseError as error:
            seen[parser, program] = type(error).__name__
        print(f"{parser:13} {program:6}", seen[parser, program])
print("guess: 2 records each; seen:", {key: len(one) if isinstance(one, list) else one for key, one in seen.items()})
held = [row["name"] for row in seen["asciitable", "psql"]] == ["Ada", "Ben", "rows)"]
counted = [row["id"] for row in seen["asciitable", "mysql"]] == ["1", "2", "2 rows"]
joined = seen["asciitable_m", "mysql"][0]["name"] == "Ada\nBen"
raise SystemExit(not (held and counted and joined and seen["asciitable_m", "psql"] == "ParseError"))
P
