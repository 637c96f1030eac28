"""Benchmarks of graphmargin and other libraries: time, memory and error, as ratios of one run.

`python -m benchmarks SUITE ...` measures, `python -m benchmarks report` writes
`docs/performance.md` from the stored measurements.

- `problems`: rows, few labels and the true classes
- `systems`: graphmargin and other libraries behind one interface
- `suites`: which systems are measured on which problems
- `measure`: one system on one problem, in a process of its own
- `session`: all systems of a suite in turns; every result is stored
- `report`: tables, plots and the page

`neighbor_search`, `direct_solver`, `defaults`, `safety` and others are separate scripts.
"""
