from contextlib import contextmanager


@contextmanager
def put_aside(params):
    kept = [param.grad for param in params]
    try:
        yield
    finally:
        for param, grad in zip(params, kept):
            param.grad = grad


def twice(loss, params):
    with put_aside(params):
        results = []
        for keep in (True, False):
            for param in params:
                param.grad = None
            loss.backward(retain_graph=keep, inputs=list(params))
            results.append([param.grad for param in params])
    return tuple(results)
