"""The figures, the table and the claims of the paper, and the question that it leaves open.

Kveton, Valko, Rahimi and Huang: Semi-Supervised Learning with Max-Margin Graph Cuts, AISTATS 2010.
Modules compute; `graphmargin reproduce` runs them, and `graphmargin.report` writes what they found.
"""
