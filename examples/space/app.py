"""A Gradio app for a Hugging Face Space: which part of a photo made EfficientNet-Lite0 say what it said?

pip install -r examples/space/requirements.txt
python examples/space/app.py
"""

from __future__ import annotations

import io

import gradio as gr
import torch
from PIL import Image

import samp
from samp.images import example_photo
from samp.models import efficientnet_lite0

CLASSIFIER = efficientnet_lite0()
LARGEST = 4096 * 4096  # pixels of a photo


def explain(photo: Image.Image | None, words: str, quality: str) -> tuple[Image.Image, dict[str, float], str]:
    """Return the photo with its region outlined, the model's best classes, and what the credit says, in a sentence."""
    if photo is None or photo.width * photo.height > LARGEST:
        raise gr.Error("Choose a photo of at most 16 megapixels.")
    image = CLASSIFIER.prepare(photo.convert("RGB"))
    with torch.no_grad():
        sure = CLASSIFIER.net(image)[0].softmax(0)
    try:
        target = CLASSIFIER.index(words.strip(), outputs=1000) if words.strip() else int(sure.argmax())
    except ValueError as unknown:
        raise gr.Error(str(unknown)) from None
    result = samp.explain(CLASSIFIER.net, image, target=target, method=samp.Consensus(quality))
    figure = samp.plots.outline(result, CLASSIFIER.crop(photo), title=f"Why {CLASSIFIER.label(target)}?")
    figure.savefig(drawn := io.BytesIO(), dpi=150)
    best = {CLASSIFIER.label(index): float(sure[index]) for index in sure.topk(5).indices.tolist()}
    share = samp.region.region_of(result, sample=0).share_of_picture
    said = f"Half of the positive credit lies on {share:.0%} of the picture; all sums to "
    said += f"{float(result.values.sum()):.2f}, the change of the score ({int(result.gradients[0])} gradients)."
    if side := int(result.resolution[0]):  # 0: no resolution is coarse enough
        said += f" Averages over squares of {side} pixels would come out the same twice."
    return Image.open(drawn).convert("RGB"), best, said


app = gr.Interface(
    explain,
    inputs=[
        gr.Image(type="pil", label="Photo", value=str(example_photo())),
        gr.Textbox(label="Class (by name; the predicted one if empty)", placeholder="espresso"),
        gr.Radio(["draft", "standard"], value="draft", label="Quality"),
    ],
    outputs=[gr.Image(show_label=False), gr.Label(label="What the model says"), gr.Textbox(label="In words")],
    title="Why did the model say that?",
    description="samp outlines the smallest area that holds half of the positive credit for the model's answer.",
    flagging_mode="never",
)

if __name__ == "__main__":
    app.launch()
