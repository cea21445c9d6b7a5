# argv: the code folder, the folder of the entry. Prints a StagedCode (runner/python.hpp). Runs on Python 3.8 and later.
# Started outside the code folder, so that nothing of it is imported here.
import importlib.metadata
import json
import os
import re
import sys
import urllib.parse

code, entry = map(os.path.realpath, sys.argv[1:3])


def text(name):
    try:
        with open(os.path.join(code, name), encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def section(text, header):
    found = re.search(r"(?ms)^\s*\[" + re.escape(header) + r"\]\s*$(.*?)(?=^\s*\[|\Z)", text)
    return found.group(1) if found else ""


def declared_name():
    for file, header in (("pyproject.toml", "project"), ("pyproject.toml", "tool.poetry"), ("setup.cfg", "metadata")):
        found = re.search(r"(?m)^\s*name\s*=\s*[\"']?([A-Za-z0-9][A-Za-z0-9._-]*)", section(text(file), header))
        if found:
            return found.group(1)
    return ""


def inside(path, folder):
    path, folder = os.path.realpath(path), os.path.realpath(folder)
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def staged_modules():
    names = set()
    for folder in (code, os.path.join(code, "src")):
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for each in entries:
            if each.is_dir() and os.path.isfile(os.path.join(each.path, "__init__.py")):
                names.add(each.name)
            elif each.is_file() and each.name.endswith(".py"):
                names.add(each.name[:-3])
    return sorted(name for name in names if name.isidentifier())


def use_path_of_entry():
    # `python3 FILE` puts the folder of FILE in front; the entry runs in the code folder, so that is what relative parts
    # of PYTHONPATH are relative to.
    given = [part for part in os.environ.get("PYTHONPATH", "").split(":") if part]
    here = {os.path.abspath(part) for part in given} | {""}
    sys.path[:] = [entry] + [os.path.join(code, part) for part in given] + [p for p in sys.path if p not in here]


def origin_of(module):
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(module, None)
        except Exception:
            continue
        if spec is not None:
            places = [spec.origin] + list(spec.submodule_search_locations or [])
            return next((place for place in places if place and os.path.isabs(place)), None)
    return None


# Whether the distribution brought the module: other packages may bear the name of a staged module on purpose.
def brought_by(distribution, module, origin):
    for file in distribution.files or []:
        if file.parts and file.parts[0] in (module, module + ".py"):
            return True
    try:
        url = json.loads(distribution.read_text("direct_url.json") or "{}").get("url", "")
    except ValueError:
        return False
    return url.startswith("file://") and inside(origin, urllib.parse.unquote(url[len("file://"):]))


name = declared_name()
distribution = None
if name:
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        pass
foreign = []
if distribution:
    use_path_of_entry()
    for module in staged_modules():
        origin = origin_of(module)
        if origin and not inside(origin, code) and brought_by(distribution, module, origin):
            foreign.append({"name": module, "origin": os.path.realpath(origin)})
print(json.dumps({"distribution": name, "installed": distribution is not None, "foreign": foreign}))
