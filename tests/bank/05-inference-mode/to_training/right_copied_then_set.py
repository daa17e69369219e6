def to_training(batch):
    import copy

    done = {}

    def convert(item):
        if id(item) not in done:
            done[id(item)] = (item, copied(item))  # the original too, so that its id is not used again
        return done[id(item)][1]

    def copied(item):
        if torch.is_tensor(item):
            return item.detach().clone() if item.is_inference() else item
        if isinstance(item, dict):
            made = copy.copy(item)
            for key in item:
                made[key] = convert(item[key])
            return made
        if isinstance(item, list):
            made = copy.copy(item)
            made[:] = map(convert, item)
            return made
        if isinstance(item, tuple):
            parts = [convert(part) for part in item]
            return item._make(parts) if hasattr(item, "_make") else tuple(parts)
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            made = copy.copy(item)
            for field in dataclasses.fields(item):
                object.__setattr__(made, field.name, convert(getattr(item, field.name)))
            return made
        return item

    with torch.inference_mode(False):
        return convert(batch)
