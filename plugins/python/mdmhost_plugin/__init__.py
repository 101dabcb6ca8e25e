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
from .needs import Needs, vocab_dot
from .options import option
from .planner import Planner, planner
from .positions import ascending, descending, largest, smallest
from .rows import Row
from .run import Capabilities, Growth, Run
from .serve import serve
from .step import Step

__version__ = "0.1.0"
