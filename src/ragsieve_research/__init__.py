"""The papers' methods and how they are measured: systems, local models, sources, trainings,
benchmarks."""
