#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/cli.h"
#include "emit/export_onnx.h"

namespace pantoum::cli {
namespace {

struct ExportOptions {
  Common common;
  emit::ExportOptions emit;
};

Result<int> export_model(const ExportOptions& options) {
  PANTOUM_ASSIGN(const emit::Exported exported, emit::export_onnx(options.emit));
  if (options.common.json()) {
    const nlohmann::ordered_json line{{"output", options.emit.output},
                                      {"tensors", exported.tensors},
                                      {"bytes", exported.bytes},
                                      {"data_file", exported.data_file}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf("exported  %lld trained tensors, %s, in %s%s%s\n", static_cast<long long>(exported.tensors),
                base::show_bytes(exported.bytes).c_str(), options.emit.output.c_str(),
                exported.data_file.empty() ? "" : " and ", exported.data_file.c_str());
  }
  return 0;
}

}  // namespace

void add_export(CommandLine& line) {
  auto options = std::make_shared<ExportOptions>();
  Verb verb = line.add_verb("export", "the trained model as ONNX, for inference");
  verb.add_option("MODEL", options->emit.model, "the ONNX model that was trained").required();
  verb.add_option("--weights", options->emit.weights, "the trained weights (safetensors)").required();
  verb.add_option("-o,--output", options->emit.output, "the ONNX model with these weights").required();
  verb.add_flag("--external-data", options->emit.external_data,
                "contents in OUTPUT.data; always so above 1.5 GiB of them");
  add_common(verb, options->common);
  verb.does([options] { return export_model(*options); });
}

}  // namespace pantoum::cli
