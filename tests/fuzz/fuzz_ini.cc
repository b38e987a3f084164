// Any bytes as a model file of NNTrainer: refused, or a model that the import reads.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "import/onnx.h"
#include "ini/model.h"
#include "ini/network.h"
#include "ini/training.h"

namespace ini = pantoum::ini;

namespace {

// A number of several digits may ask for more memory than a fuzzer has: such files are read, and not built.
bool is_small(std::string_view text) {
  for (size_t at = 1; at < text.size(); ++at)
    if (std::isdigit(static_cast<unsigned char>(text[at])) != 0 &&
        std::isdigit(static_cast<unsigned char>(text[at - 1])) != 0)
      return false;
  return text.size() < 4096;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.find("backbone") != std::string_view::npos) return 0;  // they name files
  const auto text = ini::parse_ini(bytes, "fuzz.ini");
  if (!text) return 0;
  (void)ini::read_settings(*text);
  (void)ini::read_network(*text);
  if (!is_small(bytes)) return 0;
  const auto model = ini::parse_model(bytes, "fuzz.ini");
  if (model && !pantoum::import::parse_onnx(model->onnx.data(), model->onnx.size(), "", {.batch = 2})) std::abort();
  return 0;
}
