"""Writes tests/data/optimizers/goldens.json: ten steps of each optimizer on three small tensors, and learning rates
by step, from torch.optim and transformers.optimization (Lion from its paper), all in float64.

    python tests/oracle/make_optimizer_goldens.py
"""

import inspect
import json
from pathlib import Path

import torch
from torch.optim import _muon
from transformers import optimization

STEPS = 10
SHAPES = {"wide": [5, 7], "tall": [6, 4], "vector": [5]}

# torch's Muon rounds to bfloat16, which makes comparison impossible; everything else is unchanged.
source = inspect.getsource(_muon._zeropower_via_newtonschulz)
assert source.count("grad.bfloat16()") == 1
exec(source.replace("grad.bfloat16()", "grad.clone()"), _muon.__dict__)


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of arXiv:2302.06675."""

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            rate, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                c = beta1 * m + (1 - beta1) * p.grad
                p.copy_(p - rate * (torch.sign(c) + decay * p))
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


def rounded(tensor):
    return (tensor * 1000).round() / 1000


generator = torch.Generator().manual_seed(7)
START = {name: rounded(torch.randn(shape, generator=generator, dtype=torch.float64)) for name, shape in SHAPES.items()}
GRADIENTS = [{name: rounded(torch.randn(shape, generator=generator, dtype=torch.float64)) for name, shape in SHAPES.items()}
             for _ in range(STEPS)]


def run(make):
    """The weights after each step; `make` gets the parameters that decay and those that do not."""
    weights = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in START.items()}
    matrices, others = [w for w in weights.values() if w.dim() > 1], [w for w in weights.values() if w.dim() == 1]
    optimizers = make(matrices, others)
    result = []
    for gradients in GRADIENTS:
        for name, w in weights.items():
            w.grad = gradients[name].clone()
        for optimizer in optimizers:
            optimizer.step()
        result.append({name: w.detach().flatten().tolist() for name, w in weights.items()})
    return {"first": result[0], "last": result[-1]}


def case(name, ours, make, rate):
    return {"name": name, "options": ours, "rate": rate, **run(make)}


def two_groups(kind, decay, **settings):
    """Biases and norms do not decay."""
    return lambda matrices, others: [kind([{"params": matrices, "weight_decay": decay},
                                           {"params": others, "weight_decay": 0.0}], **settings)]


def adamw(rate, decay, betas, eps):
    return case(f"adamw, decay {decay}", {"kind": "adamw", "beta1": betas[0], "beta2": betas[1], "epsilon": eps,
                                          "weight_decay": decay},
                two_groups(torch.optim.AdamW, decay, lr=rate, betas=betas, eps=eps), rate)


def sgd(rate, decay, momentum, nesterov):
    return case(f"sgd, momentum {momentum}, nesterov {nesterov}, decay {decay}",
                {"kind": "sgd", "momentum": momentum, "nesterov": nesterov, "weight_decay": decay},
                two_groups(torch.optim.SGD, decay, lr=rate, momentum=momentum, nesterov=nesterov), rate)


def lions(rate, decay, betas):
    return case(f"lion, decay {decay}", {"kind": "lion", "beta1": betas[0], "beta2": betas[1], "weight_decay": decay},
                two_groups(lambda parameters, **defaults: Lion(parameters, defaults), decay, lr=rate, betas=betas), rate)


def adafactor(rate, decay=0.0, beta1=None, clip=1.0, epsilon=1e-30, **settings):
    relative = settings.get("relative_step", False)
    return case(f"adafactor, {settings}, beta1 {beta1}, clip {clip}, decay {decay}, epsilon {epsilon}",
                {"kind": "adafactor", "weight_decay": decay,
                 "adafactor": {"beta1": beta1 or 0, "clip_threshold": clip, "epsilon": epsilon, **settings}},
                two_groups(optimization.Adafactor, decay, lr=None if relative else rate, beta1=beta1,
                           clip_threshold=clip, eps=(epsilon, 1e-3),
                           **{"relative_step": False, "scale_parameter": False, **settings}), rate)


def muon(rate, decay, nesterov, adjust, steps=5):
    def make(matrices, others):
        return [torch.optim.Muon(matrices, lr=rate, weight_decay=decay, momentum=0.9, nesterov=nesterov,
                                 adjust_lr_fn=adjust, ns_steps=steps),
                torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.99), eps=1e-8, weight_decay=0)]
    return case(f"muon, {adjust}, nesterov {nesterov}",
                {"kind": "muon", "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "weight_decay": decay,
                 "muon": {"momentum": 0.9, "nesterov": nesterov, "steps": steps, "match_adamw": adjust == "match_rms_adamw"}},
                make, rate)


OPTIMIZERS = [
    # 1 - 0.999 in float32, as in the kernel, has a relative error of 1e-5: a small rate keeps that below the
    # tests' limit.
    adamw(0.02, 0.1, (0.9, 0.999), 1e-8), adamw(0.1, 0.0, (0.9, 0.98), 1e-9),
    sgd(0.05, 0.1, 0.0, False), sgd(0.05, 0.1, 0.9, False), sgd(0.05, 0.1, 0.9, True),
    lions(0.02, 0.5, (0.9, 0.99)),
    adafactor(0.05), adafactor(0.05, decay=0.1, scale_parameter=True), adafactor(0.05, beta1=0.9, clip=0.5),
    adafactor(1.0, scale_parameter=True, relative_step=True),
    adafactor(1.0, relative_step=True, warmup_init=True),
    adafactor(0.05, decay_rate=-0.5), adafactor(0.05, epsilon=0.1),
    muon(0.05, 0.1, True, "match_rms_adamw"), muon(0.02, 0.1, True, "original"),
    muon(0.05, 0.0, False, "match_rms_adamw", steps=3),
]


def rates(make, peak, steps):
    """What the optimizer's first, second, ... step uses."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=peak)
    schedule = make(optimizer)
    result = []
    for _ in range(steps):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return result


