"""``python -I -m dpaudit``: the command line, started so that nothing of the current folder is imported.

Without ``-I`` (or ``-P``) Python looks for modules in the current folder first, and a file there, named like
one of Python's own modules, would run in the place of it.
"""

import sys

if not sys.flags.safe_path:
    sys.exit(
        "error [E-PYTHON-PATH]: Python must not import from the current folder. "
        "Run `python -I -m dpaudit`, or `dpaudit`."
    )

from dpaudit.cli import main

if __name__ == "__main__":
    main(prog_name="dpaudit")
