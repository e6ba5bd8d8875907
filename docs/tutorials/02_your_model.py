# %% [markdown]
# # Your own model
#
# In five minutes: explain a net of your own, whatever it takes and returns. You need no wrapper, no hooks and no
# change of the model.
#
# ![Digits with the pixels that made the net tell 3 from 8, orange for 3 and blue for 8](02_your_model-2.png)
#
# You need `pip install 'samp[viz,compare]'`; the digits come with scikit-learn.

# %%
import torch
from sklearn.datasets import load_digits
from torch import nn

import samp

data = load_digits()
images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16  # b 1 8 8, from 0 to 1
digits = torch.tensor(data.target)


class Net(nn.Module):
    """Scores of ten digits, and the features that they are made of, as many real models return several things."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(1, 16, 3), nn.ReLU(inplace=True), nn.Conv2d(16, 16, 3), nn.ReLU(inplace=True)
        )
        self.score = nn.Sequential(nn.Dropout(0.2), nn.Linear(256, 10))

    def forward(self, x):
        features = self.look(x).flatten(1)
        return {"logits": self.score(features), "features": features}


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
for _ in range(150):
    rows = torch.randint(1200, (128,))
    loss = nn.functional.cross_entropy(model(images[rows])["logits"], digits[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    answers = model(images)["logits"].argmax(1)
right = (answers == digits)[1200:].float().mean().item()
print(f"right about {right:.1%} of {len(digits) - 1200} new digits")

# %% [markdown]
# ## One call
#
# `samp.explain(model, inputs)` is all. The model may return a tensor, a tuple or a dict; of a dict, `logits` are the
# scores. Layers with `inplace=True` are no problem, and the model is left as it was. It has to be in evaluation mode:
# call `.eval()`, or dropout would make noise of the map.

# %% alt="Four digits, with the credit of each pixel for the predicted class"
new = images[1200:1204]
result = samp.explain(model, new)
print(result)
result.plot()

# %% [markdown]
# A row for each of the four digits: what the net saw, the credit that speaks for its answer, and the credit of both
# signs. All four were explained in one batch, and each comes out as it would alone.
#
# ## Check before you believe
#
# Three numbers tell whether a result is sound, and each takes one line.

# %%
change = sum(result.score_change.values())
print("credit sums to the change of the score:", torch.allclose(result.map.sum((1, 2)), change, atol=1e-4))
alone = samp.explain(model, new[2:3], target=answers[1202:1203])
print("alone as in the batch, up to", f"{(alone.map[0] - result.map[2]).abs().max().item():.1e}")
other = samp.explain(model, new, target=(answers[1200:1204] + 1) % 10)
print(
    "another class has another map: correlation",
    f"{torch.corrcoef(torch.stack([other.map.flatten(), result.map.flatten()]))[0, 1]:.2f}",
)

# %% [markdown]
# The last line is the one to try on a model of yours: a map that is the same for every class is a picture of the
# input and no explanation.
#
# ## Ask what you really want to know
#
# A target is a class, one class for each image, a margin, or any function of what the model returns. "Why 3 rather
# than 8?" for four threes:

# %% alt="Digits with the pixels that made the net tell 3 from 8, orange for 3 and blue for 8"
threes = images[(digits == 3)][-2:]
rather = samp.explain(model, threes, target=samp.Margin(3, against=8))
samp.plots.method_grid(threes, {"3 rather than 8": rather}, shade=samp.plots.Signed())

# %% [markdown]
# Orange pixels speak for 3, blue ones for 8. The strokes at the top and the bottom speak for 3 here; the waist, where
# the two loops of an 8 would meet, speaks for 8. An 8 is a 3 that is closed at the left, so we had expected strong
# credit for the **gap** there, and it is weaker than that of the strokes. Can a map credit what is not there? That
# depends on the baseline.

# %%
sides = {}
for name, baseline in {"black": "zero", "blurred": "blurred", "white": 1.0}.items():
    one = samp.explain(model, threes, target=samp.Margin(3, against=8), method=samp.IG(baseline=baseline)).map
    share = one.abs() / one.abs().sum((1, 2), keepdim=True)
    sides[name] = (share * (threes[:, 0] < 0.2)).sum((1, 2)).mean().item()
    print(f"from {name:<8} {sides[name]:.0%} of the credit is on pixels without ink")

# %% [markdown]
# From black, pixels without ink have nothing to gain: they are black already. A baseline says what "missing" means,
# and there is no neutral one. Say which you used, and try a second before you believe a surprise.
#
# ## Other features, other outputs
#
# Squares in place of pixels, one of several outputs, and a function of the output:

# %%
patches = samp.explain(model, new, groups=samp.Patches(2))
print(patches.group_values.shape, "credit of 16 squares")
feature = samp.explain(lambda x: model(x)["features"], new, target=7)
print(feature.values.shape, "credit of pixels for feature 7")
sure = samp.explain(model, new, target=lambda output: output["logits"].softmax(1).amax(1))
print(sure.values.shape, "credit for how sure the net is")

# %% [markdown]
# [Targets](../targets.md) has segmentation, detection, embeddings, regression and models of several inputs. For
# photos on the command line, wrap your net in a `samp.models.Classifier`, or give `samp explain cat.jpg --model
# package.module:function`.
#
# **Next:** [a wrong answer](03_misclassification.md).
