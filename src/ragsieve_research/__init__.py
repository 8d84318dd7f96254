"""The papers' methods and how they are measured: systems, local models, sources, trainings,
benchmarks."""

import ragsieve as ragsieve  # sets what libraries read when they are imported
