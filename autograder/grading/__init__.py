"""A submission becomes a grade. May import `engine` and `checks`; knows nothing of how a cell is run.

```
files ─ intake ─> hand-in ─ reading ─> cells ─ restore ─> chapter ─ jobs ─> engine ─> run ─ judge ─> results ─ book
```

Begin with `campaign`, which sends a class through all of that; `learner` is the same for one notebook at home.
"""

import sys

# jsonschema, which checks notebooks, builds a grammar of addresses as it is imported, where jupyterlab has brought that
# along: more than a second, and no notebook's schema asks for an address.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
