# %% [markdown]
# # A whole data set
#
# In five minutes: explain a folder of pictures, kill the run in the middle, let it go on, and read what it found,
# with the mistakes of the net first.
#
# ![Digits that the net got wrong, with the credit for its wrong answers](07_data_set-1.png)
#
# You need `pip install 'samp[viz,compare]'`. The net comes with samp: it was trained on MNIST. The pictures are
# scikit-learn's digits, which were written by other people and scanned at 8 × 8 pixels, so the net will make
# mistakes.

# %%
import subprocess
import sys
import time
from pathlib import Path

import torch
from PIL import Image
from sklearn.datasets import load_digits

import samp

data = load_digits()
folder = Path("digits")
folder.mkdir()
for i in range(200):
    small = Image.fromarray((data.images[i] / 16 * 255).round().astype("uint8"))
    picture = Image.new("L", (28, 28))
    picture.paste(small.resize((20, 20), Image.Resampling.BICUBIC), (4, 4))
    picture.save(folder / f"{i:03}-is-{data.target[i]}.png")
(folder / "999-is-0.png").write_text("not a picture")
print(len(list(folder.iterdir())), "files, one of them damaged")

# %% [markdown]
# ## Start it, and kill it
#
# On the command line this is `samp run digits --out run --model mnist_slim`. We start the same command here, wait
# until a part is written, and kill the process: no warning, no time to tidy up, as when a machine goes down.

# %%
command = [sys.executable, "-m", "samp", "run", "digits", "--out", "run", "--model", "mnist_slim", "--shard-size", "20"]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while process.poll() is None and not list(Path("run/done").glob("*.json")):
    time.sleep(0.05)
process.kill()
process.wait()
killed = sum(row["error"] is None for row in samp.batch.load("run").rows())
print(f"{killed} of 200 digits were explained when it was killed")

# %% [markdown]
# ## Go on
#
# The same call again, here from Python. It checks what is there, keeps it, and does the rest.

# %%
summary = samp.run("digits", out="run", model="mnist_slim", shard_size=20)
print(f"found {summary.found}, now {summary.explained} of {summary.inputs} explained")
for name, reason in summary.failures.items():
    print(name, "…", reason[reason.index("cannot be read") :].split(" (")[0])

# %% [markdown]
# The damaged file cost itself and nothing else, and it is named with its reason. Numbers of a run that was killed are
# the same as those of one that was not, to the last bit.
#
# ## Read it
#
# A row for each input, a map for each that was explained. Here the file's name has the truth.

# %%
run = samp.batch.load("run")
rows = [row for row in run.rows() if not row["error"]]
maps = dict(run.maps())
wrong = [row for row in rows if row["id"].split("-is-")[1][0] != str(row["predicted"])]
print(f"wrong about {len(wrong)} of {len(rows)}")
print({key: rows[0][key] for key in ("id", "predicted", "score", "residual", "gini", "resolution", "gradients")})


def mean(key, some):
    """Return the mean of a number over rows."""
    return sum(row[key] for row in some) / len(some)


right = [row for row in rows if row not in wrong]
print(f"score of the answer: {mean('score', right):.1f} where right, {mean('score', wrong):.1f} where wrong")

# %% [markdown]
# Wrong answers have lower scores, so a threshold would catch some of them. Now look at the mistakes, those with the
# largest scores first.

# %% alt="Digits that the net got wrong, with the credit for its wrong answers"
worst = sorted(wrong, key=lambda row: -row["score"])[:3]
samp.plots.method_grid(
    [samp.images.read(folder / row["id"]) for row in worst],
    {"credit for the wrong answer": torch.stack([maps[row["id"]] for row in worst])},
    labels=[f"{row['id'].split('-is-')[1][0]}, read as {row['predicted']}" for row in worst],
    shade=samp.plots.Signed(),
)

# %% [markdown]
# Orange strokes speak for the wrong answer, blue ones against it. The maps say which strokes misled the net; that it
# was never shown such coarse digits they do not say.
#
# ## A page for others
#
# `samp report run` writes one HTML page about the run: whether credit sums up, how concentrated it is, the best and
# the worst maps.

# %%
done = subprocess.run([sys.executable, "-m", "samp", "report", "run"], capture_output=True, text=True, check=True)
print(sorted(path.name for path in Path("run").iterdir() if path.is_file() and not path.name.startswith(".")))

# %% [markdown]
# [Whole data sets](../scale.md) has lists and tars, several workers, GPUs, and what a million images take.
#
# **Next:** [coming from other libraries](08_coming_from.md).
