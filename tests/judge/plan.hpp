#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "random.hpp"

/// A small random program as data: what random_run executes and what a mutation changes.
namespace judge {

/// What an instruction does. Operands `to`, `a` and `b` are squares (float32, n by n) unless said
/// otherwise; i and j are positions and choices, taken modulo what there is; x is a number.
enum class Act : std::uint8_t {
  // Plain tensors.
  init,           ///< to = a square, filled in the i-th way
  unary,          ///< to = f(a), the i-th function
  unary_in,       ///< to = f(to) in place
  scale,          ///< to = a * x
  scale_in,       ///< to *= x
  shift,          ///< to = a + x
  shift_in,       ///< to += x
  binary,         ///< to = f(a, b), the i-th function
  binary_in,      ///< to = f(to, a) in place
  product,        ///< to = a.mm(b) * x
  addmm,          ///< to = addmm(to, a, b) scaled by x
  concat,         ///< to = rows of cat(a, b) from the i-th
  sum_of,         ///< to = the squares of `list`, added in that order
  foreach_scale,  ///< the squares of `list` *= x, by one op
  cast,           ///< to = a through the i-th dtype and back
  gather,         ///< to = rows of a, chosen, added or overwritten in the i-th way
  draw,           ///< to = random numbers of the i-th kind, j: of which generator
  clone,          ///< to = a.clone()
  detach,         ///< to = a.detach(), the same memory
  alias,          ///< to = a, the same tensor
  set_data,       ///< to.set_data(a)
  empty_copy,     ///< to = empty_like(a), then copy_
  from_memory,    ///< to = from_blob of the program's own memory number i
  view,           ///< view `to` = a part of a, the i-th kind, j: where
  view_in,        ///< view `to` changed in place, the i-th way
  view_copy,      ///< view `to` = one element of a
  read_view,      ///< to = a + the sum of view b
  gradient,       ///< to = the gradient of a function of a and b, in the i-th way
  through_file,   ///< to = a, saved and loaded
  item,           ///< a number read from a, in the i-th way
  if_item,        ///< to += x if the sum of a is above a limit
  // Behind LibTorch's back.
  raw_set,     ///< element i of `to` moved by j ULP, or set to x where j is 0
  raw_fill,    ///< all elements of `to` set by a loop
  raw_copy,    ///< to = a by a loop
  raw_read,    ///< to += element i of a, read by a pointer
  raw_memory,  ///< the program's own memory number i: element j set to x
  // Models: `to` is a model.
  make_model,       ///< constructs it and its optimizer
  batch,            ///< the input and target of step i
  zero_grad,        ///< i: by the optimizer, the module or by hand; to none or to zero
  forward,          ///< loss of part i of the batch
  backward,         ///< of the last loss
  clip,             ///< gradients to norm or value x
  step,             ///< the update
  read_loss,        ///< a number
  evaluate,         ///< without gradients; square a = from its outputs, or a number
  ema,              ///< the copies held outside follow by 1 - x
  ema_into_model,   ///< parameters overwritten by the copies
  ema_raw,          ///< element j of copy i moved by one ULP
  clamp_all,        ///< every parameter into -x..x
  scale_all,        ///< every parameter times x
  scale_weight,     ///< parameter i times x
  weight_raw,       ///< element j of parameter i moved by one ULP
  weight_set_data,  ///< parameter i gets new memory, with its contents times x
  buffer_shift,     ///< buffer i += x
  buffer_raw,       ///< first element of buffer i set to x
  gradient_scale,   ///< gradient of parameter i times x
  gradient_raw,     ///< element j of the gradient of parameter i moved by one ULP
  state_raw,        ///< element j of the i-th tensor of the optimizer's state moved by one ULP
  schedule,         ///< learning rates times x
  hold_parameter,   ///< keeps a detached parameter i
  hold_output,      ///< keeps the last output
  mode,             ///< i: train or eval
  reload,           ///< the model saved and loaded into itself
  freeze,           ///< parameter i takes no gradient from here on
  // The program.
  manual_seed,  ///< of the default generator
  spawn,        ///< starts the workers of `list` in the i-th way
  join,         ///< waits for them
  take_square,  ///< to = a copy of its parent's square a; before it starts
  add_result,   ///< to += the sum of square a of worker i, which has ended
  adopt_model,  ///< model `to` = the first model of worker i, which has ended
  average,      ///< parameters of model `to` = the mean of them and those of the workers of `list`
  // Among processes that compute together; all of them do it.
  all_reduce,        ///< to = the sum of all their squares `to`, called in the i-th way
  broadcast,         ///< to = that of process i
  all_gather,        ///< to = the sum of all, each weighted by its number
  reduce_gradients,  ///< of model `to`: their mean
  broadcast_model,   ///< model `to` starts with the parameters of the first process
  barrier,
  // Without an effect.
  unused,            ///< an op whose result is dropped
  times_one,         ///< to = to * 1
  double_transpose,  ///< to = to.t().t()
  hold_longer,       ///< keeps a temporary until the end of the worker
  sleep,             ///< i milliseconds
};

/// How workers run.
enum class Way : std::uint8_t { threads, forks, launch, parallel_for, queue, processes };

struct Instruction {
  Act act{};
  int to = 0, a = 0, b = 0;
  int i = 0, j = 0;
  double x = 0;
  std::vector<int> list;
  int spelling = 0;    ///< Ways to say the same with the same bits.
  int section = 0;     ///< A run of equal numbers above 0 is executed by a thread that is joined.
  int step = -1;       ///< The training step that it belongs to.
  bool fixed = false;  ///< Neither left out nor moved nor changed.
  bool mutated = false;

