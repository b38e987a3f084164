"""Writes src/import/opset_operators.h: every operator of opset 21 of ai.onnx, by the schemas of the Python package onnx.

    python3 tests/onnx/list_operators.py > src/import/opset_operators.h
"""
import onnx

OPSET = 21


def main():
    newest = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        known = newest.get(schema.name)
        if schema.domain == "" and schema.since_version <= OPSET:
            if not known or known.since_version < schema.since_version:
                newest[schema.name] = schema
    print("// Every operator of opset 21 of ai.onnx: written by tests/onnx/list_operators.py.")
    print("#pragma once\n\n#include <array>\n\nnamespace pantoum::import {\n")
    print("struct OpsetOperator {\n  const char* op_type;\n  int since;  // the opset of the form that opset 21 has\n"
          "  bool deprecated = false;\n};\n")
    print("inline constexpr std::array kOpsetOperators = {")
    for name, schema in sorted(newest.items()):
        deprecated = ", true" if schema.deprecated else ""
        print(f'    OpsetOperator{{"{name}", {schema.since_version}{deprecated}}},')
    print("};\n\n}  // namespace pantoum::import")


if __name__ == "__main__":
    main()
