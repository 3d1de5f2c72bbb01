"""``python -m nuggeteval``."""

import sys

from nuggeteval.cli import main

if __name__ == "__main__":
    sys.exit(main())
