"""What lies in the folder: names, archives, attempts, timestamps, links."""

from __future__ import annotations

from tests.grading.corpus.damages import (
    Files,
    blank,
    damage,
    encode,
    zipped,
)
from tests.grading.small_chapter import (
    NAME,
    code_cell,
    find_cell,
)


@damage("renamed: (1)", "graded")
def _(nb):
    return Files({f"{NAME}/{NAME} (1).ipynb": encode(nb)})


@damage("renamed: Copy of, with spaces and plus signs", "graded")
def _(nb):
    return Files({f"{NAME}/Copy of 01+small my name \u00e9\u4e2d.ipynb": encode(nb)})


@damage("lone notebook in the student's folder", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}.ipynb": encode(nb)})


@damage("lone notebook with any name", "graded", "found-elsewhere")
def _(nb):
    return Files({"Untitled.ipynb": encode(nb)})


@damage("chapter folder written otherwise", "graded", "found-elsewhere")
def _(nb):
    return Files({"01 Small/homework.ipynb": encode(nb)})


@damage("downloaded as .ipynb.txt", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb.txt": encode(nb)})


@damage("downloaded as .json", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.json": encode(nb)})


@damage("a zip", "graded", "found-elsewhere", "zip-opened")
def _(nb):
    return Files({f"{NAME}/handin.zip": zipped({f"{NAME}.ipynb": encode(nb), "__MACOSX/._x": b"junk"})})


@damage("a zip in a zip", "graded", "found-elsewhere", "zip-opened")
def _(nb):
    inner = zipped({f"my work/{NAME}.ipynb": encode(nb)})
    return Files({"all.zip": zipped({"inner.zip": inner})})


@damage("a zip under the notebook's name", "graded", "zip-opened")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})})


@damage("a zip under the notebook's name, in a zip", "graded", "zip-opened")
def _(nb):
    return Files({"all.zip": zipped({f"{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})})})


@damage("a Word document under the notebook's name", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({"word/document.xml": b"<w/>", "[Content_Types].xml": b"<T/>"})})


@damage("a damaged zip under the notebook's name", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": zipped({f"{NAME}.ipynb": encode(nb)})[:-40]})


@damage("a folder with the notebook's name, the notebook in it", "graded", "found-elsewhere")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb/{NAME}.ipynb": encode(nb)})


@damage("an empty folder with the notebook's name", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": None})


@damage("a folder with the notebook's name, without a notebook", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb/answers.pdf": b"%PDF-1.7"})


@damage("several attempts, the newest blank", "graded", "several-attempts")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/{NAME} (1).ipynb": blank()})


@damage("a scratch notebook beside it", "graded")
def _(nb):
    scratch = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [code_cell("x = 1")]}
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/Untitled.ipynb": encode(scratch)})


@damage("a sibling file that the answer reads", "graded")
def _(nb):
    find_cell(nb, "double")["source"] = "from mine import double"
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/mine.py": b"def double(x):\n    return 2 * x\n"})


@damage("a broken timestamp", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": b"yesterday, late"})


@damage("a timestamp in the future", "graded", "timestamp-future")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": b"2999-01-01 00:00:00 UTC"})


@damage("a timestamp that is a folder", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": None})


@damage("a timestamp that is a link", "graded", "timestamp-broken")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": encode(nb), f"{NAME}/timestamp.txt": "/etc/hostname"})


@damage("only a script", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.py": b"def double(x):\n    return 2 * x\n"})


@damage("a tar archive", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.tar.gz": b"\x1f\x8b..."})


@damage("a RAR archive", "unreadable", "unreadable")
def _(nb):
    return Files({"homework.rar": b"Rar!..."})


@damage("a damaged zip", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({f"{NAME}.ipynb": encode(nb)})[:-40]})


@damage("a zip with unsafe paths", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({f"../../{NAME}.ipynb": encode(nb)})})


@damage("a link in place of the notebook", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.ipynb": "/etc/hostname"})


@damage("a link in place of the folder", "unreadable", "unreadable")
def _(nb):
    return Files({NAME: "/etc"})


@damage("a web page", "unreadable", "unreadable")
def _(nb):
    return Files({f"{NAME}/{NAME}.html": b"<html>"})


@damage("an empty zip", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/{NAME}.zip": zipped({})})


@damage("only a PDF", "missing", "missing")
def _(nb):
    return Files({f"{NAME}/answers.pdf": b"%PDF-1.7"})


@damage("an empty folder", "missing", "missing")
def _(nb):
    return Files({NAME: None})
