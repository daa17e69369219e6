import dataclasses


def to_training(batch, memo=None):
    """Recursive, with the results by id of the original; dataclasses by replace."""
    if memo is None:
        with torch.inference_mode(False):
            return to_training(batch, {"alive": []})
    if id(batch) in memo:
        return memo[id(batch)]

    def walk(value):
        return to_training(value, memo)

    if torch.is_tensor(batch):
        result = batch.clone().detach() if batch.is_inference() else batch
    elif isinstance(batch, tuple) and hasattr(batch, "_asdict"):
        result = type(batch)(**{name: walk(value) for name, value in batch._asdict().items()})
    elif isinstance(batch, (list, tuple)):
        result = type(batch)(map(walk, batch))
    elif isinstance(batch, dict):
        result = type(batch)((key, walk(value)) for key, value in batch.items())
    elif dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        result = dataclasses.replace(batch, **{f.name: walk(getattr(batch, f.name)) for f in dataclasses.fields(batch)})
    else:
        result = batch
    memo[id(batch)] = result
    memo["alive"].append(batch)
    return result
