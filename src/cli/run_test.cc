#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cli.h"

namespace pantoum::cli {
namespace {

struct Ran {
  int exit_code;
  std::string out, errors;
};

Ran ran(std::vector<const char*> words) {
  words.insert(words.begin(), "pantoum");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int exit_code = run(static_cast<int>(words.size()), words.data());
  std::string out = testing::internal::GetCapturedStdout();
  return {exit_code, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(Run, ExplainsEveryVerb) {
  const Ran help = ran({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* verb : {"inspect", "devices", "operators", "plan", "sweep", "explain", "verify", "train", "export",
                           "emit", "run-firmware", "report", "doctor", "completion"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + verb + " "), std::string::npos) << verb;
    const Ran asked = ran({verb, "--help"});
    EXPECT_EQ(asked.exit_code, 0) << verb;
    EXPECT_EQ(ran({"help", verb}).out, asked.out) << verb;
    EXPECT_NE(asked.out.find("\nexamples:\n  pantoum "), std::string::npos) << verb;
    for (std::istringstream lines(asked.out); lines;) {
      std::string one;
      std::getline(lines, one);
      EXPECT_LE(one.size(), 80U) << verb << ": " << one;
    }
  }
}

TEST(Run, ShowsAtMostThirtyOptionsUnlessAllAreAskedFor) {
  for (const char* verb : {"inspect", "plan", "profile", "sweep", "train", "emit"}) {
    const std::string help = ran({verb, "--help"}).out, all = ran({verb, "--help-all"}).out;
    const auto count = [](const std::string& text) {
      size_t options = 0;
      for (size_t at = text.find("\n  -"); at != std::string::npos; at = text.find("\n  -", at + 1)) ++options;
      return options;
    };
    EXPECT_LE(count(help), 32U) << verb << ": with --help and --help-all\n" << help;
    EXPECT_GT(count(all), count(help)) << verb;
    EXPECT_EQ(help.find("research"), std::string::npos) << verb;
  }
}

TEST(Run, TellsHowRemovedOptionsAreWrittenNow) {
  EXPECT_NE(ran({"plan", "net.onnx", "--momentum", "0.9"}).errors.find("did you mean --optimizer sgd,momentum=0.9?"),
            std::string::npos);
}

TEST(Run, TellsWhatIsWrongAsTextOrJson) {
  const Ran text = ran({"plan"});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_EQ(text.errors,
            "error[E0119]: give either a model or --costgraph\n  --> plan\n"
            "  help: pantoum plan model.onnx --ram 256KiB -o step.plan.json\n");
  const Ran json = ran({"emit", "--format=json"});
  EXPECT_EQ(json.exit_code, 2);
  EXPECT_EQ(nlohmann::json::parse(json.errors)["error"], "E0100");
  EXPECT_EQ(nlohmann::json::parse(json.errors)["exit"], 2);
}

TEST(Run, EndsWithTheActionsExitCode) {
  const Ran devices = ran({"devices", "--format", "json"});
  EXPECT_EQ(devices.exit_code, 0);
  EXPECT_TRUE(nlohmann::json::parse(devices.out).is_array());
}

}  // namespace
}  // namespace pantoum::cli
