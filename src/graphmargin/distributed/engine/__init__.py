"""The machinery of a run: workers, storage, checkpoints, memory, samples."""
