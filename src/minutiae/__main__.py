"""`python -m minutiae` is the command `minutiae`. Nothing else lives here."""

import sys

from minutiae.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