  bool operator==(const Instruction&) const = default;
};

enum class LayerKind : std::uint8_t { linear, relu, tanh, gelu, batch_norm, layer_norm, dropout };
struct Layer {
  LayerKind kind{};
  int width = 0;
  double number = 0;  ///< Epsilon or probability.
};

enum class Style : std::uint8_t { sequential, module, pair, tensors };
enum class Update : std::uint8_t {
  sgd,
  adam,
  adamw,
  rmsprop,
  adagrad,
  by_hand,
  by_set_data,
  foreach
};
enum class Source : std::uint8_t { own_generator, default_generator, formula, memory, data_set };
enum class Loss : std::uint8_t { mse, cross_entropy, smooth_l1, by_hand };

struct ModelPlan {
  std::uint64_t seed = 0;
  bool seeds_itself = false;  ///< Under a lock, because other threads construct models too.
  Style style{};
  int inputs = 2, outputs = 2, batch = 2, parts = 1;
  std::vector<Layer> layers;
  bool scale_parameter = false, counter_buffer = false;
  Update update{};
  double lr = 0.125, momentum = 0, weight_decay = 0, eps = 1e-8, beta = 0.875;
  bool two_groups = false;
  Source source{};
  Loss loss{};
  bool has_ema = false;
};

struct Worker {
  std::string name;
  std::uint64_t seed = 0;
  int n = 3, squares = 4, views = 3;
  bool concurrent = false;  ///< Others run beside it: it must not draw from the default generator.
  bool keeps = true;        ///< What it holds lives as long as what its parent holds.
  int parent = 0;           ///< Who starts it.
  bool in_group = false;    ///< Exchanges tensors with those that start with it.
  bool forked = false;      ///< Or a program of its own.
  bool prepared = false;    ///< Its parent constructs its models before it starts.
  Way sections = Way::threads;  ///< Threads, launch or queue.
  std::vector<ModelPlan> models;
  std::vector<Instruction> work;
};

enum class Ending : std::uint8_t {
  returns,  ///< what main holds dies before main returns
  exits,    ///< exit(0) from a nested scope whose objects are never destroyed
  leaks,    ///< main returns, what it holds was never deleted
  statics,  ///< what main holds are static objects
  at_once,  ///< _exit(0)
};

struct Program {
  std::string kind;
  std::uint64_t seed = 0;
  Ending ending{};
  std::vector<Worker> workers;  ///< The first one is main.
};

struct Mutation {
  std::string kind = "none", place;
  bool harmless = true;  ///< Meant to change nothing that the program leaves.
  std::size_t worker = 0;
};

Program make_program(std::uint64_t seed);

/// Number 0 changes nothing.
Mutation mutate(Program& program, std::uint64_t number);

/// An op on plain tensors, or a write behind LibTorch's back, as `worker` may have it.
Instruction plain_instruction(Random& random, const Worker& worker);

/// Changes a model, outside of its training loop. For workers that have one.
Instruction model_change(Random& random, const Worker& worker);

/// Whether what a worker holds is destroyed before its process ends.
bool dies(const Program& program, std::size_t worker);

/// Number of a worker among those that start with it, and how many they are.
std::pair<int, int> rank_and_size(const Program& program, std::size_t worker);

/// How many of its first instructions its parent executes before it starts.
std::size_t prepared_instructions(const Worker& worker);

/// All of a program, one instruction a line.
std::string describe(const Program& program);
const char* name_of(Act act);
const char* name_of(Ending ending);

}  // namespace judge
