"""A search for problems on which semi-supervised learning is worse than supervised learning.

Every method meets every problem with 2, 10 and 100 labels, in ten draws of rows and labels.
``python -m benchmarks.safety --out FILE.csv`` runs, prints the tables, and resumes where it was
interrupted. Errors are on rows that no method has seen; a method that fails is a result.
"""
