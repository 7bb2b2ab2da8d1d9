#include <iomanip>
#include <iterator>
#include <sstream>

#include "plan.hpp"

namespace judge {
namespace {

constexpr const char* kActs[] = {"init",
                                 "unary",
                                 "unary_in",
                                 "scale",
                                 "scale_in",
                                 "shift",
                                 "shift_in",
                                 "binary",
                                 "binary_in",
                                 "product",
                                 "addmm",
                                 "concat",
                                 "sum_of",
                                 "foreach_scale",
                                 "cast",
                                 "gather",
                                 "draw",
                                 "clone",
                                 "detach",
                                 "alias",
                                 "set_data",
                                 "empty_copy",
                                 "from_memory",
                                 "view",
                                 "view_in",
                                 "view_copy",
                                 "read_view",
                                 "gradient",
                                 "through_file",
                                 "item",
                                 "if_item",
                                 "raw_set",
                                 "raw_fill",
                                 "raw_copy",
                                 "raw_read",
                                 "raw_memory",
                                 "make_model",
                                 "batch",
                                 "zero_grad",
                                 "forward",
                                 "backward",
                                 "clip",
                                 "step",
                                 "read_loss",
                                 "evaluate",
                                 "ema",
                                 "ema_into_model",
                                 "ema_raw",
                                 "clamp_all",
                                 "scale_all",
                                 "scale_weight",
                                 "weight_raw",
                                 "weight_set_data",
                                 "buffer_shift",
                                 "buffer_raw",
                                 "gradient_scale",
                                 "gradient_raw",
                                 "state_raw",
                                 "schedule",
                                 "hold_parameter",
                                 "hold_output",
                                 "mode",
                                 "reload",
                                 "freeze",
                                 "manual_seed",
                                 "spawn",
                                 "join",
                                 "take_square",
                                 "add_result",
                                 "adopt_model",
                                 "average",
                                 "all_reduce",
                                 "broadcast",
                                 "all_gather",
                                 "reduce_gradients",
                                 "broadcast_model",
                                 "barrier",
                                 "unused",
                                 "times_one",
                                 "double_transpose",
                                 "hold_longer",
                                 "sleep"};
static_assert(std::size(kActs) == static_cast<std::size_t>(Act::sleep) + 1);

constexpr const char* kEndings[] = {"returns", "exits", "leaks", "statics", "at once"};
constexpr const char* kWays[] = {"threads",      "forks", "launch",
                                 "parallel_for", "queue", "processes"};
constexpr const char* kStyles[] = {"Sequential", "module", "pair", "tensors"};
constexpr const char* kUpdates[] = {"SGD",     "Adam",    "AdamW",       "RMSprop",
                                    "Adagrad", "by hand", "by set_data", "foreach"};
constexpr const char* kSources[] = {"own generator", "default generator", "formula", "memory",
                                    "data set"};
constexpr const char* kLosses[] = {"mse", "cross entropy", "smooth l1", "by hand"};
constexpr const char* kLayers[] = {"linear",     "relu",       "tanh",   "gelu",
                                   "batch norm", "layer norm", "dropout"};

template <class T>
const char* word(const T& names, int number) {
  return names[static_cast<std::size_t>(number)];
}

std::string describe(const ModelPlan& model) {
  std::ostringstream out;
  out << word(kStyles, static_cast<int>(model.style)) << ", " << model.inputs << " in, "
      << model.outputs << " out";
  for (const Layer& layer : model.layers) {
    out << ", " << word(kLayers, static_cast<int>(layer.kind));
    if (layer.width) out << ' ' << layer.width;
    if (layer.number != 0) out << ' ' << layer.number;
  }
  if (model.scale_parameter) out << ", scale parameter";
  if (model.counter_buffer) out << ", counter buffer";
  out << "; " << word(kUpdates, static_cast<int>(model.update)) << " lr " << model.lr
      << " momentum " << model.momentum << " decay " << model.weight_decay << " eps " << model.eps
      << " beta " << model.beta;
  if (model.two_groups) out << ", two groups";
  out << "; batches of " << model.batch << " in " << model.parts << " parts from "
      << word(kSources, static_cast<int>(model.source)) << ", loss "
      << word(kLosses, static_cast<int>(model.loss)) << ", seed " << model.seed;
  if (model.seeds_itself) out << " (set before it is constructed)";
  if (model.has_ema) out << ", EMA";
  return out.str();
}

void describe(const Instruction& instruction, std::ostringstream& out) {
  out << (instruction.mutated ? "  * " : "    ");
  if (instruction.step >= 0) out << "step " << instruction.step << "  ";
  if (instruction.section > 0) out << "thread " << instruction.section << "  ";
  out << name_of(instruction.act) << " to " << instruction.to << " a " << instruction.a << " b "
      << instruction.b << " i " << instruction.i << " j " << instruction.j << " x "
      << instruction.x;
  if (!instruction.list.empty()) {
    out << " list";
    for (const int item : instruction.list) out << ' ' << item;
  }
  if (instruction.act == Act::spawn) out << ' ' << word(kWays, instruction.i);
  if (instruction.spelling) out << " spelling " << instruction.spelling;
  out << '\n';
}

}  // namespace

const char* name_of(Act act) { return word(kActs, static_cast<int>(act)); }
const char* name_of(Ending ending) { return word(kEndings, static_cast<int>(ending)); }

std::string describe(const Program& program) {
  std::ostringstream out;
  out.precision(9);
  out << program.kind << ", seed " << program.seed << ", main " << name_of(program.ending) << '\n';
  for (std::size_t number = 0; number < program.workers.size(); ++number) {
    const Worker& worker = program.workers[number];
    out << worker.name << ": worker " << number << ", seed " << worker.seed << ", "
        << worker.squares << " squares of " << worker.n << ", what it holds "
        << (dies(program, number) ? "dies before" : "is there when") << " its process ends\n";
    for (std::size_t model = 0; model < worker.models.size(); ++model)
      out << "  model " << model << ": " << describe(worker.models[model]) << '\n';
    for (std::size_t place = 0; place < worker.work.size(); ++place) {
      out << std::setw(4) << place;
      describe(worker.work[place], out);
    }
  }
  return out.str();
}

}  // namespace judge