def schedule(kind, function, warmup, total, ours=None, **settings):
    wants_total = {} if kind in ("constant", "inverse-sqrt") else {"num_training_steps": total}
    return {"kind": kind, "warmup": warmup, "total": total, "peak": 0.5, **(ours or {}),
            "rates": rates(lambda o: function(o, num_warmup_steps=warmup, **wants_total, **settings), 0.5, total + 1)}


SCHEDULES = [
    item for warmup in (0, 1, 6) for item in (
        schedule("linear", optimization.get_linear_schedule_with_warmup, warmup, 30),
        schedule("cosine", optimization.get_cosine_schedule_with_warmup, warmup, 30),
        schedule("cosine", optimization.get_cosine_with_min_lr_schedule_with_warmup, warmup, 30, {"floor": 0.05},
                 min_lr=0.05),
        schedule("cosine-with-restarts", optimization.get_cosine_with_hard_restarts_schedule_with_warmup, warmup, 30,
                 {"cycles": 3}, num_cycles=3),
        schedule("cosine", optimization.get_cosine_schedule_with_warmup, warmup, 30, {"cycles": 1.5}, num_cycles=1.5),
        schedule("polynomial", optimization.get_polynomial_decay_schedule_with_warmup, warmup, 30,
                 {"power": 0.5, "floor": 0}, lr_end=0, power=0.5),
        schedule("polynomial", optimization.get_polynomial_decay_schedule_with_warmup, warmup, 30,
                 {"power": 2, "floor": 0.01}, lr_end=0.01, power=2.0),
        schedule("constant", optimization.get_constant_schedule_with_warmup, warmup, 30),
        schedule("trapezoid", optimization.get_wsd_schedule, warmup, 30, {"cooldown": 9}, num_decay_steps=9,
                 decay_type="linear"),
        schedule("trapezoid", optimization.get_wsd_schedule, warmup, 30, {"cooldown": 9, "floor": 0.05}, num_decay_steps=9,
                 decay_type="linear", min_lr_ratio=0.1),
        schedule("warmup-stable-decay", optimization.get_wsd_schedule, warmup, 30, num_decay_steps=6,
                 decay_type="linear"),
    )
] + [schedule("inverse-sqrt", optimization.get_inverse_sqrt_schedule, 6, 30)]


def plateau(figures, mode, **settings):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    reduce = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode=mode, **settings)
    factors = []
    for figure in figures:
        reduce.step(figure)
        factors.append(optimizer.param_groups[0]["lr"])
    return {"higher_is_better": mode == "max", "by": settings["factor"], "patience": settings["patience"],
            "threshold": settings.get("threshold", 1e-4), "least": settings.get("min_lr", 0.0),
            "figures": figures, "factors": factors}


FIGURES = [3.0, 2.0, 2.1, 1.99999, 2.2, 1.9, 1.95, 1.96, 1.97, 1.98, 1.5, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6]
PLATEAUS = [plateau(FIGURES, "min", factor=0.5, patience=1), plateau(FIGURES, "min", factor=0.1, patience=3, min_lr=0.05),
            plateau(FIGURES, "max", factor=0.5, patience=2, threshold=0.1), plateau(FIGURES, "min", factor=0.5, patience=0)]

folder = Path(__file__).parent.parent / "data" / "optimizers"
folder.mkdir(parents=True, exist_ok=True)
goldens = {
    "shapes": SHAPES, "start": {name: t.flatten().tolist() for name, t in START.items()},
    "gradients": [{name: t.flatten().tolist() for name, t in step.items()} for step in GRADIENTS],
    "optimizers": OPTIMIZERS, "schedules": SCHEDULES, "plateaus": PLATEAUS,
}
goldens = json.loads(json.dumps(goldens), parse_float=lambda text: float(f"{float(text):.10g}"))
# One line for each list of numbers.
text = json.dumps(goldens, separators=(",", ":")).replace("},{", "},\n{").replace("],\"", "],\n\"")
(folder / "goldens.json").write_text(text + "\n", encoding="utf-8")
