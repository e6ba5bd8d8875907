# %% [markdown]
# # A wrong answer: find the cause, remove it
#
# In ten minutes: a net takes an astronaut for a football helmet. You see what it looked at, paint that over, and the
# answer changes; controls show that it was this part and no other.
#
# ![The photo in colour where half of the credit for football helmet lies: the helmet at the lower right and the collar](03_misclassification-1.png)
#
# You need `pip install 'samp[demo,viz,compare]'`. The photo is NASA's, in the public domain, and comes with
# scikit-image (in the extra `compare`).

# %%
import torch
from PIL import Image
from skimage import data

import samp

classifier = samp.models.load("efficientnet_lite0")
photo = Image.fromarray(data.astronaut())
picture, image = classifier.crop(photo), classifier.prepare(photo)


@torch.no_grad()
def answers(x, count=3):
    """Return the best classes with their probabilities."""
    best = classifier.net(x)[0].softmax(0).topk(count)
    return [(classifier.label(i), round(p, 3)) for i, p in zip(best.indices.tolist(), best.values.tolist())]


before = answers(image, 5)
before

# %% [markdown]
# Wrong, and unsure: "football helmet" at one in six. No class of this net is called astronaut, so it cannot be right;
# but why a helmet, and not "space shuttle", which there is behind her?
#
# ## What it looked at

# %% alt="The photo in colour where half of the credit for football helmet lies: the helmet at the lower right and the collar"
result = samp.explain(classifier.net, image)
samp.plots.outline(result, picture, title=f"Why {before[0][0]}?")

# %% [markdown]
# Two places stand out: the helmet under her arm, at the lower right, and the neck ring of her suit. The map says that
# both were credited. It does **not** say which of them the answer needs. That is measured by taking each away.
#
# ## Take one thing away at a time
#
# We mark both by hand, and three controls of about the same size: the head, the lower left of the suit, and the
# shuttle. How a part is taken away matters ([the first tutorial](01_photo.md) has an example), so we do it in four
# ways.


# %%
def box(top, bottom, left, right):
    """Return a mask of the picture, true in this rectangle of pixels."""
    mask = torch.zeros(224, 224, dtype=torch.bool)
    mask[top:bottom, left:right] = True
    return mask


parts = {
    "the helmet": box(150, 224, 135, 224),
    "the collar": box(50, 132, 45, 142),
    "control: head": box(0, 75, 50, 140),
    "control: suit": box(150, 224, 0, 89),
    "control: shuttle": box(0, 120, 170, 224),
}
fills = {
    "weak blur": samp.baselines.Blurred(kernel=31, sigma=5.0)(image),
    "strong blur": samp.baselines.Blurred(kernel=91, sigma=15.0)(image),
    "grey": torch.zeros_like(image),
    "mean colour": image.mean((2, 3), keepdim=True).expand_as(image),
}
helmet = classifier.index("football helmet", outputs=1000)


@torch.no_grad()
def ask(x):
    """Return the probability of football helmet, and the best class."""
    p = classifier.net(x)[0].softmax(0)
    return p[helmet].item(), classifier.label(p.argmax().item())


print(f"{'without':<18}" + "".join(f"{fill:>22}" for fill in fills))
after = {}
for name, mask in parts.items():
    after[name] = [ask(torch.where(mask, fill, image)) for fill in fills.values()]
    print(f"{name:<18}" + "".join(f"{f'{p:.0%} {best}':>22}" for p, best in after[name]))

# %% [markdown]
# - **The helmet is the cause.** Without it, "football helmet" is gone, whichever way it is taken away: about 1 %,
#   from 16 %.
# - **The collar is not**, although the map credits it. Without it the class stays about as likely, and by grey it
#   becomes *more* likely. A credit says what the score did along a walk from an empty picture; it is not a promise
#   about what happens when a part is removed. That is why one asks.
# - **The controls stay near 16 %**, but for the shuttle: without it the class falls to 10 %, and "bobsled" is first.
#   So the shuttle helps a little as well, and a difference of a few per cent between first and second proves nothing.
#
# ## The changed picture
#
# What is left, with the helmet blurred strongly, as a person sees it:

# %% alt="The astronaut with the helmet at the lower right blurred away"
without = torch.where(parts["the helmet"], fills["strong blur"], image)
pixels = (without[0] * classifier.std + classifier.mean).clamp(0, 1).permute(1, 2, 0)
pasted = Image.fromarray((255 * pixels).round().byte().numpy())
pasted.resize((448, 448))

# %%
answers(without, 5)

# %% [markdown]
# The helmet is gone from the answer, and **the answer is not right now either**: there is no right class, and nothing
# above one in ten. Removing the cause of an error is a test of the explanation; it does not repair the net.
#
# ## What takes over?
#
# Explain the new answer too.

# %% alt="The region for the new answer: her neck, the neck ring and the front of the suit"
again = samp.explain(classifier.net, without)
samp.plots.outline(again, pasted, title=f"Why {answers(without)[0][0]}, without the helmet?")

# %% [markdown]
# Now her neck, the neck ring and the front of the suit. An answer that the net gives 6 % is hardly an answer, and we
# would not tell a story about it: the caption says that this map is reproducible over larger squares only.
#
# **Next:** [compare methods honestly](04_comparing.md): would another method have pointed at the helmet alone?
