#!/usr/bin/python3
"""Writes this folder's JSON: what PyTorch computes, for the standard library to agree with.

Run with Debian's python3 and python3-torch (1.13); the tests read the JSON and need neither. README.md tells the format.
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)


def tensor(x):
    return {"shape": list(x.shape), "data": [float(v) for v in x.detach().reshape(-1)]}


def write(name, make):
    """Each file has random numbers of its own: a new case changes no other file."""
    torch.manual_seed(7)
    cases = make()
    with open(HERE / f"{name}.json", "w") as out:
        out.write('{"made_by": "make.py, PyTorch %s", "cases": [\n' % torch.__version__)
        out.write(",\n".join(json.dumps(case, ensure_ascii=False) for case in cases))
        out.write("\n]}\n")


def case(expression, function, inputs, integers=None, weights=None, states=None):
    """`function` takes all of them by name. The loss is the sum of its value times a cotangent."""
    integers, weights = integers or {}, weights or {}
    own = {k: v.clone().requires_grad_() for k, v in inputs.items()}
    held = {k: v.clone().requires_grad_() for k, v in weights.items()}
    value = function(**own, **integers, **{k.replace("/", "_").replace(".", "_"): v for k, v in held.items()})
    cotangent = torch.randn(value.shape)
    (value * cotangent).sum().backward()
    gradient = lambda v: tensor(v.grad if v.grad is not None else torch.zeros_like(v))
    made = {"expression": expression, "inputs": {k: tensor(v) for k, v in own.items()},
            "integers": {k: tensor(v) for k, v in integers.items()}, "weights": {k: tensor(v) for k, v in held.items()},
            "cotangent": tensor(cotangent), "value": tensor(value),
            "gradients": {**{k: gradient(v) for k, v in own.items()}, **{k: gradient(v) for k, v in held.items()}}}
    if states is not None:
        made["states"] = {k: tensor(v) for k, v in states().items()}
    return made


# ---- activations: no element lies on a kink, where gradients are a matter of taste

LINE = torch.tensor([[-9.5, -3.3, -1.7, -0.9, -0.45, -0.1], [0.05, 0.4, 0.8, 1.9, 3.7, 8.5]])
# PyTorch 1.13 has a constant of the gradients of celu and hardsigmoid in f32: formulas of our own for these.
celu = lambda x, alpha=1.7: torch.where(x > 0, x, alpha * (torch.exp(x / alpha) - 1))
ACTIVATIONS = [
    ("relu(x)", F.relu), ("relu6(x)", F.relu6), ("leaky_relu(x, alpha = 0.2)", lambda x: F.leaky_relu(x, 0.2)),
    ("elu(x, alpha = 1.3)", lambda x: F.elu(x, 1.3)), ("celu(x, alpha = 1.7)", celu), ("selu(x)", F.selu),
    ("gelu(x)", F.gelu), ("gelu_tanh(x)", lambda x: F.gelu(x, approximate="tanh")), ("silu(x)", F.silu), ("mish(x)", F.mish),
    ("softplus(x)", F.softplus), ("log_sigmoid(x)", F.logsigmoid), ("softsign(x)", F.softsign), ("hard_sigmoid(x)", lambda x: torch.clamp(x + 3, 0, 6) / 6),
    ("hard_silu(x)", F.hardswish), ("hard_tanh(x)", F.hardtanh), ("hard_shrink(x)", F.hardshrink), ("soft_shrink(x)", F.softshrink),
    ("tanh_shrink(x)", F.tanhshrink), ("softmax(x)", lambda x: F.softmax(x, -1)), ("softmax(x, axis = 0)", lambda x: F.softmax(x, 0)),
    ("log_softmax(x)", lambda x: F.log_softmax(x, -1)), ("glu(x)", F.glu), ("tanh(x)", torch.tanh), ("sigmoid(x)", torch.sigmoid),
    ("inverse_erf(tanh(x))", lambda x: torch.erfinv(torch.tanh(x))),
]
NEAR = LINE.clamp(-2, 2) * 0.9  # where tanh(x) is not yet 1


def activations():
    cases = [case(e, lambda x, f=f: f(x), {"x": NEAR if "inverse_erf" in e else LINE}) for e, f in ACTIVATIONS]
    slopes = torch.rand(6)
    cases.append(case("x |> prelu()", lambda x, prelu_0_slope: torch.where(x > 0, x, prelu_0_slope * x), {"x": LINE},
                      weights={"prelu.0/slope": slopes}))
    return cases


# ---- losses, unreduced

def losses():
    logits, target = 2 * torch.randn(5, 4), torch.randn(5, 4)
    shares, other = F.softmax(torch.randn(5, 4), -1), F.softmax(torch.randn(5, 4), -1)
    signs = torch.where(torch.randn(5, 4) > 0, 1.0, -1.0)
    label = torch.tensor([0, 3, 2, 2, 1])
    weights = torch.tensor([0.5, 1.0, 2.0, 3.0])
    listed = "[0.5, 1, 2, 3]"
    x = {"x": logits}
    xt = {"x": logits, "t": target}
    two = lambda f: lambda x, t: f(x, t)
    none = dict(reduction="none")
    positive = {"x": logits.abs() + 0.1, "t": target.abs()}
    labelled = lambda **kwargs: lambda x, label: F.cross_entropy(x, label.long(), **none, **kwargs)
    cases = [
        case("sparse_cross_entropy(x, label)", labelled(), x, {"label": label}),
        case("sparse_cross_entropy(x, label, label_smoothing = 0.1)", labelled(label_smoothing=0.1), x, {"label": label}),
        case(f"sparse_cross_entropy(x, label, weights = {listed})", labelled(weight=weights), x, {"label": label}),
        case(f"sparse_cross_entropy(x, label, label_smoothing = 0.2, weights = {listed})",
             labelled(weight=weights, label_smoothing=0.2), x, {"label": label}),
        case("sparse_cross_entropy(x, label, ignore = 2)", labelled(ignore_index=2), x, {"label": label}),
        case("weighted_mean(sparse_cross_entropy(x, label, ignore = 2), label != 2)",
             lambda x, label: F.cross_entropy(x, label.long(), ignore_index=2), x, {"label": label}),
        case(f"weighted_mean(sparse_cross_entropy(x, label), w)",
             lambda x, label, w: (F.cross_entropy(x, label.long(), **none) * w).sum() / w.sum(), {**x, "w": torch.rand(5)},
             {"label": label}),
        case("cross_entropy(x, t)", lambda x, t: F.cross_entropy(x, t, **none), {"x": logits, "t": shares}),
        case("cross_entropy(x, t, label_smoothing = 0.1)", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, **none),
             {"x": logits, "t": shares}),
        case(f"cross_entropy(x, t, weights = {listed})", lambda x, t: F.cross_entropy(x, t, weight=weights, **none),
             {"x": logits, "t": shares}),
        case("sigmoid_cross_entropy(x, t)", lambda x, t: F.binary_cross_entropy_with_logits(x, t, **none), {"x": logits, "t": shares}),
        case("sigmoid_cross_entropy(x, t, positive_weight = 3.0)",
             lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(3.0), **none), {"x": logits, "t": shares}),
        case("binary_cross_entropy(x, t)", lambda x, t: -(t * torch.log(x) + (1 - t) * torch.log(1 - x)), {"x": other, "t": shares}),
        case("kl_divergence(x, t)", lambda x, t: F.kl_div(torch.log(x), t, **none).sum(-1), {"x": other, "t": shares}),
        case("squared_error(x, t)", two(lambda x, t: F.mse_loss(x, t, **none)), xt),
        case("absolute_error(x, t)", two(lambda x, t: F.l1_loss(x, t, **none)), xt),
        case("huber(x, t, delta = 0.7)", two(lambda x, t: F.huber_loss(x, t, delta=0.7, **none)), xt),
        case("log_cosh(x, t)", two(lambda x, t: torch.log(torch.cosh(x - t))), xt),
        case("hinge(x, t)", two(lambda x, t: torch.relu(1 - x * t)), {"x": logits, "t": signs}),
        case("squared_hinge(x, t)", two(lambda x, t: torch.relu(1 - x * t) ** 2), {"x": logits, "t": signs}),
        case("poisson(x, t)", two(lambda x, t: F.poisson_nll_loss(x, t, log_input=False, eps=1e-7, **none)), positive),
        case("gaussian(x, v, t)", lambda x, v, t: F.gaussian_nll_loss(x, t, v, **none), {**xt, "v": torch.rand(5, 4) + 0.2}),
        case("cosine_similarity(x, t)", two(lambda x, t: F.cosine_similarity(x, t, dim=-1)), xt),
        case("triplet(x, t, n)", lambda x, t, n: F.triplet_margin_loss(x, t, n, **none), {**xt, "n": torch.randn(5, 4)}),
        case("quantile(x, t, share = 0.8)", two(lambda x, t: torch.maximum(0.8 * (t - x), -0.2 * (t - x))), xt),
    ]
    return cases


# ---- layers with their weights

def layers():
    x, sequence = torch.randn(5, 4), torch.randn(2, 3, 8)
    kernel, bias = torch.randn(4, 6), torch.randn(6)
    scale, offset = torch.rand(4) + 0.5, torch.randn(4)
    running = {}

    def batch_norm(x, batch_norm_0_scale, batch_norm_0_offset):
        running.update(mean=torch.zeros(4), variance=torch.ones(4))
        value = F.batch_norm(x, running["mean"], running["variance"], batch_norm_0_scale, batch_norm_0_offset, True, 0.1, 1e-5)
        # PyTorch's running variance divides by n - 1; ours, as Keras's, by n.
        running["variance"] = 0.9 + 0.1 * x.detach().var(0, unbiased=False)
        return value

    def attend(query, key, value, causal=False, mask=None):
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -1e9)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, -1) @ value

    def multi_head(causal):
        module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        mask = torch.ones(3, 3).triu(1).bool() if causal else None
        names = {}
        for i, name in enumerate(["query", "key", "value"]):
            names[f"multi_head_attention.0/{name}/kernel"] = module.in_proj_weight[8 * i:8 * i + 8].t().contiguous()
            names[f"multi_head_attention.0/{name}/bias"] = torch.randn(8)
        names["multi_head_attention.0/output/kernel"] = module.out_proj.weight.t().contiguous()
        names["multi_head_attention.0/output/bias"] = torch.randn(8)
        names = {k: v.detach() for k, v in names.items()}

        def run(x, **w):
            w = {k[len("multi_head_attention_0_"):]: v for k, v in w.items()}
            joined = torch.cat([w[f"{n}_kernel"].t() for n in ["query", "key", "value"]])
            biases = torch.cat([w[f"{n}_bias"] for n in ["query", "key", "value"]])
            return F.multi_head_attention_forward(
                x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), 8, 2, joined, biases, None, None, False, 0.0,
                w["output_kernel"].t(), w["output_bias"], need_weights=False, attn_mask=mask)[0].transpose(0, 1)

        return case(f"x |> multi_head_attention(2{', causal = true' if causal else ''})", run, {"x": sequence}, weights=names)

    def rotary(x):
        angle = torch.arange(3.0)[:, None] * torch.exp(-math.log(10000.0) / 4 * torch.arange(4.0))
        turned = torch.view_as_complex(torch.stack([x[..., :4], x[..., 4:]], -1)) * torch.polar(torch.ones(3, 4), angle)
        return torch.cat([turned.real, turned.imag], -1)

    table = torch.randn(7, 3)
    return [
        case("x |> dense(6)", lambda x, dense_0_kernel, dense_0_bias: F.linear(x, dense_0_kernel.t(), dense_0_bias), {"x": x},
             weights={"dense.0/kernel": kernel, "dense.0/bias": bias}),
        case("i |> embedding(7, 3)", lambda i, embedding_0_table: F.embedding(i, embedding_0_table), {},
             {"i": torch.tensor([[1, 6], [0, 1]])}, {"embedding.0/table": table}),
        case("x |> layer_norm()", lambda x, layer_norm_0_scale, layer_norm_0_offset: F.layer_norm(x, (4,), layer_norm_0_scale,
             layer_norm_0_offset, 1e-5), {"x": x}, weights={"layer_norm.0/scale": scale, "layer_norm.0/offset": offset}),
        case("x |> rms_norm()", lambda x, rms_norm_0_scale: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * rms_norm_0_scale,
             {"x": x}, weights={"rms_norm.0/scale": scale}),
        case("x |> batch_norm()", batch_norm, {"x": x}, weights={"batch_norm.0/scale": scale, "batch_norm.0/offset": offset},
             states=lambda: {"batch_norm.0/running_mean": running["mean"], "batch_norm.0/running_variance": running["variance"]}),
        case("attention(q, k, v)", lambda q, k, v: attend(q, k, v), {"q": sequence, "k": torch.randn(2, 5, 8), "v": torch.randn(2, 5, 6)}),
        case("attention(q, k, v, causal = true)", lambda q, k, v: attend(q, k, v, True),
             {"q": sequence, "k": torch.randn(2, 3, 8), "v": torch.randn(2, 3, 8)}),
        case("attention(q, k, v, mask = m > 0)", lambda q, k, v, m: attend(q, k, v, mask=m > 0),
             {"q": sequence, "k": torch.randn(2, 5, 8), "v": torch.randn(2, 5, 6)}, {"m": torch.tensor([[[1, 0, 1, 1, 0]], [[0, 1, 1, 0, 1]]])}),
        multi_head(False), multi_head(True),
        case("rotary(x)", rotary, {"x": sequence}),
    ]


# ---- layers that stand in other files of the library: kernels are [height, width, in, out], images [batch, height, width, channels]

def images():
    x, kernel, bias = torch.randn(2, 7, 6, 4), 0.3 * torch.randn(3, 3, 4, 5), torch.randn(5)
    turn = lambda t: t.permute(0, 3, 1, 2)
    back = lambda t: t.permute(0, 2, 3, 1)

    def conv(stride=1, pad=(0, 0, 0, 0), groups=1, dilation=1, bias=True):
        def run(x, conv2d_0_kernel, conv2d_0_bias=None):
            return back(F.conv2d(F.pad(turn(x), pad), conv2d_0_kernel.permute(3, 2, 0, 1), conv2d_0_bias, stride, 0, dilation, groups))
        return run

    def pool(function, size, stride, pad=0, **more):
        return lambda x: back(function(turn(x), size, stride, pad, **more))

    def depthwise(x, depthwise_conv2d_0_kernel, depthwise_conv2d_0_bias):
        return back(F.conv2d(turn(x), depthwise_conv2d_0_kernel.permute(3, 2, 0, 1), depthwise_conv2d_0_bias, 1, 1, 1, 4))

    def separable(x, separable_conv2d_0_depthwise_conv2d_0_kernel, separable_conv2d_0_conv2d_0_kernel, separable_conv2d_0_conv2d_0_bias):
        y = F.conv2d(turn(x), separable_conv2d_0_depthwise_conv2d_0_kernel.permute(3, 2, 0, 1), None, 2, 1, 1, 4)
        return back(F.conv2d(y, separable_conv2d_0_conv2d_0_kernel.permute(3, 2, 0, 1), separable_conv2d_0_conv2d_0_bias))

    def transpose(stride, pad, crop=0):
        def run(x, conv2d_transpose_0_kernel, conv2d_transpose_0_bias):
            y = F.conv_transpose2d(turn(x), conv2d_transpose_0_kernel.permute(3, 2, 0, 1), conv2d_transpose_0_bias, stride, pad)
            return back(y[..., :y.shape[2] - crop, :y.shape[3] - crop])
        return run

    def causal(x, conv1d_0_kernel, conv1d_0_bias):
        padded = F.pad(x.transpose(1, 2), (4, 0))
        return F.conv1d(padded, conv1d_0_kernel.permute(2, 1, 0), conv1d_0_bias, 1, 0, 2).transpose(1, 2)

    running = {}

    def batch_norm(x, batch_norm_0_scale, batch_norm_0_offset):
        flat = x.detach().reshape(-1, 4)
        running.update(mean=0.1 * flat.mean(0), variance=0.9 + 0.1 * flat.var(0, unbiased=False))
        return back(F.batch_norm(turn(x), torch.zeros(4), torch.ones(4), batch_norm_0_scale, batch_norm_0_offset, True, 0.1, 1e-5))

    both = {"conv2d.0/kernel": kernel, "conv2d.0/bias": bias}
    turned = {"conv2d_transpose.0/kernel": 0.3 * torch.randn(3, 3, 5, 4), "conv2d_transpose.0/bias": bias}
    scale, offset = torch.rand(4) + 0.5, torch.randn(4)
    return [
        case("x |> conv2d(5, kernel = 3, padding = valid)", conv(), {"x": x}, weights=both),
        case("x |> conv2d(5, kernel = 3, padding = same)", conv(pad=(1, 1, 1, 1)), {"x": x}, weights=both),
        # `same` with a stride pads as Keras does: 7 → 4 wants 1 + 1 rows, 6 → 3 wants 0 + 1 columns.
        case("x |> conv2d(5, kernel = 3, stride = 2, padding = same)", conv(stride=2, pad=(0, 1, 1, 1)), {"x": x}, weights=both),
        case("x |> conv2d(5, kernel = 3, stride = 2, padding = 1)", conv(stride=2, pad=(1, 1, 1, 1)), {"x": x}, weights=both),
        case("x |> conv2d(5, kernel = 3, dilation = 2, padding = valid)", conv(dilation=2), {"x": x}, weights=both),
        case("x |> conv2d(5, kernel = [1, 2], stride = [3, 1], padding = [0, 1])", conv(stride=(3, 1), pad=(1, 1, 0, 0)), {"x": x},
             weights={"conv2d.0/kernel": 0.3 * torch.randn(1, 2, 4, 5), "conv2d.0/bias": bias}),
        case("x |> conv2d(5, kernel = 1, stride = 2)", conv(stride=2), {"x": x},
             weights={"conv2d.0/kernel": 0.3 * torch.randn(1, 1, 4, 5), "conv2d.0/bias": bias}),
        case("x |> conv2d(4, kernel = 3, groups = 2, padding = valid, use_bias = false)", conv(groups=2), {"x": x},
             weights={"conv2d.0/kernel": 0.3 * torch.randn(3, 3, 2, 4)}),
        case("x |> depthwise_conv2d(kernel = 3, multiplier = 2, padding = same)", depthwise, {"x": x},
             weights={"depthwise_conv2d.0/kernel": 0.3 * torch.randn(3, 3, 1, 8), "depthwise_conv2d.0/bias": torch.randn(8)}),
        case("x |> conv2d_transpose(5, stride = 2)", transpose(2, 0), {"x": x}, weights=turned),
        case("x |> conv2d_transpose(5, stride = 2, padding = 1)", transpose(2, 1), {"x": x}, weights=turned),
        # `same` keeps twice the size: of the 2 n + 1 that windows write, the last row and column go.
        case("x |> conv2d_transpose(5, stride = 2, padding = same)", transpose(2, 0, crop=1), {"x": x}, weights=turned),
        case("s |> conv1d(5, kernel = 3, dilation = 2, padding = causal)", lambda s, **w: causal(s, **w), {"s": torch.randn(2, 8, 4)},
             weights={"conv1d.0/kernel": 0.3 * torch.randn(3, 4, 5), "conv1d.0/bias": bias}),
        case("v |> conv3d(5, kernel = [2, 3, 1], stride = [1, 2, 1], padding = [1, 0, 0])", lambda v, conv3d_0_kernel, conv3d_0_bias: F.conv3d(
            v.permute(0, 4, 1, 2, 3), conv3d_0_kernel.permute(4, 3, 0, 1, 2), conv3d_0_bias, (1, 2, 1), (1, 0, 0)).permute(0, 2, 3, 4, 1),
            {"v": torch.randn(2, 3, 5, 2, 4)}, weights={"conv3d.0/kernel": 0.3 * torch.randn(2, 3, 1, 4, 5), "conv3d.0/bias": bias}),
        case("x |> separable_conv2d(5, stride = 2, padding = 1)", separable, {"x": x}, weights={
            "separable_conv2d.0/depthwise_conv2d.0/kernel": 0.3 * torch.randn(3, 3, 1, 4),
            "separable_conv2d.0/conv2d.0/kernel": torch.randn(1, 1, 4, 5), "separable_conv2d.0/conv2d.0/bias": bias}),
        case("x |> max_pool(2)", pool(F.max_pool2d, 2, 2), {"x": x}),
        case("x |> max_pool(3, stride = 2)", pool(F.max_pool2d, 3, 2), {"x": x}),
        case("x |> max_pool(3, stride = 2, padding = 1)", pool(F.max_pool2d, 3, 2, 1), {"x": x}),
        case("x |> avg_pool(2)", pool(F.avg_pool2d, 2, 2), {"x": x}),
        case("x |> avg_pool(3, stride = 2)", pool(F.avg_pool2d, 3, 2), {"x": x}),
        case("x |> avg_pool(3, stride = 2, padding = 1)", pool(F.avg_pool2d, 3, 2, 1, count_include_pad=False), {"x": x}),
        case("x |> global_avg_pool()", lambda x: x.mean((1, 2)), {"x": x}),
        case("x |> global_max_pool()", lambda x: x.amax((1, 2)), {"x": x}),
        case("x |> upsample(2)", lambda x: back(F.interpolate(turn(x), scale_factor=2, mode="nearest")), {"x": x}),
        case("x |> group_norm(groups = 2)", lambda x, group_norm_0_scale, group_norm_0_offset: back(
            F.group_norm(turn(x), 2, group_norm_0_scale, group_norm_0_offset, 1e-5)), {"x": x},
            weights={"group_norm.0/scale": scale, "group_norm.0/offset": offset}),
        case("x |> batch_norm()", batch_norm, {"x": x}, weights={"batch_norm.0/scale": scale, "batch_norm.0/offset": offset},
             states=lambda: {"batch_norm.0/running_mean": running["mean"], "batch_norm.0/running_variance": running["variance"]}),
    ]


def recurrent():
    """Kernels are [in, gates · units]; the gates of a gru stand in Keras's order, update, reset, new. A bias that the layer lacks is 0."""
    x = torch.randn(2, 4, 3)
    made = []
    gates = lambda t: torch.cat([t[..., 5:10], t[..., :5], t[..., 10:]], -1)  # its own inverse

    def add(name, module, function, arguments=""):
        order = gates if name == "gru" else lambda t: t
        weights = {f"{name}.0/kernel": module.weight_ih_l0.t(), f"{name}.0/recurrent_kernel": module.weight_hh_l0.t(),
                   f"{name}.0/bias": module.bias_ih_l0}
        if name == "gru":
            weights[f"{name}.0/recurrent_bias"] = module.bias_hh_l0
        weights = {k: order(v.detach()).contiguous() for k, v in weights.items()}

        def run(x, **w):
            w = {k[len(name) + 3:]: order(v) for k, v in w.items()}
            own = [w["kernel"].t(), w["recurrent_kernel"].t(), w["bias"], w.get("recurrent_bias", torch.zeros_like(w["bias"]))]
            zero = torch.zeros(1, 2, 5)
            x = x.flip(1) if "reverse" in arguments else x
            y = function(x, (zero, zero) if name == "lstm" else zero, own, True, 1, 0.0, False, False, True)[0]
            y = y if "return_sequences" in arguments else y[:, -1]
            return y.flip(1) if "reverse" in arguments and y.dim() == 3 else y

        made.append(case(f"x |> {name}(5{arguments})", run, {"x": x}, weights=weights))

    rnn, gru, lstm = (kind(3, 5, batch_first=True) for kind in (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM))
    for arguments in ["", ", return_sequences = true", ", return_sequences = true, reverse = true", ", reverse = true"]:
        add("rnn", rnn, torch._VF.rnn_tanh, arguments)
        add("gru", gru, torch._VF.gru, arguments)
        add("lstm", lstm, torch._VF.lstm, arguments)
    return made


