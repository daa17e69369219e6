# misconception: only tensors and lists can be met twice
# fails: one object met twice stays one
# message: was converted twice
def to_training(batch):
    memo = {}

    def convert(value):
        if isinstance(value, (torch.Tensor, list)):
            if id(value) not in memo:
                memo[id(value)] = (value, rebuild(value))
            return memo[id(value)][1]
        return rebuild(value)

    def rebuild(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
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
