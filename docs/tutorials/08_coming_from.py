# %% [markdown]
# # Coming from Captum, pytorch-grad-cam or SHAP
#
# In five minutes: the calls that you know, beside those of samp, on the same photo; what is the same, what is
# different, and what only the others have.
#
# ![A cat with the maps of Captum's and samp's Integrated Gradients, samp's Grad-CAM and its default](08_coming_from-1.png)
#
# You need `pip install 'samp[demo,viz,compare]'`, which brings Captum. The parts on pytorch-grad-cam and SHAP run
# where these are installed.

# %%
import importlib.metadata

import torch

import samp

classifier = samp.models.load("efficientnet_lite0")
photo = samp.images.read(samp.images.example_photo("chelsea"))
image, net = classifier.prepare(photo), classifier.net
target = int(net(image).argmax())
print(classifier.label(target), "| Captum", importlib.metadata.version("captum"), "| torch", torch.__version__)

# %% [markdown]
# ## Captum
#
# | Captum | samp |
# | --- | --- |
# | `IntegratedGradients(net).attribute(x, target=3)` | `samp.explain(net, x, target=3, method="ig").values` |
# | `baselines=x * 0` | `method=samp.IG(baseline="zero")`, `"blurred"`, a number, a tensor |
# | `n_steps=50` | `samp.IG(steps=50)` |
# | `return_convergence_delta=True` | `result.residual`, always |
# | `feature_mask=mask` | `groups=mask`, `samp.Patches(8)`, `samp.Superpixels(100)` |
# | `internal_batch_size=16` | `batch_size=16`; by itself as much as fits |
# | `additional_forward_args=(mask,)` | `forward_args=(mask,)` |
# | `visualization.visualize_image_attr(...)` | `samp.plots.overlay(result, photo)`, or the result as a cell's last line |
#
# The straight path is the same. Captum's default rule is Gauss-Legendre and ours the trapezoid, so the numbers are
# near each other and not equal; with more steps both go to the same map. For how much the sum misses, Captum's rule is
# the better one on this photo.

# %%
from captum.attr import IntegratedGradients

theirs, delta = IntegratedGradients(net).attribute(
    image, image * 0, target, n_steps=50, internal_batch_size=10, return_convergence_delta=True
)
ours = samp.explain(net, image, target=target, method=samp.IG(steps=50, baseline="zero"))
correlation = torch.corrcoef(torch.stack([theirs.flatten().float(), ours.values.flatten()]))[0, 1].item()
print(f"correlation of all {theirs.numel():,} credits: {correlation:.3f}")
print(f"what the sum misses: Captum {delta.item():+.3f}, samp {-ours.residual.item():+.3f}")

# %% [markdown]
# You can also keep Captum's calls. The classes of `samp.captum` stand where `IntegratedGradients` stood, also inside
# `NoiseTunnel`, `infidelity` and `sensitivity_max`:

# %%
credit, delta = samp.captum.Consensus(net).attribute(image, target=target, return_convergence_delta=True)
print(f"{tuple(credit.shape)}, delta {delta.item():+.1e}")

# %% [markdown]
# **What Captum has and samp does not:** attributions of layers and neurons, influential training examples (TracIn),
# concepts (TCAV). **What changes for you:** the default method is another one, it takes 112 gradients where
# Integrated Gradients takes 50, and it needs no `n_steps`, as its sum does not depend on steps.
#
# ## pytorch-grad-cam
#
# | pytorch-grad-cam | samp |
# | --- | --- |
# | `GradCAM(model=net, target_layers=[net.layer4[-1]])` | `method="gradcam"` finds the last feature map; `samp.GradCAM(layer="layer4")` names one |
# | `targets=[ClassifierOutputTarget(3)]` | `target=3`, or any function of the output |
# | `reshape_transform=...` for transformers | found by itself; `samp.GradCAM(grid=(14, 14))` |
# | `cam(input_tensor=x)[0]`: 0 to 1, stretched to the largest | `result.map[0]`: as it comes, not stretched |
# | `show_cam_on_image(rgb, cam)` | `result.overlay(photo)` |
#
# pytorch-grad-cam scales each map to run from 0 to 1, so that two maps cannot be compared by size. After the same
# scaling both libraries should agree:

