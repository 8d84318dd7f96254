#!/usr/bin/env bash
# Guess: a miner of log templates keeps a line apart in which a word says something else: of "backup
# of … finished" the one that "failed", of nodes that are "ready" the one that is "down".
# Seen: with its defaults Drain3 puts it into the template of the others and makes that word a
# parameter, so that the lines that matter cannot be told by their template, nor by how rare it is.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"; "$d/v/bin/pip" install -q --disable-pip-version-check drain3==0.9.11 2>/dev/null
"$d/v/bin/python" - <<'P'
import logging
from importlib.metadata import version
from drain3 import TemplateMiner
from drain3.template_miner_config import TemplateMinerConfig
logging.disable(logging.CRITICAL)
LINES = [
    *(f"backup of {name} finished in {n} s" for n, name in enumerate(("orders", "users", "carts"), 4)),
    "backup of bills failed in 2 s",
    *(f"node {name} is ready" for name in ("alpha", "beta", "gamma")),
    "node delta is down",
]
miner = TemplateMiner(config=TemplateMinerConfig())
for line in LINES:
    miner.add_log_message(line)
seen = {cluster.get_template(): cluster.size for cluster in miner.drain.clusters}
print("drain3", version("drain3"), seen)
print("guess: 4 templates, two of one line; seen:", len(seen))
raise SystemExit(seen != {"backup of <*> <*> in <*> s": 4, "node <*> is <*>": 4})
P
