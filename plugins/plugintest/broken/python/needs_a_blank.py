"""Takes the largest of a list that is empty where a row has no blank left."""
from mdmhost_plugin import planner, serve


@planner("broken", needs=["p1"], version="0.1.0", summary="a fixture", pure=True)
def broken(row, _):
    best = row.p1[row.eligible].max()
    return row.open(row.eligible[row.p1[row.eligible] >= best / 2] if row.step < row.steps - 1 else row.eligible)


if __name__ == "__main__":
    serve(broken)
