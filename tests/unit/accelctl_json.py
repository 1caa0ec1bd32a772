# SPDX-License-Identifier: MIT
"""accelctl_json.py SUBCOMMAND EXPRESSION <OUTPUT: the output is one JSON value, as the schema of the
subcommand says, and the expression of d, the value, is true."""

import json
import os
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(__file__), "../../Documentation/accelctl.schema.json")


def main():
    subcommand, expression = sys.argv[1:]
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    value = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    jsonschema.validate(value, {"$defs": schema["$defs"], "$ref": f"#/$defs/{subcommand}"},
                        cls=jsonschema.Draft202012Validator)
    return 0 if eval(expression, {"d": value}) else repr(value)  # pylint: disable=eval-used


sys.exit(main())
