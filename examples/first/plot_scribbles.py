"""
Segment a photo from a few scribbles
====================================

You draw a few strokes on a photo, for sky, water, trees and the pagoda. This example gives
every other pixel one of the four labels. There are few labels and many pixels, and pixels
that look alike and are close mostly belong to the same object. A graph solves this kind of
problem.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_sample_image

from graphmargin import MaxMarginGraphCut

photo = load_sample_image("china.jpg")[:426, :636] / 255.0
colors = {"pagoda": "#e4572e", "sky": "#9ad1f5", "trees": "#2a9d4a", "water": "#3457d5"}
strokes = {  # corners as (column, row) of the photo
    "sky": [[(30, 60), (140, 25)], [(290, 60), (600, 70)], [(370, 180), (530, 170)]],
    "water": [[(360, 300), (400, 260), (535, 250)], [(15, 288), (55, 290)]],
    "trees": [
        *([(10, 190), (50, 235)], [(12, 330), (14, 400), (180, 400), (265, 415)]),
        *([(360, 405), (440, 330), (550, 345)], [(600, 170), (585, 240), (600, 400)]),
    ],
    "pagoda": [
        *([(205, 40), (190, 90), (280, 120)], [(110, 120), (130, 150), (285, 148)]),
        *([(115, 180), (120, 210), (300, 215)], [(85, 268), (330, 262)]),
        *([(110, 310), (330, 300)], [(175, 348), (250, 350), (250, 380)]),
    ],
}


def draw_strokes(ax):
    """Draw the strokes in the colors of their classes, with a white rim."""
    for name, lines in strokes.items():
        for line in lines:
            x, y = np.transpose(line)
            ax.plot(x, y, color="white", linewidth=6, solid_capstyle="round")
            ax.plot(x, y, color=colors[name], linewidth=4, solid_capstyle="round")
    ax.axis("off")


figure, ax = plt.subplots(figsize=(8, 5.4), layout="constrained")
ax.imshow(photo)
draw_strokes(ax)
ax.set_title("strokes on a photo: sky, water, trees and pagoda")
plt.show()

# %%
# A row for each block of pixels
# ------------------------------
# To save time, the model learns from blocks of 6 x 6 pixels. A row holds the color of a
# block (brightness, red against green, yellow against blue) and its position. The scales
# determine the neighbors: here colors count more than brightness and small distances.

BLOCK = 6


def features(image, step):
    """Return color and place of every pixel; `step` is its size in the photo."""
    red, green, blue = np.moveaxis(image, -1, 0)
    light, redness = (red + green + blue) / 3, red - green
    yellowness = (red + green) / 2 - blue
    row, column = np.indices(light.shape) * step / 140
    columns = [2 * light, 4 * redness, 4 * yellowness, row, column]
    return np.stack(columns, axis=-1).reshape(-1, 5)


height, width = photo.shape[0] // BLOCK, photo.shape[1] // BLOCK
blocks = photo.reshape(height, BLOCK, width, BLOCK, 3).mean(axis=(1, 3))
y = np.full((height, width), "", dtype="<U6")  # "" is unlabeled
for name, lines in strokes.items():
    for line in lines:
        along = np.linspace(0, len(line) - 1, 500)
        x, z = (np.interp(along, range(len(line)), part) for part in np.transpose(line))
        y[z.astype(int) // BLOCK, x.astype(int) // BLOCK] = name
print(f"{y.size:,} blocks, {np.mean(y != ''):.0%} of them under a stroke")

# %%
# The graph finds the outlines
# ----------------------------
# A block is joined with eight others of similar color nearby. Dark blocks have a low
# confidence, because their walks end at different labels. They are along the outlines,
# and in the haze between lake and sky, where no stroke helps.

model = MaxMarginGraphCut(gamma_g=0.001, C=10.0, n_neighbors=8, approximation="nystroem")
model.fit(features(blocks, BLOCK), y.ravel())

figure, ax = plt.subplots(figsize=(8, 5.4), layout="constrained")
ax.imshow(model.confidence_.reshape(y.shape), cmap="magma", interpolation="bilinear")
ax.set_title("confidence of each block: bright is sure")
ax.axis("off")
plt.show()

# %%
# The cut labels pixels that it has not seen
# ------------------------------------------
# The classifier learned from blocks, but it is a function of color and position. Applied
# to every second pixel of the photo, it draws sharp outlines: columns, twigs and the tips
# of the roofs.

half = photo[::2, ::2]
labels = model.predict(features(half, 2))
paint = np.array([to_rgb(colors[name]) for name in model.classes_])
painted = paint[np.searchsorted(model.classes_, labels)].reshape(half.shape)

figure, ax = plt.subplots(figsize=(8, 5.4), layout="constrained")
ax.imshow(0.45 * half + 0.55 * painted, extent=(0, photo.shape[1], photo.shape[0], 0))
draw_strokes(ax)
ax.set_title("all pixels, painted in the color of their class")
plt.show()
for name in model.classes_:
    print(f"{name:8}{np.mean(labels == name):5.0%} of the photo")

# %%
# Summary
# -------
# A few strokes can label any data that you can turn into rows, so that rows of one class
# are neighbors. Where the result is wrong, draw one more stroke and fit again. The haze
# above the lake is labeled water, because no stroke says otherwise. The features are very
# simple; embeddings of a vision network would contain more.
# :class:`~graphmargin.MaxMarginGraphCut` explains all parameters, and :doc:`Choosing
# parameters </selection>` how to have them chosen.
