"""Which measurements make a tumour look malignant? Columns, and groups of columns, of a table as features.

The breast cancer table of scikit-learn has 10 measurements, each with its mean, its error and its worst value: 30
columns. A small network is explained column by column, and then measurement by measurement through an integer mask
that gives the three columns of one measurement the same number. The baseline is the average patient.

    pip install -e '.[compare]'
    python examples/tabular_columns.py
"""

from __future__ import annotations

from dataclasses import replace

import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor, nn

import samp

MEASUREMENTS = torch.arange(30) % 10  # columns 0, 10 and 20 are the mean, error and worst of measurement 0, and so on
SEEN, NEW = slice(0, 400), slice(400, None)  # patients to train on, and patients held out


def patients() -> tuple[Tensor, Tensor, list[str]]:
    """The table (569 × 30), 1.0 for each malignant tumour, and the names of the columns.

    Columns are in units of their spread, so that the length of a step means the same in all of them.
    """
    data = load_breast_cancer()
    table = torch.tensor(data.data, dtype=torch.float32)
    return table / table[SEEN].std(0), torch.tensor(data.target == 0).float(), [str(c) for c in data.feature_names]


def train(table: Tensor, malignant: Tensor) -> nn.Module:
    """A network with one score, which is positive for a malignant tumour."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(30), nn.Linear(30, 32), nn.GELU(), nn.Linear(32, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=1.0)
    for _ in range(60):
        loss = nn.functional.binary_cross_entropy_with_logits(model(table), malignant)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: nn.Module, table: Tensor, malignant: Tensor) -> float:
    """The share of patients the model is right about."""
    return float(((model(table) > 0) == malignant.bool()).float().mean())


def main() -> dict[str, object]:
    """Train, explain one new patient by columns and by measurements, and print who gets the credit."""
    table, malignant, columns = patients()
    model = train(table[SEEN], malignant[SEEN])
    seen, new = (accuracy(model, table[part], malignant[part]) for part in (SEEN, NEW))
    print(f"right about {seen:.1%} of the patients it was trained on and {new:.1%} of new ones\n")

    average = table[SEEN].mean(0, keepdim=True)  # 1 × 30: one baseline for every patient
    patient = table[NEW][malignant[NEW].bool()][:1]
    # One direction, so that the credit is on the scale of IG's: the default sums two walks, there and back.
    method = samp.SAMPPlusPlus(pixels_per_step=1, direction="to_image", baseline=average)
    by_column = samp.explain(model, patient, method=method)
    methods = {"SAMP++": method, "SAMP++, exact": replace(method, credit="shared"), "IG": samp.IG(baseline=average)}
    results = {name: samp.explain(model, patient, method=how, groups=MEASUREMENTS) for name, how in methods.items()}

    print(f"{'credit of':<20}" + "".join(f"{name:>15}" for name in results))
    for group in results["SAMP++"].group_values[0].argsort(descending=True).tolist():
        name = columns[group].removeprefix("mean ")
        print(f"{name:<20}" + "".join(f"{float(r.group_values[0, group]):>15.2f}" for r in results.values()))
    print(f"{'residual':<20}" + "".join(f"{float(r.residual[0]):>15.2f}" for r in results.values()))
    print(f"{'score change':<20}" + "".join(f"{float(r.score_change['to_image'][0]):>15.2f}" for r in results.values()))

    top = by_column.values[0].topk(3).indices.tolist()
    print("\nleading columns: " + ", ".join(f"{columns[i]} {float(by_column.values[0, i]):.2f}" for i in top))
    return {"accuracy": new, "by_column": by_column, "by_measurement": results}


if __name__ == "__main__":
    main()
