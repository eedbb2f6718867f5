"""Prints the bill of materials of the program, as CycloneDX 1.6: every crate in it, with version, licence, hash and what it needs.

    cargo metadata --format-version 1 | sbom.py Cargo.lock TARGET

The crates that only tests need are left out; those that only build others are marked `excluded`.
"""

import json
import sys
import tomllib
import uuid

ROOT = "bashd-cli"
VOCABULARY = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def reached(nodes, root, kinds):
    """The ids of all that `root` needs by dependencies of these kinds, transitively, with `root` itself."""
    seen, waiting = set(), [root]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += needs(nodes[one], kinds)
    return seen


def needs(node, kinds):
    return [one["pkg"] for one in node["deps"] if any(kind["kind"] in kinds for kind in one["dep_kinds"])]


def component(package, checksums, linked):
    found = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": "required" if linked else "excluded",
        "purl": purl(package),
    }
    if package["description"]:
        found["description"] = " ".join(package["description"].split())
    if package["license"]:
        # Before SPDX had operators, a slash said "or".
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        found["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return found


def main():
    lock, target = sys.argv[1:]
    metadata = json.load(sys.stdin)
    with open(lock, "rb") as file:
        locked = tomllib.load(file)["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    (root,) = [one["id"] for one in metadata["packages"] if one["name"] == ROOT]
    linked = reached(nodes, root, [None])
    everything = reached(nodes, root, [None, "build"])
    ordered = sorted(everything, key=lambda one: (packages[one]["name"], packages[one]["version"]))
    program = component(packages[root], checksums, True) | {"type": "application"}
    del program["scope"]
    components = [component(packages[one], checksums, one in linked) for one in ordered if one != root]
    vocabulary = {
        "type": "data",
        "bom-ref": "o200k_base.tiktoken",
        "name": "o200k_base.tiktoken",
        "description": "The vocabulary that bashd stats counts tokens with, as tiktoken-rs has it",
        "hashes": [{"alg": "SHA-256", "content": VOCABULARY}],
        "licenses": [{"license": {"id": "MIT"}}],
    }
    dependencies = [
        {"ref": purl(packages[one]), "dependsOn": sorted({purl(packages[need]) for need in needs(nodes[one], [None, "build"])})}
        for one in ordered
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # The same sources give the same bill.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([target, [purl(packages[one]) for one in ordered]]))}",
        "version": 1,
        "metadata": {"component": program, "properties": [{"name": "cargo:target", "value": target}]},
        "components": [*components, vocabulary],
        "dependencies": dependencies,
    }
    json.dump(bill, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
