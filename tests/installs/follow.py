"""Follow a page in an environment, with its own Python: ``follow.py STEPS RESULTS FAKE HOME``.

STEPS is JSON, a list of steps as `steps.py` makes them. RESULTS gets a line of JSON a step, and one
for the end of a server: seconds of processors, and what was wrong, if anything. FAKE is the address
of the server that stands in for those of models; HOME is the RAGSIEVE_HOME of commands, with a
small LLM in the place of SmolLM2. Only the standard library is imported: the environment has what
its line of installation brings, and nothing else.
"""

import contextlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback
import urllib.request
from pathlib import Path

TIMEOUT_S = 600
SERVER = re.compile(r"http://127\.0\.0\.1:\d+|https://api\.openai\.com")


def same(printed, expected, trained):
    """Whether a page has what is printed; shares after a training differ with the processor."""
    texts = [re.sub(r"\d+%", "%", text) if trained else text for text in (printed, expected)]
    return texts[0] == texts[1]


class Reader:
    """Who follows a page: names of its Python blocks, and the server that they have started."""

    def __init__(self, page, fake, home):
        self.names = {"__name__": "__main__", "__file__": str(Path(page).resolve())}
        self.fake = fake
        self.variables = {**os.environ, "RAGSIEVE_HOME": home}
        self.own = ""
        self.server = None

    def take(self, step):
        """Take a step: what is wrong, or nothing."""
        if "write" in step:
            Path(step["write"]).write_text(step["text"], encoding="utf-8")
            return ""
        if "serve" in step:
            return self.stop() or self.serve(SERVER.sub(self.fake, step["serve"]))
        if "python" in step:
            printed, wrong = self.python(SERVER.sub(self.own or self.fake, step["python"]))
        else:
            printed, wrong = self.shell(step["lines"])
        expected = step["output"]
        trained = any("train" in line for line in step.get("lines", ()))
        if not wrong and expected is not None and not same(printed, expected, trained):
            wrong = f"printed {printed!r} where the page has {expected!r}"
        return wrong

    def python(self, text):
        """What a block prints, and the error that it ends in."""
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(text, "block", "exec", dont_inherit=True), self.names)
        except BaseException:
            return out.getvalue(), traceback.format_exc(limit=-2)
        return out.getvalue(), ""

    def shell(self, lines):
        """What commands print, and the last words of the first that fails."""
        printed = ""
        for line in lines:
            address = self.own if line.startswith("curl") and self.own else self.fake
            command = ["bash", "-c", SERVER.sub(address, line)]
            try:
                done = subprocess.run(
                    command,
                    env=self.variables,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                )
            except subprocess.TimeoutExpired:
                return printed, f"{line}: no end after {TIMEOUT_S} s"
            printed += done.stdout
            if done.returncode:
                return printed, f"{line}: exit {done.returncode}: {done.stderr[-1500:].strip()}"
        return printed, ""

    def serve(self, line):
        """Start a server on a port that no system gives out by itself, until it is ready."""
        port = random.SystemRandom().randrange(20_000, 32_000)
        line = re.sub(r" --port \d+", "", line)
        line = line.replace("ragsieve serve", f"exec ragsieve serve --port {port}")
        with Path("serve.log").open("w", encoding="utf-8") as log:
            self.server = subprocess.Popen(
                ["bash", "-c", line],
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end and self.server.poll() is None:
            with contextlib.suppress(OSError):  # not up, or not ready
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5).close()
                self.own = f"http://127.0.0.1:{port}"
                return ""
            time.sleep(0.05)
        said = Path("serve.log").read_text(encoding="utf-8")[-1500:].strip()
        return f"{line}: {said or 'not ready'}"

    def stop(self):
        """End the server as a person does, where there is one."""
        server, self.server, self.own = self.server, None, ""
        if server is None or server.poll() is not None:
            return ""
        server.send_signal(signal.SIGTERM)
        try:
            code = server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            return "ragsieve serve: no end within 30 s of SIGTERM"
        return f"ragsieve serve: exit {code} after SIGTERM" if code else ""


def main():
    """Take the steps, and say of each how it went."""
    steps = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    reader = Reader(steps[0]["page"], *sys.argv[3:])
    with Path(sys.argv[2]).open("a", encoding="utf-8", buffering=1) as results:
        for step in steps:
            begun = sum(os.times()[:4])
            wrong = reader.take(step)
            row = {"cpu": sum(os.times()[:4]) - begun, "wrong": wrong}
            results.write(json.dumps(row) + "\n")
        begun = sum(os.times()[:4])
        row = {"wrong": reader.stop(), "cpu": sum(os.times()[:4]) - begun}
        results.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
