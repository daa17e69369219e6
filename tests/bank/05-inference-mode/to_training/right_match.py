def to_training(batch):
    memo, alive = {}, []

    @torch.inference_mode(False)
    def convert(value):
        key = id(value)
        if key in memo:
            return memo[key]
        alive.append(value)
        match value:
            case torch.Tensor() if value.is_inference():
                with torch.no_grad():
                    new = torch.empty_like(value, requires_grad=False).copy_(value)
            case dict():
                new = value.copy()
                new.update((k, convert(v)) for k, v in value.items())
            case tuple() if hasattr(value, "_make"):
                new = value._make(map(convert, value))
            case tuple() | list():
                new = type(value)(map(convert, value))
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = [f.name for f in dataclasses.fields(value) if f.init]
                new = dataclasses.replace(value, **{name: convert(getattr(value, name)) for name in fields})
            case _:
                new = value
        memo[key] = new
        return new

    return convert(batch)
