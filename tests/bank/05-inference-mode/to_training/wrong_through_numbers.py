# misconception: a tensor rebuilt from its numbers is the same tensor
# fails: dtypes and shapes
# message: shape and dtype
def to_training(batch):
    done = {}

    def convert(value):
        if id(value) not in done:
            done[id(value)] = (value, rebuild(value))
        return done[id(value)][1]

    def rebuild(value):
        if isinstance(value, torch.Tensor):
            return torch.tensor(value.tolist()) if value.is_inference() else value
        if isinstance(value, dict):
            return type(value)((k, convert(v)) for k, v in value.items())
        if isinstance(value, list):
            return [convert(v) for v in value]
        if isinstance(value, tuple):
            return type(value)(*map(convert, value)) if hasattr(value, "_fields") else type(value)(map(convert, value))
        if dataclasses.is_dataclass(value):
            return dataclasses.replace(value, **{f.name: convert(getattr(value, f.name)) for f in dataclasses.fields(value)})
        return value

    with torch.inference_mode(False):
        return convert(batch)
