// The catalog names every operator of opset 21 once, and refusals say what it says.
#include "import/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "import/operator_forms.h"
#include "import/operators.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

TEST(OperatorCatalog, HasEveryOperatorOfOpset21Once) {
  std::set<std::string> known;
  std::vector<std::string> listed;
  for (const CatalogEntry& entry : operator_catalog()) listed.push_back(entry.op_type);
  for (const OperatorFormText& form : operator_forms()) known.insert(form.op_type);
  known.insert({"Scatter", "Upsample"});  // deprecated
  EXPECT_EQ(listed, std::vector<std::string>(known.begin(), known.end()));
  EXPECT_GE(known.size(), 190U);
}

TEST(OperatorCatalog, GivesAReasonAndAdviceForWhatIsRefused) {
  for (const CatalogEntry& entry : operator_catalog()) {
    if (entry.lowered || entry.folded) continue;
    EXPECT_FALSE(entry.note.empty()) << entry.op_type;
    EXPECT_FALSE(entry.help.empty()) << entry.op_type;
  }
}

TEST(OperatorCatalog, RefusesNothingThatRuns) {
  for (const RefusedOperator& refused : refused_operators()) {
    const bool runs = find_operator("", refused.op_type) != nullptr || is_folded(refused.op_type);
    EXPECT_FALSE(runs) << refused.op_type << " runs by now: take its row out of catalog.cc";
  }
}

TEST(OperatorCatalog, IsWhatARefusalSays) {
  for (const CatalogEntry& entry : operator_catalog()) {
    if (entry.lowered || entry.folded) continue;
    OnnxModel model;
    model.input("x", {"2"}).node(entry.op_type, {"x"}, {"y"}).output("y");
    const auto loaded = model.load();
    ASSERT_FALSE(loaded.has_value()) << entry.op_type;
    EXPECT_EQ(loaded.error().code, "E0401");
    ASSERT_EQ(loaded.error().notes.size(), 1U) << entry.op_type;
    EXPECT_TRUE(loaded.error().notes[0].ends_with("there is no such operator here: " + entry.note + "; " + entry.help))
        << loaded.error().notes[0];
  }
}

}  // namespace
}  // namespace pantoum::import
