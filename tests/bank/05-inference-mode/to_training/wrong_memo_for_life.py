# misconception: a default argument is made anew for each call
# fails: a list that grew between two calls
# message: remembered within one call only
def to_training(batch, _memo={}):
    def go(value):
        if id(value) not in _memo:
            _memo[id(value)] = value, new(value)
        return _memo[id(value)][1]

    def new(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if isinstance(value, dict):
            return type(value)({k: go(v) for k, v in value.items()})
        if isinstance(value, list):
            return [go(v) for v in value]
        if hasattr(value, "_fields"):
            return type(value)(*map(go, value))
        if isinstance(value, tuple):
            return tuple(go(v) for v in value)
        if dataclasses.is_dataclass(value):
            return dataclasses.replace(value, **{f.name: go(getattr(value, f.name)) for f in dataclasses.fields(value)})
        return value

    with torch.inference_mode(False):
        return go(batch)
