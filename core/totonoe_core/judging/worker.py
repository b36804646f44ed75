"""The process that holds the judge's model: `python -m totonoe_core.judging.worker`.

It keeps no text beyond the answer, so that a purge has nothing to empty here.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NoReturn

from totonoe_core.base import errors, limits
from totonoe_core.helper.serving import Answer, serve
from totonoe_core.judging import frames
from totonoe_core.judging.own import OwnModel
from totonoe_core.text.reading import language


def main() -> NoReturn:
    """Load the model of the first frame, then answer batches until the input ends."""
    serve(_load, _unavailable)


def _load(settings: bytes) -> tuple[bytes, Answer]:
    model = OwnModel(Path(json.loads(settings)))

    def answer(body: bytes) -> bytes:
        try:
            opinions = model.opinions(frames.pairs_from_wire(body))
            return frames.opinions_to_wire(opinions, time.process_time())
        # The message of a foreign exception may quote a text; its type does not.
        except Exception as error:
            raise _unavailable(f"{type(error).__name__} in the model") from None
        finally:
            language.forget_cached()

    return json.dumps(model.name).encode(), answer


def _unavailable(message: str) -> errors.Unavailable:
    return errors.Unavailable("JUDGE_UNAVAILABLE", message, retry_delay_ms=limits.RETRY_DELAY_MS)


if __name__ == "__main__":
    main()
