# %% [markdown]
# # A table of patients
#
# In five minutes: a small net tells malignant from benign tumours by thirty measurements. You see which of them
# decided about one patient, check whether that agrees with what matters on the whole, and look at the patients it
# gets wrong.
#
# ![The measurements with the largest credit for a missed tumour, as bars](06_table-2.png)
#
# You need `pip install 'samp[viz,compare,metrics]'`; the data, 569 patients of Wisconsin, come with scikit-learn.
# This is an example of the method and not medical advice.
#
# ## An honest net
#
# Train on 60 % of the patients and keep the rest unseen. Columns are in units of their spread among the patients of
# the training set, so that 0 is the average patient.

# %%
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import nn

import samp

data = load_breast_cancer()
columns = [str(name) for name in data.feature_names]
malignant = (data.target == 0).astype("float32")
seen, new, seen_y, new_y = train_test_split(data.data, malignant, test_size=0.4, random_state=0, stratify=malignant)
mean, spread = seen.mean(0), seen.std(0)
seen, new = (torch.tensor((part - mean) / spread, dtype=torch.float32) for part in (seen, new))
seen_y, new_y = torch.tensor(seen_y), torch.tensor(new_y)

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(30, 16), nn.GELU(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.3)
for _ in range(150):
    loss = nn.functional.binary_cross_entropy_with_logits(model(seen), seen_y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()

with torch.no_grad():
    scores = model(new)  # above 0: malignant
wrong = ((scores > 0) != new_y.bool()).nonzero().flatten()
print(f"right about {1 - len(wrong) / len(new):.1%} of {len(new)} new patients, wrong about {len(wrong)}")
print(f"missed tumours: {int(new_y[wrong].sum())}, false alarms: {int((1 - new_y[wrong]).sum())}")

# %% [markdown]
# ## One patient
#
# One call explains all patients. The credit of a column says how much it raised the score of "malignant" on the way
# from the average patient, which is 0 in every column, to this one.

# %% alt="The measurements with the largest credit for a tumour that was found, as bars"
result = samp.explain(model, new, method=samp.Consensus(direction="to_image")).with_names(
    classes=["malignant"], columns=columns
)
found = int(((scores > 0) & new_y.bool()).nonzero()[0])
print(f"score of patient {found}: {scores[found]:+.2f}")
result.plot(sample=found)

# %% [markdown]
# Orange bars speak for "malignant" here, blue ones against. They do **not** say that a column causes cancer, or that
# the tumour would become benign if it were smaller: they say what this net made of the numbers.
#
# ## Does credit agree with what matters on the whole?
#
# There is a way to ask that knows nothing of credit: shuffle one column among the patients and see how much worse the
# net becomes (permutation importance). Columns that matter should have much credit, summed over patients without its
# sign.

# %%
from scipy.stats import spearmanr

with torch.no_grad():
    loss = nn.functional.binary_cross_entropy_with_logits
    random = torch.Generator().manual_seed(0)
    importance = np.zeros(30)
    for column in range(30):
        for _ in range(30):
            shuffled = new.clone()
            shuffled[:, column] = new[torch.randperm(len(new), generator=random), column]
            importance[column] += (loss(model(shuffled), new_y) - loss(scores, new_y)).item() / 30

credit = result.values.abs().mean(0).numpy()
agreement = spearmanr(credit, importance)
print(f"rank correlation {agreement.statistic:.2f} (p = {agreement.pvalue:.4f})\n")
print(f"{'most credit':<26}most important by shuffling")
for one, other in zip(credit.argsort()[::-1][:8], importance.argsort()[::-1][:8]):
    print(f"{columns[one]:<26}{columns[other]}")

# %% [markdown]
# The two agree on the whole and not in the details. They answer different questions: shuffling asks what the net
# loses, over all patients, and a column whose content others repeat (radius, perimeter and area are nearly one
# number) is missed little. Credit asks what moved this score.
#
# ## The patients it gets wrong
#
# Explain the tumour that it missed by the largest margin.

# %% alt="The measurements with the largest credit for a missed tumour, as bars"
missed = wrong[new_y[wrong].bool()]
worst = int(missed[scores[missed].argmin()])
print(f"patient {worst}: malignant, but the score is {scores[worst]:+.2f}")
result.plot(sample=worst)

# %%
print(f"{'column':<26}{'credit':>8}{'patient':>9}{'benign':>9}{'malignant':>11}")
for feature in result.top(6, sample=worst):
    column = feature["index"]
    means = (new[worst, column], *(seen[seen_y == kind, column].mean() for kind in (0, 1)))
    print(f"{columns[column]:<26}{feature['credit']:>+8.2f}{means[0]:>+9.2f}{means[1]:>+9.2f}{means[2]:>+11.2f}")

# %% [markdown]
# The right part has the patient's value in units of spread, and the means of benign and malignant patients. It tells
# two kinds of columns apart:
#
# - **The patient looks benign.** Smoothness, radius error and perimeter error lie at or below the mean of benign
#   patients, and their credit is against "malignant". By these measurements the net had every reason to go wrong;
#   that is a limit of the data.
# - **The net is odd.** The first column lies *below both* means and malignant patients have the larger one, yet its
#   credit is *for* "malignant". The net uses it to correct others that nearly repeat it. It happened to be of help
#   here, and a person who reads the table would not have expected it.
#
# ## Is one column enough?
#
# What would have to change? Set the columns with the most credit against "malignant" to the average patient, one
# after the other.

# %%
changed = new[worst].clone()
print(f"as it is: {scores[worst]:+.2f}")
for feature in sorted(result.top(30, sample=worst), key=lambda one: one["credit"])[:5]:
    changed[feature["index"]] = 0
    with torch.no_grad():
        now = model(changed[None]).item()
    print(f"{feature['name'] + ' average':<34}{now:+.2f}")

# %% [markdown]
# No single measurement made the error: even with five of them at the average the score stays below 0, though it is
# close. The last number also shows how sure the net was of a wrong answer. At −6 it takes "benign" for 400 times as
# likely.
#
# **Next:** [a whole data set](07_data_set.md).
