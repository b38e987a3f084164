// A model built in code with an operator of this program's own, planned, trained and explained: prints the last loss.
#include <cstdio>
#include <pantoum/pantoum.hpp>
#include <vector>

namespace {

// y = x^2
pantoum::CustomOperator square() {
  return {.name = "use::Square",
          .shape = [](const pantoum::Operands& operands) -> pantoum::Result<std::vector<pantoum::TensorType>> {
            return std::vector{operands.inputs.at(0)};
          },
          .kernel = [](const pantoum::KernelCall& call) -> pantoum::Result<void> {
            const auto x = call.inputs()[0].as<float>(), y = call.outputs()[0].as<float>();
            for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i];
            return {};
          },
          .gradients = {{.of = {0},
                         .reads_inputs = {0},
                         .kernel = [](const pantoum::KernelCall& call) -> pantoum::Result<void> {
                           const auto dy = call.inputs()[0].as<float>(), x = call.inputs()[1].as<float>();
                           const auto dx = call.outputs()[0].as<float>();
                           for (size_t i = 0; i < x.size(); ++i) dx[i] = 2 * x[i] * dy[i];
                           return {};
                         }}}};
}

}  // namespace

int main() try {
  pantoum::add_operator(square()).value();
  pantoum::ModelBuilder net("product");
  auto x = net.linear(net.input("x", {2}), {.features = 8, .name = "in"});
  x = net.node("Square", {x}, {.domain = "use", .types = {{x.dtype(), x.shape()}}}).front();
  net.output("product", net.linear(x, {.features = 1, .name = "out"}));
  const auto model = pantoum::Model::from_onnx(net.onnx().value(), {.batch = 16, .loss = "mse", .optimizer = pantoum::Adam{.lr = 0.02}}).value();
  const auto plan = pantoum::plan(model, {.ram = pantoum::KiB(16)}).value();
  plan.verify().value();
  auto trainer = pantoum::Trainer::create(plan).value();
  double loss = 0;
  for (int step = 0; step < 800; ++step) {  // learns a * b
    std::vector<float> in, out;
    for (int i = 0; i < 16; ++i) {
      const float a = static_cast<float>((step * 7 + i * 5) % 21) / 10 - 1, b = static_cast<float>((step * 3 + i * 11) % 23) / 11 - 1;
      in.insert(in.end(), {a, b});
      out.push_back(a * b);
    }
    loss = trainer.step({in, out}).value().loss;
  }
  std::printf("%s %.6f\n", pantoum::version().c_str(), loss);
  return trainer.tensor("in.weight").value().as<float>().size() == 16 ? 0 : 1;
} catch (const std::exception& error) {
  std::fputs(error.what(), stderr);
  return 1;
}
