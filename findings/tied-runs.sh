#!/usr/bin/env bash
# Guess: readers of one TREC run give one nDCG and reciprocal rank; where scores are tied they follow the column of ranks, or the
# order of the lines, so that a gold document written first counts as first.
# Seen (pytrec_eval-terrier 0.5.10, ir_measures 0.4.3, ranx 0.3.21): the column of ranks is read by none. trec_eval's measure, which
# ir_measures calls too, puts tied documents in falling order of their ids; ranx follows the order of the lines. The same run has a
# reciprocal rank of 1/3 and 1 with the gold document first of three, 1 and 1/3 with it last and its id the greatest.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check pytrec_eval-terrier==0.5.10 ir_measures==0.4.3 ranx==0.3.21
cd "$d"; NUMBA_DISABLE_JIT=1 timeout 300 "$d/v/bin/python" - <<'P'
import ir_measures, pytrec_eval, ranx

seen = {}
for name, order, gold in (("gold first, least id", ["a", "b", "c"], "a"), ("gold last, greatest id", ["a", "b", "c"], "c")):
    with open("run", "w") as run, open("qrels", "w") as qrels:
        run.writelines(f"q1 Q0 {one} {rank} 0.5 r\n" for rank, one in enumerate(order, 1))
        qrels.write(f"q1 0 {gold} 1\n")
    with open("run") as run, open("qrels") as qrels:
        judge = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), {"recip_rank"})
        trec = judge.evaluate(pytrec_eval.parse_run(run))["q1"]["recip_rank"]
    measured = ir_measures.calc_aggregate([ir_measures.RR], ir_measures.read_trec_qrels("qrels"), ir_measures.read_trec_run("run"))
    ranked = ranx.evaluate(ranx.Qrels.from_file("qrels", kind="trec"), ranx.Run.from_file("run", kind="trec"), "mrr")
    seen[name] = {"trec_eval": round(float(trec), 3), "ir_measures": round(measured[ir_measures.RR], 3), "ranx": round(float(ranked), 3)}
print(seen)
assert seen == {
    "gold first, least id": {"trec_eval": 0.333, "ir_measures": 0.333, "ranx": 1.0},
    "gold last, greatest id": {"trec_eval": 1.0, "ir_measures": 1.0, "ranx": 0.333},
}, seen
P
