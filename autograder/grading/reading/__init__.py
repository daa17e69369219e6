"""Bytes become cells. Knows nothing of a course. Begin with `notebook`; `unreadable` says in a sentence why there are none,
and `kinds` what the file is instead.
"""
