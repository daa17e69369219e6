# misconception: a clone outside the mode is enough, whatever the original requires
# fails: an inference tensor that requires a gradient
# message: Detach as well
def to_training(batch):
    done = {}

    def convert(value):
        if id(value) not in done:
            done[id(value)] = (value, value.clone() if torch.is_tensor(value) and value.is_inference() else rebuild(value, convert))
        return done[id(value)][1]

    with torch.inference_mode(False):
        return convert(batch)
