def to_training(batch):
    memo, alive = {}, []

    def convert(value):
        if id(value) in memo:
            return memo[id(value)]
        alive.append(value)
        if not torch.is_tensor(value):
            made = rebuild(value, convert)
        elif value.is_inference():
            made = torch.empty_like(value, requires_grad=False).copy_(value.detach())
        else:
            made = value
        memo[id(value)] = made
        return made

    with torch.inference_mode(False), torch.no_grad():
        return convert(batch)
