#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""picture.py WEFT-TOOLS TRACE NAME OUT.png: the page of a trace in headless Chromium, with the goroutine of that name chosen.

docs/trace.png was made so, of the trace that the tour's last part records."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import browser as chromium  # noqa: E402


def main(tools, trace, name, out):
    program = chromium.find_browser()
    if program is None:
        sys.exit("picture.py: no chromium on the PATH")
    with tempfile.TemporaryDirectory() as work:
        page = os.path.join(work, "page.html")
        subprocess.run([tools, "trace", trace, "-o", page], check=True, stderr=subprocess.DEVNULL)
        b = chromium.Browser(program, 1280, 720)
        try:
            b.open(page)
            b.wait("window.weftTrace !== undefined")
            b.key("/")
            b.type(name)
            b.key("Enter")
            b.run("document.getElementById('lanes').focus()")
            b.key("]")
            b.screenshot(out)
        finally:
            b.close()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
