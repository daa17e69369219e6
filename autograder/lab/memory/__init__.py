"""Bytes: what is saved (`ledger`), what that is together (`bill`), and what is alive when (`peak`, `timeline`, `sweep`).

Imports torch, matplotlib and `lab.models`. Begin with `ledger`.
"""
