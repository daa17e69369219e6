# misconception: forgets the return
# fails: one inference tensor
# message: If your function returned None, a `return` is missing.
import copy

def to_training(batch):
    """deepcopy keeps types and sharing; its memo says in advance what becomes of tensors and of everything else."""
    memo = {}

    def prepare(value):
        if id(value) in memo or id(value) in seen:
            return
        if isinstance(value, torch.Tensor):
            memo[id(value)] = torch.empty_like(value).copy_(value.detach()) if value.is_inference() else value
        elif isinstance(value, (list, tuple, dict)) or (hasattr(type(value), '__dataclass_fields__') and (not isinstance(value, type))):
            seen[id(value)] = value
            if isinstance(value, dict):
                items = [*value.keys(), *value.values()]
            elif isinstance(value, (list, tuple)):
                items = value
            else:
                items = vars(value).values()
            for item in items:
                prepare(item)
        else:
            memo[id(value)] = value
    seen = {}
    with torch.inference_mode(False):
        with torch.no_grad():
            prepare(batch)
        copy.deepcopy(batch, memo)
