"""Prints rows.json: rows that sample.py and sample_insertion.py of real exports write, and the sha256 of the files that they come from.
mdmhost must give the same rows for the same flags.   python rows.py [MDMHOST] | gzip -9n >rows.json.gz"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
FILES = ["denoiser.py", "model.py", "noise.py", "planners.py", "rows.py", "sample.py", "sample_insertion.py"]
PUZZLE = "....7.9.2...356.....5..1..6...1..8....946...567...8.3...36...2.7.....6.........4."
CASES = {
    "sudoku": [["--infill", PUZZLE], ["--infill", PUZZLE, "--planner", "confidence", "--temperature", "0", "--steps", "20"],
               ["--infill", PUZZLE, "--planner", "p2", "--temperature", "1"]],
    "text": [["--prompt", "It was", "--length", "40", "--planner", "confidence", "--temperature", "0"], ["--prompt", "It was", "--length", "40"],
             ["--prompt", "The old", "--length", "40", "--planner", "eb", "--temperature", "1", "--set", "planner.gamma=1"],
             ["--prompt", "The old", "--length", "40", "--planner", "p2", "--temperature", "0", "--set", "planner.eta=2"],
             ["--prompt", "The old", "--length", "40", "--planner", "p2", "--steps", "25", "--set", "planner.eta=0"]],
    "molecule": [["--prompt", "", "--length", "20"], ["--prompt", "CC", "--length", "16", "--planner", "confidence", "--temperature", "1"],
                 ["--infill", "CC(=O)Nc1ccc([MASK][MASK][MASK])cc1", "--planner", "eb", "--temperature", "0"]],
    "molecule-insertion": [["--prompt", "Brc1ccc5cc1."], ["--infill", "[MASK]COc1ccc5cc1.[MASK]", "--temperature", "1"],
                           ["--prompt", "CC", "--temperature", "0", "--steps", "40", "--length", "12"]],
    "stars": [["--prompt", "eccbcggfcdcb>"], ["--prompt", "ec", "--temperature", "1", "--steps", "60"]],
}


def main():
    out = []
    with tempfile.TemporaryDirectory() as folder:
        mdmhost = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(folder, "mdmhost")).resolve()
        if len(sys.argv) == 1:
            subprocess.run(["go", "build", "-o", mdmhost, "./framework/cmd/mdmhost"], cwd=REPOSITORY, check=True)
        for model, cases in CASES.items():
            export = pathlib.Path(folder, model)
            subprocess.run([mdmhost, "export", "--to", "pytorch", "--verify", "off", model, export], check=True, stdout=sys.stderr)
            for name in FILES:  # as they stand, whatever the binary was built of
                shutil.copy(REPOSITORY / "exporters/pytorch" / name, export)
            script = "sample_insertion.py" if model in ("molecule-insertion", "stars") else "sample.py"
            for seed, flags in enumerate(cases):
                flags = [*flags, "--seed", str(seed), "--num", "2"]
                run = subprocess.run([sys.executable, script, "--format", "jsonl", *flags], cwd=export, check=True, stdout=subprocess.PIPE, text=True)
                rows = [json.loads(line) for line in run.stdout.splitlines()]
                out.append({"Model": model, "Script": script, "Flags": flags, "Tokens": [r["tokens"] for r in rows], "Text": [r["text"] for r in rows]})
    sums = {name: hashlib.sha256((REPOSITORY / "exporters/pytorch" / name).read_bytes()).hexdigest() for name in FILES}
    json.dump({"SHA256": sums, "Cases": out}, sys.stdout, separators=(",", ":"))


main()
