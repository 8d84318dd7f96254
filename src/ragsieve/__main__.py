"""``python -m ragsieve``: the command line."""

from ragsieve.cli import main

main()
