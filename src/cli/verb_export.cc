#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/ini_settings.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "emit/export_onnx.h"
#include "pipeline/ini_files.h"

namespace pantoum::cli {
namespace {

struct ExportOptions {
  Common common;
  emit::ExportOptions emit;
  ModelOptions model;
};

using WriteWeights = Result<void> (*)(const std::string& model, const std::string& from, const std::string& path);

// The weights alone.
Result<int> export_weights(const ExportOptions& options, WriteWeights write) {
  PANTOUM_TRY(write(options.emit.model, options.emit.weights, options.emit.output));
  if (options.common.json())
    print_json({{"output", options.emit.output}});
  else
    print_formatted("exported  the weights in {}\n", base::one_line(options.emit.output));
  return 0;
}

Result<int> export_model(const ExportOptions& options) {
  ProgressLine line(options.common.json());
  line.phase("writing " + options.emit.output);
  if (options.emit.output.ends_with(".bin")) return export_weights(options, pipeline::write_as_bin);
  if (options.emit.output.ends_with(".safetensors")) return export_weights(options, pipeline::write_as_safetensors);
  for (const char* other : {".tflite", ".ini"})
    if (options.emit.output.ends_with(other))
      return fail("E0113", fmt::format("no {} files are written", other), options.emit.output,
                  "name a file that ends in .onnx, or for the weights alone in .safetensors or .bin");
  PANTOUM_ASSIGN(const pipeline::ExportSource source,
                 pipeline::export_source(options.emit.model, options.emit.weights));
  emit::ExportOptions asked = options.emit;
  asked.model = source.model, asked.weights = source.weights;
  asked.shapes = options.model.shapes;
  PANTOUM_ASSIGN(const emit::Exported exported, emit::export_onnx(asked));
  if (options.common.json()) {
    const nlohmann::ordered_json answer{{"output", options.emit.output},
                                        {"tensors", exported.tensors},
                                        {"bytes", exported.bytes},
                                        {"data_file", exported.data_file}};
    print_json(answer);
  } else {
    print_formatted("exported  {} trained tensors, {}, in {}{}{}\n", exported.tensors, base::show_bytes(exported.bytes),
                    base::one_line(options.emit.output), exported.data_file.empty() ? "" : " and ",
                    base::one_line(exported.data_file));
  }
  return 0;
}

}  // namespace

void add_export(CommandLine& line) {
  auto options = std::make_shared<ExportOptions>();
  Verb verb = line.add_verb("export", "the trained model as ONNX, for inference; or the weights alone");
  verb.add_option("MODEL", options->emit.model, "the ONNX, .tflite or .ini model that was trained").required();
  add_plugins(verb);
  verb.add_option("--weights", options->emit.weights,
                  "the trained weights (safetensors, or .bin of an .ini model; default: the first values of an .ini or "
                  ".tflite model)")
      .required_unless("MODEL", [](const std::string& path) {
        return is_named_or_holds(path, ".ini", base::Contents::kIni) ||
               is_named_or_holds(path, ".tflite", base::Contents::kTflite);
      });
  verb.add_option("-o,--output", options->emit.output,
                  "the ONNX model with these weights; a name that ends in .safetensors: the weights alone; in .bin: "
                  "the weights alone, "
                  "as NNTrainer has them")
      .required();
  verb.add_flag("--external-data", options->emit.external_data,
                "contents in OUTPUT.data; always so above 1.5 GiB of them");
  verb.add_settings_of(settings::fields_of(options->model), {"shapes"});
  add_common(verb, options->common);
  verb.does([options] { return export_model(*options); });
}

}  // namespace pantoum::cli
