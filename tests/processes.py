"""Programs in an interpreter of their own."""

import subprocess
import sys


def python(code, *arguments, **options):
    """What a program leaves that ends well, as text; options are those of `subprocess.run`."""
    usual = {"capture_output": True, "text": True, "check": True, "timeout": 300}
    return subprocess.run([sys.executable, "-c", code, *arguments], **{**usual, **options})
