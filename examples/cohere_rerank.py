import atexit
import json
import subprocess
import sys
from pathlib import Path

import cohere

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
documents = [json.loads(line)["text"] for line in lines]

command = [sys.executable, "-m", "ragsieve", "serve", "--port", "0"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
atexit.register(server.terminate)
assert server.stdout
url = server.stdout.readline().split()[-1]  # "ragsieve serves at http://127.0.0.1:PORT"

client = cohere.ClientV2(api_key="none", base_url=url)  # the line that changes
reply = client.rerank(
    model="rerank-v5.0-pro",
    query="Who drew the first design of the Eiffel Tower?",
    documents=documents,
    top_n=2,
    relevant_spans=cohere.RerankRelevantSpans(mode="enabled", threshold=0.5),
)
for result in reply.results:
    print(f"document {result.index}, relevance {result.relevance_score:.2f}")
    for span in result.relevant_spans or []:
        print(documents[result.index][span.start : span.end])
