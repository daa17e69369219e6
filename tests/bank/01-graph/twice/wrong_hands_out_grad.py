# misconception: hands out .grad itself, which the second pass adds to
# fails: the first pass
# message: you handed out the tensor itself
def twice(loss, params):
    loss.backward(retain_graph=True)
    first = [p.grad for p in params]
    loss.backward()
    second = [p.grad for p in params]
    return first, second