# ---- optimizers: ten updates by given gradients

def optimizers():
    start = torch.tensor([0.5, -1.2, 2.0, 0.01])
    gradients = torch.randn(10, 4)
    gradients[3] *= 20
    gradients[:, 3] *= 1e-3

    def follow(expression, make):
        w = torch.nn.Parameter(start.clone())
        optimizer = make([w])
        path = []
        for g in gradients:
            w.grad = g.clone()
            optimizer.step()
            path.append(w.detach().clone())
        return {"optimizer": expression, "start": tensor(start), "gradients": tensor(gradients), "path": tensor(torch.stack(path))}

    class Lion(torch.optim.Optimizer):
        """Chen et al., 2023, algorithm 2."""
        def __init__(self, params, lr, betas=(0.9, 0.99), decay=0.0):
            super().__init__(params, dict(lr=lr, betas=betas, decay=decay))

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for w in group["params"]:
                    m = self.state[w].setdefault("m", torch.zeros_like(w))
                    b1, b2 = group["betas"]
                    direction = torch.sign(b1 * m + (1 - b1) * w.grad)
                    w -= group["lr"] * (direction + group["decay"] * w)
                    m.mul_(b2).add_(w.grad, alpha=1 - b2)

    class Nadam(torch.optim.Optimizer):
        """Dozat, 2016, and PyTorch 2; PyTorch 1.13 has one momentum too many in its product."""
        def __init__(self, params, lr, decay):
            super().__init__(params, dict(lr=lr, decay=decay))

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for w in group["params"]:
                    s, g = self.state[w], w.grad + group["decay"] * w
                    t = s["t"] = s.get("t", 0) + 1
                    momentum = lambda t: 0.9 * (1 - 0.5 * 0.96 ** (t * 0.004))
                    s["product"] = s.get("product", 1.0) * momentum(t)
                    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
                    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g ** 2
                    spread = (s["v"] / (1 - 0.999 ** t)).sqrt() + 1e-8
                    w -= group["lr"] * (1 - momentum(t)) / (1 - s["product"]) * g / spread
                    w -= group["lr"] * momentum(t + 1) / (1 - s["product"] * momentum(t + 1)) * s["m"] / spread

    class Lamb(torch.optim.Optimizer):
        """You et al., 2020, algorithm 2, phi the identity."""
        def __init__(self, params, lr, decay):
            super().__init__(params, dict(lr=lr, decay=decay))

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for w in group["params"]:
                    s = self.state[w]
                    s["t"] = s.get("t", 0) + 1
                    s["m"] = 0.9 * s.get("m", 0) + 0.1 * w.grad
                    s["v"] = 0.999 * s.get("v", 0) + 0.001 * w.grad ** 2
                    r = s["m"] / (1 - 0.9 ** s["t"]) / ((s["v"] / (1 - 0.999 ** s["t"])).sqrt() + 1e-6) + group["decay"] * w
                    w -= group["lr"] * w.norm() / r.norm() * r

    o = torch.optim
    return [
        follow("sgd(0.1)", lambda p: o.SGD(p, 0.1)),
        follow("sgd(0.1, momentum = 0.9, weight_decay = 0.01)", lambda p: o.SGD(p, 0.1, momentum=0.9, weight_decay=0.01)),
        follow("sgd(0.1, momentum = 0.9, nesterov = true)", lambda p: o.SGD(p, 0.1, momentum=0.9, nesterov=True)),
        follow("adam(0.01)", lambda p: o.Adam(p, 0.01)),
        follow("adam(0.01, beta1 = 0.8, beta2 = 0.95, weight_decay = 0.1)", lambda p: o.Adam(p, 0.01, (0.8, 0.95), weight_decay=0.1)),
        follow("adam(0.01, amsgrad = true)", lambda p: o.Adam(p, 0.01, amsgrad=True)),
        follow("adamw(0.01, weight_decay = 0.1)", lambda p: o.AdamW(p, 0.01, weight_decay=0.1)),
        follow("adamw(0.01, amsgrad = true)", lambda p: o.AdamW(p, 0.01, amsgrad=True)),
        follow("adamax(0.01, weight_decay = 0.1)", lambda p: o.Adamax(p, 0.01, weight_decay=0.1)),
        follow("nadam(0.01, weight_decay = 0.1)", lambda p: Nadam(p, 0.01, 0.1)),
        follow("radam(0.01)", lambda p: o.RAdam(p, 0.01)),
        follow("adagrad(0.05, initial = 0.1, weight_decay = 0.1)",
               lambda p: o.Adagrad(p, 0.05, initial_accumulator_value=0.1, weight_decay=0.1)),
        follow("adadelta(0.5, weight_decay = 0.1)", lambda p: o.Adadelta(p, 0.5, weight_decay=0.1)),
        follow("rmsprop(0.01)", lambda p: o.RMSprop(p, 0.01)),
        follow("rmsprop(0.01, decay = 0.9, momentum = 0.8, centred = true, weight_decay = 0.1)",
               lambda p: o.RMSprop(p, 0.01, 0.9, momentum=0.8, centered=True, weight_decay=0.1)),
        follow("lion(0.01, weight_decay = 0.1)", lambda p: Lion(p, 0.01, decay=0.1)),
        follow("lamb(0.01, weight_decay = 0.1)", lambda p: Lamb(p, 0.01, 0.1)),
    ]


