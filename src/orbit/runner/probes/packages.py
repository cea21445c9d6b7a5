# argv: names of distributions. Prints the interpreter's version and the versions of those that are installed.
import importlib.metadata
import json
import sys

found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"version": ".".join(map(str, sys.version_info[:3])), "packages": found}))
