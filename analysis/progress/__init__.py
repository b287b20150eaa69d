"""Progress of logged runs: steps and throughput, what a value cost, and where steps stopped while GPUs went on."""
