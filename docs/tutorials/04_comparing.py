# %% [markdown]
# # Compare methods honestly
#
# In ten minutes: several methods on the same images, judged in several ways, with intervals, with controls that must
# lose, and with the places where our own default loses.
#
# ![Two digits with the maps of the default, its fine quality, SAMP++, IG, the gradient, Grad-CAM, an edge detector and noise](04_comparing-1.png)
#
# You need `pip install 'samp[viz,metrics]'`. The net and twenty digits of MNIST come with samp. Twenty images are
# few: the intervals say how few.
#
# ## Methods, and two controls
#
# `random` is noise. `sobel` is an edge detector, which never sees the net. A judge that puts one of them before real
# methods measures something else than what the net did.

# %%
import gzip
from importlib import resources

import numpy as np
import torch

import samp

classifier = samp.models.load("mnist_slim")
net = classifier.net
with gzip.open(str(resources.files("samp") / "data" / "digits" / "t10k-images-idx3-ubyte.gz")) as file:
    pixels = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
digits = torch.tensor(pixels.copy())[:, None] / 255
methods = {
    "default": samp.Consensus(),
    "fine": samp.Consensus("fine"),
    "SAMP++": "samp++",
    "IG": "ig",
    "gradient": "gradient",
    "Grad-CAM": "gradcam",
    "Sobel": "sobel",
    "random": "random",
}
compared = samp.compare(net, digits, methods, judges="panel")

# %% alt="Two digits with the maps of the default, its fine quality, SAMP++, IG, the gradient, Grad-CAM, an edge detector and noise"
maps = {row.name: row.attribution.map[:2] for row in compared.rows}
samp.plots.method_grid(digits[:2], maps, shade=samp.plots.Signed())

# %% [markdown]
# ## One number, with an interval
#
# *Insertion − Deletion*: how fast the score rises when pixels come in the order of their credit, less how it falls
# when they go.

# %%
curves = {row.name: row.curves for row in compared.rows}
for name, one in curves.items():
    print(f"{name:<10}{samp.metrics.summarise(one.insertion - one.deletion)}")

# %% [markdown]
# Each line has the mean, the spread over images, and in brackets the 95 % interval of the mean. Where two intervals
# do not overlap, the difference is clear. Where they do, compare image by image, which is sharper:

# %%
against = {}
for name in ("SAMP++", "IG", "random"):
    for measure, better in (("deletion", "lower"), ("insertion", "higher")):
        pair = getattr(curves["default"], measure), getattr(curves[name], measure)
        against[name, measure] = samp.metrics.compare_pairs(*pair, better=better)
        print(f"{measure}, default (a) and {name} (b): {against[name, measure]}")

# %% [markdown]
# The default wins Insertion, and **loses Deletion to SAMP++**. Neither is "the" truth: by adding the two we would
# have hidden it.
#
# ## Other protocols, other rankings
#
# The same maps under four published protocols. They differ in what is put in place of a pixel and in how many go at
# once.

# %%
differences = {}
print(f"{'insertion − deletion':<22}" + "".join(f"{name:>10}" for name in curves))
for protocol in ("mnist", "rise", "diffid", "road"):
    for row in compared.rows:
        one = samp.metrics.deletion_insertion(net, digits, row.attribution, protocol=protocol)
        differences[protocol, row.name] = (one.insertion - one.deletion).mean().item()
    print(f"{protocol:<22}" + "".join(f"{differences[protocol, name]:>10.3f}" for name in curves))

# %% [markdown]
# The order of the columns changes from row to row. A paper that shows one protocol shows one of these
# rows, so choose it before you look, and show more than one.
#
# Noise is last nearly everywhere, as it should be. Where it is not, look at who is below it: on a black digit image,
# Grad-CAM's coarse map is of little use to these judges.
#
# ## All judges at once
#
# `judges="panel"` asked every judge that needs no truth and no other net; bold is best.

# %%
from IPython.display import Markdown

Markdown(compared.panel.table())

# %% [markdown]
# Read the columns as a sceptic:
#
# - **SDS puts the edge detector first.** So a good SDS on digits says little: ink is where the score is.
# - **"Another class" and "random weights"** ask whether the map depends on the class and on the weights at all. The
#   controls have 0 there, as they must. The path methods are near 0 too: for digits, ink decides their maps more than
#   the class does. **Grad-CAM wins both.**
# - **"Same twice"**: IG makes the same map each time and has 1. The default is a mean of walks with noise, so it
#   comes close to 1 and does not reach it.
# - **Ranks depend on who takes part**: a method that beats only the weak gains by every weak row more. So list all that
#   you ran, and leave none out for the look of it.
# - **The mean rank** is a summary of judges that measure different things, and its intervals are for these twenty
#   digits of this net. It is where to begin and not where to end.
#
# On four larger nets, with 19 judges and settings that were not chosen on the images, the
# [leaderboard](../../results/panel.md) has the same table; it says where others win.
#
# ## What this does not tell
#
# No judge here knows the truth. They remove pixels, and a net that never saw a photo with holes answers oddly ([the
# first tutorial](01_photo.md) has an example). Nets of known truth are the exception: [metrics](../metrics.md) says
# which judge asks what.
#
# **Next:** [a text](05_text.md).
