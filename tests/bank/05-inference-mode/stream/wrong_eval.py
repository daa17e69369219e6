# misconception: eval() belongs to inference
# fails: the training flag
# message: eval() is not a mode of autograd
def stream(model, batches):
    model.eval()
    for batch in batches:
        with torch.no_grad():
            output = model(batch)
        yield output
