"""A student's cells go back into the course's chapter. May import `reading`.

`graft` is the door: `match` finds which cell is which, `answers` picks among copies, `order` places what is the student's own,
`definitions` says what a cell binds, `notes` tells what was mended,
`marks` what the submission's marks say, and `fences` takes Markdown's off.
"""
