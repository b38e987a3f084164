/* The two layers that NNTrainer's example LayerClient registers with its AppContext, as a plug-in:
 *
 *   custom_pow  y = x^exponent, element by element; the key `exponent` is a whole number from 1 to 64
 *   mae_loss    the mean absolute error, as the last layer
 *
 *     gcc -O2 -shared -fPIC -I include examples/plugins/layer_client.c -o layer_client.so
 *     pantoum train examples/plugins/layer_client.ini --plugin ./layer_client.so --data train.dat --ram 16KiB -o net.bin */
#include <pantoum/plugin.h>

static const char* shape_of_pow(void* user, const pt_plugin_call* call, pt_plugin_tensor* outputs, uint32_t* count) {
  (void)user;
  if (call->input_count != 1 || call->inputs[0].dtype != PT_PLUGIN_F32) return "it takes one input, f32";
  if (call->ints[0] < 1 || call->ints[0] > 64) return "the exponent is not from 1 to 64";
  outputs[0] = call->inputs[0];
  *count = 1;
  return NULL;
}

/* x^n, by products. */
static float power(float x, int64_t n) {
  float product = 1;
  for (; n > 0; --n) product *= x;
  return product;
}

static void pow_part(void* arg, size_t begin, size_t end) {
  const pt_plugin_call* const call = arg;
  const float* const x = call->inputs[0].data;
  float* const y = call->outputs[0].data;
  for (size_t i = begin; i < end; ++i) y[i] = power(x[i], call->ints[0]);
}

static const char* pow_forward(void* user, const pt_plugin_call* call) {
  (void)user;
  call->parallel(call, call->outputs[0].elements, pow_part, (void*)call);
  return NULL;
}

/* Reads dy, x; writes dx = dy n x^(n-1). */
static const char* pow_gradient(void* user, const pt_plugin_call* call) {
  const float* const dy = call->inputs[0].data;
  const float* const x = call->inputs[1].data;
  float* const dx = call->outputs[0].data;
  const int64_t n = call->ints[0];
  (void)user;
  for (uint64_t i = 0; i < call->outputs[0].elements; ++i) dx[i] = dy[i] * (float)n * power(x[i], n - 1);
  return NULL;
}

static const char* shape_of_mae(void* user, const pt_plugin_call* call, pt_plugin_tensor* outputs, uint32_t* count) {
  (void)user;
  if (call->input_count != 2 || call->inputs[0].elements != call->inputs[1].elements)
    return "it takes a prediction and labels of its shape";
  outputs[0] = (pt_plugin_tensor){.dtype = PT_PLUGIN_F32, .rank = 0};
  *count = 1;
  return NULL;
}

static const char* mae_forward(void* user, const pt_plugin_call* call) {
  const float* const prediction = call->inputs[0].data;
  const float* const label = call->inputs[1].data;
  double sum = 0;
  (void)user;
  for (uint64_t i = 0; i < call->inputs[0].elements; ++i)
    sum += prediction[i] > label[i] ? prediction[i] - label[i] : label[i] - prediction[i];
  *(float*)call->outputs[0].data = (float)(sum / (double)call->inputs[0].elements);
  return NULL;
}

/* Reads d(loss), prediction, label; writes the gradient of the prediction. Labels have none. */
static const char* mae_gradient(void* user, const pt_plugin_call* call) {
  const float scale = *(const float*)call->inputs[0].data / (float)call->outputs[0].elements;
  const float* const prediction = call->inputs[1].data;
  const float* const label = call->inputs[2].data;
  float* const gradient = call->outputs[0].data;
  (void)user;
  for (uint64_t i = 0; i < call->outputs[0].elements; ++i)
    gradient[i] = scale * (float)((prediction[i] > label[i]) - (prediction[i] < label[i]));
  return NULL;
}

PT_PLUGIN_DECLARE_ABI;

int pantoum_plugin_open(const pt_plugin_host* host) {
  static const uint32_t first[] = {0}, both[] = {0, 1};
  const pt_plugin_setting exponent = {.name = "exponent", .required = 0, .otherwise = 1};
  const pt_plugin_key key = {.name = "exponent", .kind = PT_PLUGIN_WHOLE, .least = 1, .most = 64};
  const pt_plugin_gradient of_pow = {.size = sizeof of_pow,
                                     .of = first,
                                     .of_count = 1,
                                     .reads_inputs = first,
                                     .reads_input_count = 1,
                                     .kernel = pow_gradient};
  const pt_plugin_gradient of_mae = {.size = sizeof of_mae,
                                     .of = first,
                                     .of_count = 1,
                                     .reads_inputs = both,
                                     .reads_input_count = 2,
                                     .kernel = mae_gradient};
  const pt_plugin_operator pow = {.size = sizeof pow,
                                  .name = "layer_client::Pow",
                                  .version = 1,
                                  .shape = shape_of_pow,
                                  .forward = pow_forward,
                                  .gradients = &of_pow,
                                  .gradient_count = 1,
                                  .ints = &exponent,
                                  .int_count = 1};
  const pt_plugin_operator mae = {.size = sizeof mae,
                                  .name = "layer_client::Mae",
                                  .version = 1,
                                  .shape = shape_of_mae,
                                  .forward = mae_forward,
                                  .gradients = &of_mae,
                                  .gradient_count = 1};
  const pt_plugin_layer pow_layer = {.size = sizeof pow_layer,
                                     .type = "custom_pow",
                                     .operator_name = "layer_client::Pow",
                                     .keys = &key,
                                     .key_count = 1};
  const pt_plugin_layer mae_layer = {
      .size = sizeof mae_layer, .type = "mae_loss", .operator_name = "layer_client::Mae", .is_loss = 1};
  if (host->add_operator(host, &pow) != 0 || host->add_operator(host, &mae) != 0) return 1;
  return host->add_layer(host, &pow_layer) != 0 || host->add_layer(host, &mae_layer) != 0;
}
