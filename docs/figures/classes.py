"""Three classes, with one label each."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from moons import finish
from sklearn.datasets import make_blobs

from graphmargin import MaxMarginGraphCut
from graphmargin.plotting import CutDisplay, HarmonicDisplay

centers = [(0, 0), (3, 0), (1.5, 2.6)]
X, y = make_blobs([70, 70, 70], centers=centers, cluster_std=0.75, random_state=4)
few = np.full(len(y), -1)
for k in range(3):
    few[np.flatnonzero(y == k)[0]] = k
model = MaxMarginGraphCut(gamma_g=0.05, C=1.0, n_neighbors=7).fit(X, few)

figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2.8), layout="constrained")
HarmonicDisplay.from_estimator(model, X).plot(left, size=11)
finish(left, "confidence")
CutDisplay.from_estimator(model, X, resolution=120).plot(right, size=11)
finish(right, "cut")
