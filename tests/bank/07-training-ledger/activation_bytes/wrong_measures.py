# misconception: a figure on paper may come from a run
# fails: sizes that no machine runs
# message: without running anything
from dataclasses import replace


def activation_bytes(config, policy):
    choices = [policy] * config.layers if isinstance(policy, str) else policy
    return kept_by_blocks(replace(config, itemsize=4), choices) * config.itemsize // 4
