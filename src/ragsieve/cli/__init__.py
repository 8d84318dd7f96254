"""Arguments in, library call, text out; the only place that prints."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: see `ragsieve.cli.commands.main`.

    ``ragsieve --version`` alone imports nothing of it.
    """
    argv = sys.argv[1:] if arguments is None else arguments
    if [*argv] == ["--version"]:
        import ragsieve

        sys.stdout.write(f"ragsieve, version {ragsieve.__version__}\n")
        return
    from ragsieve.cli import commands

    commands.main(argv)
