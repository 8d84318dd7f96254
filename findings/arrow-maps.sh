#!/usr/bin/env bash
# Guess: a MAP column of Arrow (as Spark and DuckDB write metadata) is a mapping in every frame, and a frame gives it back to Arrow as a MAP.
# Seen (pyarrow 26.0.1, pandas 3.1.1, polars 2.1.0, duckdb 2.0.1, datasets 5.2.0): polars and DuckDB have mappings, pyarrow and pandas lists of
# pairs. pandas gives Arrow a list of lists, in which key and value have one type, and JSON the same. datasets refuses the column at all. So one
# Parquet file of passages has metadata["page"] in two of five readers.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 datasets==5.2.0
cd "$d"; HF_HUB_OFFLINE=1 timeout 300 "$d/v/bin/python" -W ignore - <<'P'
import datasets, duckdb, pandas, polars, pyarrow
from pyarrow import parquet

kind = pyarrow.map_(pyarrow.string(), pyarrow.string())
table = pyarrow.table({"metadata": pyarrow.array([[("page", "3")]], kind)})
parquet.write_table(table, "p.parquet")
frame = pandas.read_parquet("p.parquet")
seen = {
    "pyarrow": parquet.read_table("p.parquet")["metadata"].to_pylist()[0],
    "pandas": frame["metadata"][0],
    "pandas to Arrow": str(pyarrow.table(frame).schema.field("metadata").type),
    "pandas to JSON": frame.to_json(orient="records"),
    "polars": polars.read_parquet("p.parquet")["metadata"][0],
    "DuckDB": duckdb.sql("select metadata from 'p.parquet'").fetchall()[0][0],
}
try:
    seen["datasets"] = datasets.Dataset(table)[0]["metadata"]
except ValueError as error:
    seen["datasets"] = str(error)
for name, value in seen.items():
    print(name, value)
assert seen == {
    "pyarrow": [("page", "3")],
    "pandas": [("page", "3")],
    "pandas to Arrow": "list<item: list<item: string>>",
    "pandas to JSON": '[{"metadata":[["page","3"]]}]',
    "polars": {"page": "3"},
    "DuckDB": {"page": "3"},
    "datasets": "Arrow type map<string, string> does not have a datasets dtype equivalent.",
}, seen
P
