"""A submission becomes a grade."""

import sys

# jsonschema, which checks notebooks, builds a grammar of addresses as it is imported, where jupyterlab has brought that
# along: more than a second, and no notebook's schema asks for an address.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
