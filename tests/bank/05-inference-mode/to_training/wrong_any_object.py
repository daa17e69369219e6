# misconception: rebuilds every object that has attributes
# fails: sets and other objects
# message: comes back as the same object
import copy
def to_training(batch):
    done = {}

    def convert(value):
        if id(value) not in done:
            done[id(value)] = (value, rebuild(value))
        return done[id(value)][1]

    def rebuild(value):
        if isinstance(value, torch.Tensor):
            return value.detach().clone() if value.is_inference() else value
        if isinstance(value, dict):
            new = type(value)()
            for key in value:
                new[key] = convert(value[key])
            return new
        if isinstance(value, list):
            return type(value)(convert(item) for item in value)
        if isinstance(value, tuple):
            items = [convert(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            new = copy.copy(value)
            for field in dataclasses.fields(value):
                object.__setattr__(new, field.name, convert(getattr(value, field.name)))
            return new
        if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, type):
            new = copy.copy(value)
            for k, v in vars(value).items():
                setattr(new, k, convert(v))
            return new
        return value

    with torch.inference_mode(False):
        return convert(batch)
