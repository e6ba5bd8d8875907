# %% [markdown]
# # Text: which words?
#
# In ten minutes: a small net learns to tell sentences of PyTorch's documentation from sentences of NumPy's. You see
# which words decide, catch it at a mistake, and check the answer by leaving words out.
#
# ![A sentence with the credit of its words, as bars](05_text-1.png)
#
# You need `pip install 'samp[viz]'`. The texts are real ones that are on your machine already: the docstrings of
# torch and NumPy. How to explain models of Hugging Face, and language models, is on the page about
# [texts](../text.md).

# %%
import re

import numpy
import torch
from torch import nn

import samp


def sentences(*modules):
    """Return the sentences of 5 to 25 words in the docstrings of functions and classes of these modules, each once."""
    found = set()
    for module in modules:
        for name in dir(module):
            thing = getattr(module, name, None)
            text = getattr(thing, "__doc__", None) if callable(thing) else None
            text = re.sub(r"https?:\S+", "", text) if isinstance(text, str) else ""
            for sentence in re.split(r"(?<=[.:])\s+|\n\s*\n", text):
                words = re.findall(r"[a-z]+", sentence.lower())
                if 5 <= len(words) <= 25 and sentence.strip()[:1].isupper():
                    found.add(" ".join(words))
    return found


ours = sentences(torch, torch.nn, torch.nn.functional, torch.linalg, torch.fft)
theirs = sentences(numpy, numpy.linalg, numpy.fft, numpy.random)
texts = sorted(ours - theirs) + sorted(theirs - ours)
is_torch = torch.tensor([1] * len(ours - theirs) + [0] * len(theirs - ours))
print(f"{int(is_torch.sum())} sentences of torch, {int((1 - is_torch).sum())} of NumPy")

# %% [markdown]
# ## An honest net
#
# Words by their numbers, an embedding, a convolution over three words, the mean. One sentence in five is kept for the
# test. In training, one word in seven goes missing (number 0): so 0 comes to mean "no word here", which is what
# explanations start from.

