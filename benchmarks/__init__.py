"""Benchmarks of graphmargin beside its rivals: time, memory and error, as ratios of one run.

`python -m benchmarks SUITE ...` measures, `python -m benchmarks report` writes
`docs/performance.md` from what was measured.

- `problems`: rows, few labels and the answers
- `systems`: graphmargin and its rivals behind one face
- `suites`: which systems meet on which problems
- `measure`: one system on one problem, in a process of its own
- `session`: a suite in turns over the repeats; every result is stored
- `report`: tables, plots and the page

`neighbor_search`, `direct_solver`, `defaults`, `safety` and others are scripts of their own.
"""
