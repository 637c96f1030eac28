"""A league of classifiers on many sets, with few labels: errors, ranks and times.

``python -m benchmarks.league`` measures what its file of results does not have yet, and
``python -m benchmarks.league --report`` writes docs/league.md from that file.
"""
