"""The figures, the table and the claims of the paper, and the question that it leaves open.

Kveton, Valko, Rahimi and Huang: Semi-Supervised Learning with Max-Margin Graph Cuts, AISTATS 2010.

``python -m reproduction all`` in a clone of the repository repeats all experiments. A folder is an
experiment: `run` computes records, `claims` compares them with what the paper says, `draw` makes
the figures, and `section` writes the text. `pairs` has what the experiments on pairs of classes of
UCI tables share.
"""
