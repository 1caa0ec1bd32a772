# SPDX-License-Identifier: MIT
"""accelctl_json.py SUBCOMMAND FILE EXPRESSION...: the file is one JSON value as the schema of the
subcommand says, and the expression of d, the value, is true. Any number of these three."""

import json
import os
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(__file__), "../../Documentation/accelctl.schema.json")


def problem(schema, subcommand, path, expression):
    """Or None."""
    with open(path, "rb") as file:
        value = json.loads(file.read().decode("utf-8"))
    jsonschema.validate(value, {"$defs": schema["$defs"], "$ref": f"#/$defs/{subcommand}"},
                        cls=jsonschema.Draft202012Validator)
    if not eval(expression, {"d": value}):  # pylint: disable=eval-used
        return f"{subcommand}: {expression}: {value!r}"
    return None


def main():
    words = sys.argv[1:]
    if not words or len(words) % 3:
        return __doc__
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    found = [problem(schema, *words[at:at + 3]) for at in range(0, len(words), 3)]
    return "\n".join(filter(None, found)) or None


sys.exit(main())
