import asyncio
import json
import sys
from pathlib import Path

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
documents = [json.loads(line)["text"] for line in lines]
server = StdioServerParameters(command=sys.executable, args=["-m", "ragsieve", "mcp"])


async def main() -> None:
    async with Client(stdio_client(server)) as client:
        question = {"question": "Who drew the first design?", "documents": documents}
        kept = (await client.call_tool("filter_documents", question)).structured_content
        print(kept["text"])
        asked = {"handle": kept["handle"], "query": "Paris", "max_tokens": 2000}
        dropped = (await client.call_tool("show_dropped", asked)).structured_content
        print(dropped["runs"][0])


asyncio.run(main())
