"""The first thing that the ``fairclust`` command runs: it listens for Ctrl-C before the library is imported."""

import signal
import sys


def main() -> None:
    """Import and run the command line; Ctrl-C on the way ends it with a word and exit code 130."""
    try:
        from fairclust.cli import main as run

        run()
    except KeyboardInterrupt:
        print("Stopped. Nothing was written.", file=sys.stderr)
        sys.exit(130)
    finally:  # all is done: a signal while Python clears up must not make it look as if it were not
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
