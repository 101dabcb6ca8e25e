"""plugins/examples/calm-planner in Python."""

from dataclasses import dataclass
from mdmhost_plugin import option, planner, serve, smallest


@dataclass
class Options:
    k: int = option(4, min=1, help="positions opened in a step at most")
    limit: float = option(0.5, min=0, help="entropy in nats above which a position waits; inf never waits")


@planner("calm", needs=["entropy"], options=Options, version="0.1.0", summary="opens what the model is calm about", adaptive=True, pure=True)
def calm(row, o):
    calmest = smallest(row.eligible, row.entropy, o.k)
    calm = calmest[row.entropy[calmest] <= o.limit]
    return row.open(calm if len(calm) else calmest[:1]).metric("calm", len(calm))


if __name__ == "__main__":
    serve(calm)
