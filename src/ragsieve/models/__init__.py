"""What computes, one file per backend, imported when a model of it is asked for."""