# ---- schedules: the rate of each update

def schedules():
    def rates(expression, make, count=12, first=1, rate=0.1):
        """Update t has the rate that PyTorch has after t steps of its scheduler; `first = 0`: after t - 1."""
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], rate)
        scheduler = make(optimizer)
        found = []
        for _ in range(count):
            if first == 0:
                found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
            if first == 1:
                found.append(optimizer.param_groups[0]["lr"])
        return {"schedule": expression, "rates": tensor(torch.tensor(found))}

    s = torch.optim.lr_scheduler
    return [
        rates("0.1", lambda o: s.ConstantLR(o, factor=1.0)),
        rates("step_decay(0.1, steps = 3, factor = 0.5)", lambda o: s.StepLR(o, 3, 0.5)),
        rates("exponential_decay(0.1, steps = 1, factor = 0.9)", lambda o: s.ExponentialLR(o, 0.9)),
        rates("cosine_decay(0.1, steps = 12)", lambda o: s.CosineAnnealingLR(o, 12)),
        rates("cosine_decay(0.1, steps = 12, final = 0.1)", lambda o: s.CosineAnnealingLR(o, 12, 0.01)),
        rates("linear_decay(0.1, steps = 8, final = 0.25)", lambda o: s.LinearLR(o, 1.0, 0.25, 8)),
        rates("polynomial_decay(0.1, steps = 8, power = 2.0)", lambda o: s.PolynomialLR(o, 8, 2.0)),
        # PyTorch changes the rate after its milestone's update.
        rates("piecewise(bounds = [2, 6], rates = [0.1, 0.05, 0.025])", lambda o: s.MultiStepLR(o, [3, 7], 0.5)),
        rates("warmup(exponential_decay(0.1, steps = 1, factor = 0.8), updates = 4, from = 0.2)",
              lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.2, 1.0, 4), s.ExponentialLR(o, 0.8)], [4])),
        rates("one_cycle(0.1, steps = 12)", lambda o: s.OneCycleLR(o, 0.1, total_steps=12, cycle_momentum=False), count=11, first=0),
    ]


write("activations", activations)
write("losses", losses)
write("layers", layers)
write("images", images)
write("recurrent", recurrent)
write("optimizers", optimizers)
write("schedules", schedules)
