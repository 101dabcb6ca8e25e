"""my-sampler is a sampler of masked diffusion models: it decides which rows step when, and at which times. As it stands, all rows step
together, on a grid of times that may be bent. Change it to what you have in mind."""

from dataclasses import dataclass

from mdmhost_plugin import Advance, drive, option, sampler, serve


@dataclass
class Options:
    """What a user may set, here as sampler.power. The host checks what it is given before the run, and `mdmhost plugin info ./my-sampler`
    shows these texts."""

    power: float = option(1.0, min=0.1, max=10, help="times fall as 1 - (i/steps)^power: above 1 the first steps are short, below 1 the last")


def time(i, n, power):
    """Where step i of n begins: 1 before the first step, where all is masked, and 0 behind the last."""
    return 1 - (min(i, n) / max(n, 1)) ** power


def step(row, o):
    """The next step of a row. alpha is the part of the tokens that is written at a time; 1 - t is the linear schedule, which most models
    are sampled with."""
    t, s = time(row.step, row.steps, o.power), time(row.step + 1, row.steps, o.power)
    if row.next_t > 0:  # the planner asked for a time, from which the row goes on
        t, s = row.next_t, max(0.0, row.next_t - (t - s))
    return Advance(slot=row.slot, t=t, s=s, alpha_t=1 - t, alpha_s=1 - s)


@sampler("my-sampler", options=Options, version="0.1.0", summary="steps on a grid of times that may be bent")
def sample(session, run, o):
    """Drives a run. drive takes in waiting rows, hands out those that are done and calls the function given to it for the others."""
    # advance is one pass of the model over these rows, and the planner's decision about each. A sampler that wants to see the statistics
    # itself calls denoise, then plan, and apply with decisions of its own.
    drive(session, lambda rows: session.advance([step(row, o) for row in rows]))


if __name__ == "__main__":
    serve(sample)
