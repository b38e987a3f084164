// One thing that an exporter's optimizer did to a parameter, and that reading the model undoes.
#pragma once

#include <string>
#include <vector>

#include "import/shapes.h"

namespace pantoum::import {

struct Restoration {
  struct Reader {
    int node, input;  // before new nodes are added
  };
  enum class Kind : uint8_t { kTransposed, kReshaped, kSeparate, kZeroBias, kExpanded, kComputed, kCopied };
  Kind kind;
  std::string parameter;  // of the program
  std::string value;      // the initializer that stands for it in the file; kZeroBias: none
  bool tied = false;      // the file has the parameter, too
  std::vector<Reader> readers;
  Shape shape;  // of the parameter
  // kCopied: the reader is the Identity that made it.
  // kComputed: what the program does to the parameter: operators, then a factor, then a transpose.
  std::vector<std::string> functions = {};
  double factor = 1;
  bool turned = false;
};

}  // namespace pantoum::import
