"""How much did the picture say, and how much the hint? A model of an image and a vector, explained in one walk.

The model reads a handwritten digit (`b 1 8 8`) and a hint (`b 10`, a guess at the digit that is right 7 times in 10).
A tuple of inputs is one joint walk: at every step, pixels and entries of the hint compete by their gain. Each input
has its own baseline, given as a list: an empty picture, and a hint that says nothing.

    pip install -e '.[compare]'
    python examples/two_inputs.py
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import samp

SEEN, NEW = slice(0, 1400), slice(1400, None)


class Model(nn.Module):
    """Scores of ten digits from an image b 1 8 8 and a hint b 10."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 8, 3), nn.GELU(), nn.Flatten(), nn.Linear(288, 24), nn.GELU())
        self.decide = nn.Sequential(nn.Linear(24 + 10, 32), nn.GELU(), nn.Linear(32, 10))

    def forward(self, image: Tensor, hint: Tensor) -> Tensor:
        return self.decide(torch.cat([self.look(image), hint], 1))


def hinted_digits() -> tuple[Tensor, Tensor, Tensor]:
    """Noisy digits b 1 8 8, hints b 10 that are right 7 times in 10, and the digits themselves."""
    torch.manual_seed(0)
    data = load_digits()
    digits = torch.tensor(data.target)
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    wrong = torch.rand(len(digits)) > 0.7
    guess = torch.where(wrong, torch.randint(0, 10, digits.shape), digits)
    return images + 0.5 * torch.randn(images.shape), nn.functional.one_hot(guess, 10).float(), digits


def train(images: Tensor, hints: Tensor, digits: Tensor) -> Model:
    """A model that has learned to weigh one input against the other."""
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(50):
        loss = nn.functional.cross_entropy(model(images, hints), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: Model, images: Tensor, hints: Tensor, digits: Tensor) -> float:
    """The share of digits the model is right about."""
    return float((model(images, hints).argmax(1) == digits).float().mean())


def main() -> dict[str, object]:
    """Train, explain some new digits with a true hint, a false one and none, and print what each input contributed."""
    images, hints, digits = hinted_digits()
    model = train(images[SEEN], hints[SEEN], digits[SEEN])
    seen, new = (accuracy(model, images[part], hints[part], digits[part]) for part in (SEEN, NEW))
    print(f"right about {seen:.1%} of the digits it was trained on and {new:.1%} of new ones\n")

    image, digit = images[NEW][:64], digits[NEW][:64]
    hints_to_try = {
        "a true hint": nn.functional.one_hot(digit, 10).float(),
        "a false hint": nn.functional.one_hot((digit + 1) % 10, 10).float(),
        "no hint": torch.full((64, 10), 0.1),
    }
    # An exact credit in one direction: what the two inputs get is what the score rose by from the baselines.
    method = samp.SAMPPlusPlus(direction="to_image", credit="shared_trapezoid", baseline=["black", 0.1])
    print(f"{'mean credit':<14}{'image':>8}{'hint':>8}{'score change':>14}")
    results = {}
    for name, hint in hints_to_try.items():
        results[name] = result = samp.explain(model, (image, hint), target=digit, method=method)
        shares = [float(values.flatten(1).sum(1).mean()) for values in result.values]  # one tensor for each input
        print(f"{name:<14}{shares[0]:>8.2f}{shares[1]:>8.2f}{float(result.score_change['to_image'].mean()):>14.2f}")
    return {"accuracy": new, "results": results}


if __name__ == "__main__":
    main()
