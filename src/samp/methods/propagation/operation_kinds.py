"""The kind of each torch operation, by its name: operations of one kind share a backward rule.

To cover a new operation, add its name to the kind whose rule fits it: `Propagation.on_KIND` in each method's file.
Functions of `torch.nn.functional` are opened (see `mode.unwrap_functional`), so only the operations inside them are
listed.
"""

from __future__ import annotations

REARRANGE = """
    view reshape reshape_as view_as flatten unflatten ravel permute transpose swapaxes movedim moveaxis t T mT
    squeeze unsqueeze expand expand_as repeat repeat_interleave tile broadcast_to cat concat concatenate stack hstack
    vstack split chunk tensor_split unbind narrow select getitem setitem index_select gather take_along_dim roll flip
    rot90 pad constant_pad_nd contiguous clone to type_as float double half bfloat16 type identity alias unfold
    pixel_shuffle pixel_unshuffle channel_shuffle iter reversed diagonal copy
    upsample_nearest1d upsample_nearest2d upsample_nearest3d retain_grad register_hook tril triu native_channel_shuffle
"""
SUM = """
    sum mean avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d cumsum
"""
LINEAR = """
    linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d matmul mm bmm mv
    einsum
"""
ADD = "add sub subtract rsub"
MULTIPLY = "mul multiply"
SCALE = "neg negative positive"
DROPOUT = "dropout feature_dropout alpha_dropout feature_alpha_dropout"
ELEMENTWISE = """
    relu relu6 hardtanh clamp clip clamp_min clamp_max leaky_relu prelu rrelu elu celu selu gelu silu mish softplus
    hardswish hardsigmoid sigmoid tanh hardshrink softshrink softsign logsigmoid log_sigmoid threshold abs absolute exp
    expm1 log log1p sqrt rsqrt reciprocal square pow sin cos erf
"""
MAXIMUM = """
    max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
"""

KINDS: dict[str, str] = {
    name: kind
    for kind, names in {
        "rearrange": REARRANGE,
        "sum": SUM,
        "linear": LINEAR,
        "add": ADD,
        "multiply": MULTIPLY,
        "scale": SCALE,
        "mask": "masked_fill where",
        "dropout": DROPOUT,
        "elementwise": ELEMENTWISE,
        "maximum": MAXIMUM,
        "batch_norm": "batch_norm",
        "softmax": "softmax",
        "log_softmax": "log_softmax",
        "divide": "div divide true_divide rdiv",
        "layer_norm": "layer_norm",
        "group_norm": "group_norm",
        "rms_norm": "rms_norm",
        "add_product": "addmm baddbmm",
        "attention": "scaled_dot_product_attention",
    }.items()
    for name in names.split()
}
"""The kind of each known operation: `Propagation.on_KIND` is its rule."""

PIECEWISE_LINEAR = """
    relu relu6 hardtanh clamp clip clamp_min clamp_max leaky_relu prelu rrelu abs absolute threshold hardsigmoid
    hardshrink softshrink
"""
SINGULAR_AT_ZERO = "log sqrt rsqrt reciprocal pow square"

COMPARE = "gt greater lt less ge greater_equal le less_equal eq ne not_equal isnan isinf isfinite signbit"
COMBINE = """
    invert logical_not bitwise_not and or xor iand ior ixor logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor
"""
CAST = "to type type_as float double half bfloat16 int long bool detach get clone contiguous"
POINTWISE = frozenset(
    " ".join((COMPARE, COMBINE, CAST, ADD, MULTIPLY, SCALE, ELEMENTWISE, "div divide true_divide rdiv")).split()
)
"""Operations whose value at each position is a function of the inputs at that position: they make masks."""

_OPERATORS = {"truediv": "div", "itruediv": "div", "rtruediv": "rdiv", "idiv": "div", "radd": "add", "iadd": "add"} | {
    "isub": "sub", "rmul": "mul", "imul": "mul", "ipow": "pow"
}  # fmt: skip


def canonical(name: str) -> tuple[str, bool]:
    """Return an operation's name without the marks of operators and in-place forms, and whether it works in place.

    >>> canonical("relu_"), canonical("__iadd__"), canonical("__rsub__"), canonical("conv2d")
    (('relu', True), ('add', True), ('rsub', False), ('conv2d', False))
    """
    if name.startswith("__"):
        bare = name.strip("_")
        return _OPERATORS.get(bare, bare), bare.startswith("i") and bare in _OPERATORS
    return name.rstrip("_"), name.endswith("_")
