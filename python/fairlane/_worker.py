"""A worker of ``engine="processes"``: tasks come line by line, and answers go back."""

from __future__ import annotations

import json
import signal
import sys

from fairlane._engines import perform


def main() -> None:
    """Answer until nobody asks any more."""
    # Ctrl-C reaches every process of a terminal; whoever started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = sys.stdout.buffer
    # What a library prints isn't to come between answers.
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        kind, text = json.loads(line)
        try:
            answers.write(json.dumps(perform(kind, text)).encode() + b"\n")
            answers.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
