# misconception: a model always has a training flag
# fails: a model that is a plain function
# message: any callable
def stream(model, batches):
    training = model.training
    for batch in batches:
        with torch.no_grad():
            output = model(batch)
        model.train(training)
        yield output
