"""Sources of labels: the table, the graph and the classifier, or the classifier alone."""

GIVEN, INDUCED, MODEL = SOURCES = ("given", "induced", "model")
"""Sources of labels.

A "given" label was in the table. An "induced" label was predicted by the graph and by the
classifier. A "model" label was predicted by the classifier only, because no label reaches the row
or the graph predicts another class.
"""
