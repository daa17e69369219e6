# misconception: only a plain dict is a dict
# fails: an OrderedDict
# message: An OrderedDict is a dict
def to_training(batch):
    memo = {}

    def go(value):
        if id(value) not in memo:
            memo[id(value)] = value, new(value)
        return memo[id(value)][1]

    def new(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if type(value) is dict:
            return {k: go(v) for k, v in value.items()}
        if type(value) is list:
            return [go(v) for v in value]
        if type(value) is tuple:
            return tuple(go(v) for v in value)
        if hasattr(value, "_fields"):
            return type(value)(*map(go, value))
        if dataclasses.is_dataclass(value):
            return dataclasses.replace(value, **{f.name: go(getattr(value, f.name)) for f in dataclasses.fields(value)})
        return value

    with torch.inference_mode(False):
        return go(batch)
