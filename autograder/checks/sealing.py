"""What a released check of a prediction knows and must not show: source text, written so that nobody reads it by chance.

Not a secret: whoever decodes it wants to. The builder seals, `Check.sealed` and the grammar open.
"""

from __future__ import annotations

import base64
import binascii
import zlib


def seal(text: str, salt: str) -> str:
    """Encode source text; equal texts look unlike under two salts."""
    return base64.b64encode(zlib.compress(f"{salt}\0{text}".encode(), 9)).decode("ascii")


def unseal(sealed: str) -> str:
    """The text; ValueError where it was not sealed."""
    try:
        return zlib.decompress(base64.b64decode(sealed, validate=True)).decode().partition("\0")[2]
    except (binascii.Error, zlib.error) as error:
        raise ValueError("this text was not sealed, or it was cut") from error
