# misconception: cutting the list is what saves memory
# fails: seven layers in three runs
# message: there is no checkpoint
def chain(layers, x, segments):
    if not 1 <= segments <= len(layers):
        raise ValueError
    for layer in layers:
        x = layer(x)
    return x
