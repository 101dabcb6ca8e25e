"""Writes defaults.json: for each family that transformers has, what its own class makes of an empty config.json.   python defaults.py"""
import json
import pathlib

from transformers import AutoConfig

names = ["bert", "albert", "roberta", "xlm-roberta", "camembert", "modernbert"]
configs = {name: AutoConfig.for_model(name).to_dict() for name in names}
pathlib.Path(__file__).with_name("defaults.json").write_text(json.dumps(configs, indent=1, sort_keys=True) + "\n")
