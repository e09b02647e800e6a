"""`python -m cli.docsgen [--check]`: write the generated pages under docs/, or check that they are current."""

import sys

from cli.docsgen.reference import main

sys.exit(main())
