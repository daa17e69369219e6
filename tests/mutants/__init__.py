"""Every exercise proved by mutation: each right answer is changed in every small way, and a check has to notice.

`operators` says how (small changes of syntax), `tensors` what people who write PyTorch get wrong, `make` puts them into answers,
`prove` judges them through the ordinary engine and judge, `report` shows what became of them. Start with `python -m tests.mutants`.
"""
