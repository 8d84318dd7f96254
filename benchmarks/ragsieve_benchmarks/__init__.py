"""Systems to measure others against, outside the wheel: oracles, ablations, others' filters.

``pip install -e benchmarks`` registers them by the entry points ``ragsieve.systems``.
"""