# %%
cam = samp.explain(net, image, target=target, method=samp.GradCAM(layer="_bn1"))
scaled = cam.map[0].clamp(min=0)
scaled = scaled / scaled.max()
try:
    from pytorch_grad_cam import GradCAM
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
except ImportError:
    print("pytorch-grad-cam is not installed here: pip install grad-cam")
else:
    with GradCAM(model=net, target_layers=[net._bn1]) as run:
        other = torch.tensor(run(input_tensor=image, targets=[ClassifierOutputTarget(target)])[0])
    agreement = torch.corrcoef(torch.stack([scaled.flatten(), other.flatten()]))[0, 1].item()
    print(f"correlation with pytorch-grad-cam {importlib.metadata.version('grad-cam')}: {agreement:.3f}")

# %% [markdown]
# **What pytorch-grad-cam has and samp does not:** Score-CAM, Ablation-CAM, Layer-CAM, EigenCAM and other CAMs, and
# smoothing of maps by augmentation.
#
# ## SHAP
#
# | SHAP | samp |
# | --- | --- |
# | `shap.KernelExplainer(f, background)`, `shap.PermutationExplainer` | `method="shapley"` |
# | `shap.DeepExplainer(net, background)` | `method="deepshap"`, with its baselines in place of the background |
# | `shap.GradientExplainer(net, background)` | `method="ig"`; the background is one baseline |
# | `shap.plots.bar`, `shap.plots.waterfall` | `result.plot()` |
# | `explanation.base_values` | `result.scores["to_image"][:, 0]` |
# | `shap.TreeExplainer` | nothing: samp explains what has gradients |
#
# The large difference is what a missing column means. SHAP averages over many rows of a *background*; samp puts in
# *one* baseline. With a background of one row both ask the same question, and estimate it with different random
# numbers: so SHAP's selection of few columns is switched off here (`l1_reg=False`) and both get many samples. With the
# defaults of both the correlation is lower.

# %%
from dataclasses import replace

from sklearn.datasets import load_breast_cancer

data = load_breast_cancer()
table = torch.tensor((data.data - data.data.mean(0)) / data.data.std(0), dtype=torch.float32)
malignant = torch.tensor(data.target == 0).float()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(30, 16), torch.nn.GELU(), torch.nn.Linear(16, 1), torch.nn.Flatten(0))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.3)
for _ in range(100):
    optimizer.zero_grad()
    torch.nn.functional.binary_cross_entropy_with_logits(model(table), malignant).backward()
    optimizer.step()
model.eval()

patient, average = table[:1], torch.zeros(1, 30)
method = replace(samp.methods.resolve_method("shapley"), samples=200)  # orders; the baseline is 0, the average patient
shapley = samp.explain(model, patient, method=method)
print(
    f"samp: credit sums to {shapley.values.sum():.3f}, the score changed by {(model(patient) - model(average)).item():.3f}"
)
try:
    import shap
except ImportError:
    print("SHAP is not installed here: pip install shap")
else:
    explainer = shap.KernelExplainer(lambda rows: model(torch.tensor(rows).float()).detach().numpy(), average.numpy())
    values = torch.tensor(explainer.shap_values(patient.numpy(), nsamples=3000, l1_reg=False, silent=True)).flatten()
    agreement = torch.corrcoef(torch.stack([values.float(), shapley.values[0]]))[0, 1].item()
    print(f"correlation with KernelExplainer of SHAP {importlib.metadata.version('shap')}: {agreement:.3f}")

# %% [markdown]
# **What SHAP has and samp does not:** trees, models without gradients, interactions, beeswarm and dependence plots.
#
# ## Side by side
#
# Everything above on one photo, with the default beside it.

# %% alt="A cat with the maps of Captum's and samp's Integrated Gradients, samp's Grad-CAM and its default"
default = samp.explain(net, image, target=target)
maps = {"Captum: IG": theirs.sum(1), "samp: IG": ours, "samp: Grad-CAM": cam, "samp: the default": default}
samp.plots.method_grid([classifier.crop(photo)], maps, labels=[classifier.label(target)])

# %% [markdown]
# The two maps of Integrated Gradients look the same, as they should. Which of the methods to believe is the subject
# of [comparing methods honestly](04_comparing.md).
#
# **Next:** [the guide](../guide.md) has the calls for other models and targets, and [the methods](../methods.md)
# every name.
