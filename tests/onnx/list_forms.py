"""Writes src/import/operator_forms_table.h: how ONNX wants the nodes of every opset from 11 to 21, by the schemas of the
Python package onnx.

    python3 tests/onnx/list_forms.py > src/import/operator_forms_table.h
"""
import onnx
from onnx.defs import OpSchema

FIRST, LAST = 11, 21
WIDTH = 112
OPTION = {OpSchema.FormalParameterOption.Single: "!", OpSchema.FormalParameterOption.Optional: "?",
          OpSchema.FormalParameterOption.Variadic: "*"}
SEQUENCE, OTHER = 30, 31  # bits behind those of the element types


def forms():
    """Every schema that is in force in one of the opsets."""
    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= LAST:
            history.setdefault(schema.name, []).append(schema)
    for _, schemas in sorted(history.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        for schema, later in zip(schemas, schemas[1:] + [None]):
            if (later is None or later.since_version > FIRST) and not schema.deprecated:
                yield schema


def bit(name):
    """tensor(float) -> the bit of FLOAT."""
    if name.startswith("tensor("):
        return 1 << onnx.TensorProto.DataType.Value(name[7:-1].upper())
    return 1 << (SEQUENCE if name.startswith("seq(tensor(") else OTHER)


def types(schema):
    """T=mask for every type of the operands, those with a name of their own first."""
    masks = {each.type_param_str: sum({bit(name) for name in each.allowed_type_strs}) for each in schema.type_constraints}
    names = {}
    for operand in schema.inputs:
        if operand.type_str not in masks:
            names.setdefault(operand.type_str, f"_{len(names)}")
    masks.update({short: bit(name) for name, short in names.items()})
    return names, " ".join(f"{name}={mask:x}" for name, mask in masks.items())


def operands(parameters, names):
    """x!T y?T rest*T (of one type all) or rest+T."""
    words = []
    for each in parameters:
        option = OPTION[each.option]
        if option == "*" and not each.is_homogeneous:
            option = "+"
        words.append(f"{each.name}{option}{names.get(each.type_str, each.type_str)}")
    return " ".join(words)


def attributes(schema):
    return " ".join(f"{name}{'!' if each.required else ':'}{onnx.AttributeProto.AttributeType.Value(each.type.name)}"
                    for name, each in sorted(schema.attributes.items()))


def literal(text, indent):
    """A string literal, in pieces of a line each."""
    pieces, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) + 1 > WIDTH - indent:
            pieces.append(line)
            line = ""
        line += word + " "
    pieces.append(line.rstrip())
    return ("\n" + " " * indent).join(f'"{piece}"' for piece in pieces)


def main():
    print("// How ONNX wants the nodes of opset 11 to 21 (operator_forms.h): written by tests/onnx/list_forms.py.")
    print("// why: a table of all forms, in five lines each.")
    print("// clang-format off")
    print("#pragma once\n\nnamespace pantoum::import {\n")
    print("struct OperatorFormText {\n  const char* op_type;\n  int since;\n  int least_inputs, least_outputs;\n"
          "  const char *inputs, *outputs, *types, *attributes;\n};\n")
    print("inline constexpr OperatorFormText kOperatorForms[] = {")
    for schema in forms():
        names, masks = types(schema)
        print(f'    OperatorFormText{{"{schema.name}", {schema.since_version}, {schema.min_input}, {schema.min_output},')
        results = [each.name + OPTION[each.option] for each in schema.outputs]
        for text in (operands(schema.inputs, names), " ".join(results), masks, attributes(schema)):
            print(f"        {literal(text, 8)},")
        print("    },")
    print("};\n\n}  // namespace pantoum::import")


if __name__ == "__main__":
    main()
