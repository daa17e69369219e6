# misconception: every tuple is made from one iterable
# fails: a dataclass, a namedtuple, a tuple
# message: a namedtuple wants its fields one by one
import dataclasses


def to_training(batch):
    memo = {}

    def walk(value):
        if id(value) not in memo:
            memo[id(value)] = (value, build(value))
        return memo[id(value)][1]

    def build(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(map(walk, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(walk, value))
        if isinstance(value, dict):
            return type(value)((k, walk(v)) for k, v in value.items())
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return dataclasses.replace(value, **{f.name: walk(getattr(value, f.name)) for f in dataclasses.fields(value)})
        return value

    with torch.inference_mode(False):
        return walk(batch)
