# misconception: a container without inference tensors need not be rebuilt
# fails: containers are rebuilt
# message: rebuild every container
def to_training(batch):
    done = {}

    def convert(value):
        if id(value) not in done:
            new = rebuild(value)
            done[id(value)] = (value, new)
        return done[id(value)][1]

    def rebuild(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if isinstance(value, dict):
            new = type(value)((k, convert(v)) for k, v in value.items())
            return value if all(new[k] is value[k] for k in value) else new
        if isinstance(value, (list, tuple)):
            items = [convert(v) for v in value]
            if all(a is b for a, b in zip(items, value)):
                return value
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if dataclasses.is_dataclass(value):
            fields = {f.name: convert(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return dataclasses.replace(value, **fields)
        return value

    with torch.inference_mode(False):
        return convert(batch)
