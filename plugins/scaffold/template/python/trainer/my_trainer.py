"""my-trainer is a trainer of masked diffusion models: it writes the loss that a training step minimises, as an ONNX graph. As it stands,
that is MD4's bound on the likelihood with a polynomial schedule. Change it to what you have in mind."""

from dataclasses import dataclass

from mdmhost_plugin import Graphs, option, serve, trainer

from graph import Graph


@dataclass
class Options:
    """What a user may set, here as trainer.power. The host checks what it is given before the run, and `mdmhost plugin info ./my-trainer`
    shows these texts."""

    power: float = option(1.0, min=0.2, max=5, help="tokens are masked with probability t^power: above 1 fewer at a time")


def bound(g, power, sampler):
    """Writes the bound of each row, in nats [B], and how many tokens it is of [B]. The graph is written once, for every batch B and length
    L; the host fills in data and noise in each step, and differentiates it."""
    task = g.task
    tokens, free = g.input(task.tokens()), g.input(task.free())  # [B, L]; free: never a given or padded position
    t = g.input(task.time(sampler, 1e-3, name=f"time_{sampler}"))  # [B, 1]
    u = g.Pow(t, power)  # [B, 1], probability of a mask
    masked = g.And(free, g.Less(g.input(task.uniform("u", "B", "L")), u))  # [B, L]
    noised = g.Where(masked, g.constant(task.mask_id, "int64"), tokens)  # [B, L]

    # A network that takes the time is told which part is masked.
    logits = g.network(noised, g.squeeze(u))  # [B, L, V]
    nll = g.Where(masked, g.cross_entropy(logits, tokens), 0)  # [B, L]; a product with 0 would not save from an infinity

    # The weight (du/dt) / u = power / t makes the mean a bound on -log p (MD4, equation 5).
    return g.row_sum(g.Div(g.Mul(nll, power), t)), g.row_sum(g.Cast(free, to=1))


@trainer("my-trainer", options=Options, version="0.1.0", summary="MD4 with a polynomial schedule")
def build(task, o):
    """Called once a run. It may refuse the task with an error."""
    training = Graph("my-trainer", task)
    nats, tokens = bound(training, o.power, "shared_offset")
    training.output("loss", training.Div(training.total(nats), training.Max(training.total(tokens), 1)))
    training.metric("nll", nats, tokens)

    # Evaluations hold the linear schedule against the model, whatever the training's, so that runs can be compared.
    evaluation = Graph("my-trainer eval", task)
    nats, tokens = bound(evaluation, 1, "stratified")
    evaluation.output("bound", nats, task.B)
    evaluation.output("count", tokens, task.B)

    inputs = {**training.inputs, **evaluation.inputs}
    return Graphs(training.model(), evaluation.model(), list(inputs.values()), summary=f"MD4, tokens masked with probability t^{o.power}")


if __name__ == "__main__":
    serve(build)
