#!/usr/bin/env bash
# Guess: `model.save_pretrained(folder)` writes the model in whichever process calls it; its option `is_main_process` is True by
# default, and whoever trains with several processes guards the call himself. So each of two processes that saves to a folder of its
# own finds the whole checkpoint there.
# Seen (transformers 5.23.0, torch 2.13.0, two processes joined by gloo): the first process has `config.json` and the weights. The second one's
# folder is made and stays empty, without an error or a warning, also with `is_main_process=True` written out; its configuration alone
# (`config.save_pretrained`) is written. Without a process group all of it is, in both.
set -euo pipefail
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
python3 -m venv "$d/v"
"$d/v/bin/pip" install -q --disable-pip-version-check torch==2.13.0 transformers==5.23.0 numpy==2.4.4
cd "$d"; cat > save.py <<'P'
import os
import sys

import torch.distributed
import transformers

transformers.logging.disable_progress_bar()
rank = int(os.environ["RANK"])
if joined := sys.argv[1] == "joined":
    torch.distributed.init_process_group("gloo")
config = transformers.BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=9)
model = transformers.BertForTokenClassification(config)
for name, save in (
    ("model", model.save_pretrained),
    ("told", lambda folder: model.save_pretrained(folder, is_main_process=True)),
    ("config", config.save_pretrained),
):
    folder = f"{sys.argv[1]}-{rank}-{name}"
    save(folder)
    print(f"{folder}: {' '.join(sorted(os.listdir(folder))) or 'nothing'}", flush=True)
if joined:
    torch.distributed.destroy_process_group()
P
export MASTER_ADDR=127.0.0.1 WORLD_SIZE=2
MASTER_PORT=$("$d/v/bin/python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"); export MASTER_PORT
for how in alone joined; do
    for rank in 0 1; do RANK=$rank timeout 300 "$d/v/bin/python" save.py $how 2>>errors >>"$how" & done; wait
done
sort alone joined | tee seen
diff seen - <<'S'
alone-0-config: config.json
alone-0-model: config.json model.safetensors
alone-0-told: config.json model.safetensors
alone-1-config: config.json
alone-1-model: config.json model.safetensors
alone-1-told: config.json model.safetensors
joined-0-config: config.json
joined-0-model: config.json model.safetensors
joined-0-told: config.json model.safetensors
joined-1-config: config.json
joined-1-model: nothing
joined-1-told: nothing
S
