"""Which words make a review sound good or bad? Tokens as features of a text classifier.

Token numbers have no gradient, so the walk goes through their embeddings (`b t e`). A mask of shape (t, 1) makes the
e numbers of one token one feature, and the baseline is the embedding of the padding: to take a word away is to walk
it there.

    python examples/text_tokens.py
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import samp

GOOD = """what a wonderful film | i loved this wonderful book | the food was delicious and the staff were kind |
a great story with great actors | the room was clean and lovely | she had a wonderful time | we loved the music |
it was an excellent meal | the play was funny and the cast was excellent | a lovely place with kind people |
the new phone is great | my son loved the game | this is the best film of the year | he made a delicious soup |
the best hotel in town | an excellent teacher and a great lesson | the book was funny | the trip was great"""
BAD = """what a terrible film | i hated this terrible book | the food was cold and the staff were rude |
a boring story with bad actors | the room was dirty and noisy | she had a terrible time | we hated the music |
it was an awful meal | the play was boring and the cast was awful | a dirty place with rude people |
the new phone is bad | my son hated the game | this is the worst film of the year | he made an awful soup |
the worst hotel in town | a rude teacher and a boring lesson | the book was bad | the trip was awful"""
NEW = {  # sentences that the model never saw: are they good, and which word says so?
    "the actors made the trip wonderful": (True, "wonderful"),
    "i had a terrible meal in the hotel": (False, "terrible"),
    "my teacher made a delicious meal": (True, "delicious"),
    "the people in this film were awful": (False, "awful"),
    "she loved the hotel and the soup": (True, "loved"),
    "it was the worst game of the year": (False, "worst"),
}
LENGTH = 10
SENTENCES = [text.strip() for text in (GOOD + "|" + BAD).split("|")]
WORDS = ["<pad>", *sorted({word for text in SENTENCES for word in text.split()})]


class Reader(nn.Module):
    """Embeddings b t e to the scores of "bad" and "good", by a GRU and the mean of its states."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), 12, padding_idx=0)
        self.gru = nn.GRU(12, 12, batch_first=True, bidirectional=True)
        self.score = nn.Linear(24, 2)

    def forward(self, embeddings: Tensor) -> Tensor:
        return self.score(self.gru(embeddings)[0].mean(1))


def numbers(sentences: list[str]) -> Tensor:
    """Each sentence as LENGTH token numbers, padded with 0."""
    rows = [[WORDS.index(word) for word in text.split()] for text in sentences]
    return torch.tensor([row + [0] * (LENGTH - len(row)) for row in rows])


@torch.no_grad()
def share_right(model: Reader, tokens: Tensor, good: Tensor) -> float:
    """The share of sentences that the model gets right."""
    return float((model(model.embed(tokens)).argmax(1) == good).float().mean())


def train() -> tuple[Reader, float]:
    """A reader and the share of its own training sentences that it gets right."""
    torch.manual_seed(0)
    model, tokens = Reader(), numbers(SENTENCES)
    good = torch.tensor([1] * len(GOOD.split("|")) + [0] * len(BAD.split("|")))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(150):
        heard = tokens * (torch.rand(tokens.shape) > 0.2)  # words go missing, so that padding means "no word here"
        loss = nn.functional.cross_entropy(model(model.embed(heard)), good)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), share_right(model.eval(), tokens, good)


def main() -> dict[str, object]:
    """Train, explain the new sentences in one call, and print each word with its credit."""
    model, right = train()
    tokens, good = numbers(list(NEW)), torch.tensor([int(good) for good, _ in NEW.values()])
    new = share_right(model, tokens, good)
    print(f"right about {right:.0%} of the sentences it was trained on and {new:.0%} of {len(NEW)} new ones\n")

    padding = model.embed(torch.tensor([[0]]))  # 1 1 e
    method = samp.SAMPPlusPlus(pixels_per_step=1, baseline=padding)
    result = samp.explain(model, model.embed(tokens), target=good, method=method, groups=torch.arange(LENGTH)[:, None])
    for text, is_good, credit in zip(NEW, good, result.group_values, strict=True):
        words = "  ".join(f"{w} {float(c):+.2f}" for w, c in zip(text.split(), credit, strict=False))
        print(f"{'good' if is_good else 'bad':<5} {words}")
    leading = [text.split()[int(c.argmax())] for text, c in zip(NEW, result.group_values, strict=True)]
    return {"accuracy": new, "leading": leading, "tokens": tokens, "result": result}


if __name__ == "__main__":
    main()