# %%
torch.manual_seed(0)
order = torch.randperm(len(texts))
new, seen = order[: len(texts) // 5], order[len(texts) // 5 :]
counts = {}
for i in seen.tolist():
    for word in texts[i].split():
        counts[word] = counts.get(word, 0) + 1
words = ["<none>", "<rare>", *sorted(word for word, count in counts.items() if count > 3)]
number = {word: i for i, word in enumerate(words)}


def encode(text):
    """Return a text as samp reads it: numbers, words, and what stands for no word."""
    tokens = re.findall(r"[a-z]+", text.lower())
    ids = [number.get(token, 1) for token in tokens]
    return samp.text.Encoded(text, ids, tokens, fixed=[False] * len(ids), pad_id=0, mask_id=0)


class Reader(nn.Module):
    """Token numbers b t to the scores of NumPy and torch, b 2."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(words), 32)
        self.look = nn.Conv1d(32, 32, 3, padding=1)
        self.score = nn.Linear(32, 2)

    def forward(self, ids):
        return self.score(nn.functional.gelu(self.look(self.embed(ids).mT)).mean(2))


ids = torch.zeros(len(texts), 25, dtype=torch.long)
for i, text in enumerate(texts):
    row = encode(text).ids
    ids[i, : len(row)] = torch.tensor(row)

model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005, weight_decay=0.1)
for _ in range(300):
    rows = seen[torch.randint(len(seen), (256,))]
    shown = ids[rows] * (torch.rand(256, 25) > 1 / 7)
    loss = nn.functional.cross_entropy(model(shown), is_torch[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()

with torch.no_grad():
    right = (model(ids[new]).argmax(1) == is_torch[new]).float().mean().item()
print(f"right about {right:.1%} of {len(new)} new sentences; {len(words)} words")

# %% [markdown]
# ## Which words?
#
# `samp.text.explain` takes the model, the function that reads a text, and the text. Class 1 is torch.

# %%
result = samp.text.explain(model, encode, "Returns a new tensor with the same data on the given device.", target=1)
print(result)

# %% [markdown]
# Every word has its credit for "torch", and all together they are the change of the score from a sentence without
# words to this one. Words without a bar did not matter. The credit of a word is its part in *this* sentence: it does
# not say that the word means torch everywhere.
#
# As a picture, for this sentence:

# %% alt="A sentence with the credit of its words, as bars"
import matplotlib.pyplot as plt


def draw(result, title):
    """Draw the words from top to bottom, with bars for and against."""
    figure, axes = plt.subplots(figsize=(5, 0.28 * len(result.features) + 0.8))
    names, credit = result.features, result.scores.tolist()
    axes.barh(range(len(names)), credit, color=["#d55e00" if c > 0 else "#0072b2" for c in credit])
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("credit: orange for, blue against")
    figure.tight_layout()


draw(result, f"score of torch: {result.score:.1f}")


# %% [markdown]
# "tensor" alone makes most of it, and "data" speaks for NumPy. That the net needs little more than one word is worth
# knowing: it has learned which *words* the two libraries use rather than what a sentence says.
#
# ## Is that so? Change the word
#
# An explanation of one sentence is a guess about all others, and a guess can be tested. Put "array" for "tensor" in
# every new sentence of torch that has it.


# %%
@torch.no_grad()
def numpy_chance(text):
    """Return the probability of NumPy."""
    return model(torch.tensor([encode(text).ids])).softmax(1)[0, 0].item()


torch_new = [texts[i] for i in new.tolist() if is_torch[i]]
with_tensor = [text for text in torch_new if "tensor" in text.split()]
kept = sum(numpy_chance(text) < 0.5 for text in with_tensor) / len(with_tensor)
changed = sum(numpy_chance(re.sub(r"\btensor\b", "array", text)) < 0.5 for text in with_tensor) / len(with_tensor)
print(f"{len(with_tensor)} new sentences of torch have the word tensor: {kept:.0%} are read as torch's")
print(f"with array in its place: {changed:.0%}")

# %% [markdown]
# With one word changed, half of them change sides, though they say the same: for half of these sentences "tensor" is
# all that the net has. The other half it knows by other words, such as "device" above. (Sentences of torch that have
# *array* by nature would be the better test, but there are too few among the new ones to count.)
#
# ## A mistake
#
# The short sentences of torch that it takes for NumPy's with the most confidence; then an explanation of the first
# for the wrong class:

# %% alt="A sentence of torch that is read as NumPy's, with the credit of its words for NumPy as bars"
short = [text for text in torch_new if len(text.split()) <= 10]
text, *others = sorted(short, key=numpy_chance, reverse=True)[:4]
print("\n".join([text, *others]))
mistake = samp.text.explain(model, encode, text, target=0)
draw(mistake, f"read as NumPy's ({numpy_chance(text):.0%})")

# %% [markdown]
# ## Take the words away
#
# Leave out the words with the most credit one after the other, and ask again. As a control, leave out as many of
# those with the smallest credit of either sign.


# %%
@torch.no_grad()
def chance_without(places):
    """Return the probability of NumPy with no word at these places."""
    return (
        model(torch.tensor([[0 if i in places else n for i, n in enumerate(encode(text).ids)]])).softmax(1)[0, 0].item()
    )


best, least = mistake.scores.argsort(descending=True).tolist(), mistake.scores.abs().argsort().tolist()
fewer = [chance_without(best[:count]) for count in range(5)]
for count, p in enumerate(fewer):
    print(f"{p:>5.0%} without {', '.join(mistake.features[i] for i in best[:count]) or 'nothing'}")
control = chance_without(least[:4])
print(f"{control:>5.0%} without the control: {', '.join(mistake.features[i] for i in least[:4])}")

# %% [markdown]
# It is not one word this time: without "array" the answer stays as sure as before, and without four words it changes
# sides. The control changes nothing. So the explanation names the right words, and it takes all of them: the words
# "scalar", "vector" and "observation" are as much NumPy's to this net as "array". A bar's length is no promise that
# the answer falls with that word.
#
# **Next:** [a table of patients](06_table.md).
