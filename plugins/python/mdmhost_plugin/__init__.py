"""The authors' kit of mdmhost plugins in Python.

    from dataclasses import dataclass
    from mdmhost_plugin import option, planner, serve, smallest

    @dataclass
    class Options:
        k: int = option(4, min=1, help="positions opened in a step at most")

    @planner("calm", needs=["entropy"], options=Options, version="0.1.0", pure=True)
    def calm(row, o):
        return row.open(smallest(row.eligible, row.entropy, o.k))

    if __name__ == "__main__":
        serve(calm)
"""

from .batch import Decisions
from .decisions import Decision
from .errors import PluginError
from .graphs import Graphs, Group, Param, Schedule
from .needs import Needs, vocab_dot
from .options import option
from .planner import Planner, planner
from .positions import ascending, descending, largest, smallest
from .rows import Row
from .rowmemory import RowMemory
from .rowstate import Advance, RowState, by_masks, drive
from .run import Capabilities, Growth, Run
from .sampler import Sampler, sampler
from .serve import serve
from .step import Step
from .task import Input, Network, Port, Signature, Task
from .trainer import Trainer, trainer

__version__ = "0.1.0"
__all__ = [
    "Advance", "Capabilities", "Decision", "Decisions", "Graphs", "Group", "Growth", "Input", "Needs", "Network", "Param",
    "Planner", "PluginError", "Port", "Row", "RowMemory", "RowState", "Run", "Sampler", "Schedule", "Signature", "Step", "Task",
    "Trainer", "ascending", "by_masks", "descending", "drive", "largest", "option", "planner", "sampler", "serve", "smallest",
    "trainer", "vocab_dot",
]
