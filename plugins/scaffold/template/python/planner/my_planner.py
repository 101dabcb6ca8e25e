"""my-planner is a planner of masked diffusion models: it decides which blanks a step opens. As it stands, it opens what the model is
sure of. Change it to what you have in mind."""

from dataclasses import dataclass

from mdmhost_plugin import largest, option, planner, serve


@dataclass
class Options:
    """What a user may set, here as planner.k and planner.sure. The host checks what it is given before the run, and
    `mdmhost plugin info ./my-planner` shows these texts."""

    k: int = option(4, min=1, help="positions opened in a step at most")
    sure: float = option(0.9, min=0, max=1, help="probability of the likeliest token from which a position is opened")


# needs: the statistics that the host computes, and no others. adaptive: it needs as many steps as it needs; --steps does not set
# their number. pure: it remembers nothing, so that it may be asked again after a crash.
@planner("my-planner", needs=["p1"], options=Options, version="0.1.0", adaptive=True, pure=True,
         summary="opens what the model is sure of, at least one position a step")
def plan(row, o):
    """Decides for one row of one step. Columns such as row.p1 are numpy arrays, indexed by position."""
    best = largest(row.eligible, row.p1, o.k)
    sure = best[row.p1[best] >= o.sure]
    if len(sure) == 0:
        sure = best[:1]  # a step that opens nothing would be asked again and again
    # The host writes the tokens that it has drawn; the metric stands in traces.
    return row.open(sure).metric("sure", len(sure))


if __name__ == "__main__":
    serve(plan)
