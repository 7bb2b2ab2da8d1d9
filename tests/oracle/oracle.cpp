// An independent observer of LibTorch programs, preloaded into one: LD_PRELOAD=liboracle.so
// ORACLE_LOG=FILE writes a line for every op, at every depth, with digests of what it read and
// wrote. It shares no code with Ulpscope; oracle_diff.py reads two logs and says where the runs
// diverge.
//
// Fields, separated by tabs: thread, depth, kind (op, view, node, scope), name, grad mode,
// generator state, inputs, scalar arguments, outputs. A tensor is NAME=DTYPE[SIZES]#DIGEST; a
// digest of "-" is memory whose contents mean nothing.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Line {
  std::size_t depth;
  std::string head, inputs, arguments, outputs;
};

/// The lines of one thread since its outermost op began, in the order in which the ops began.
struct Pending {
  std::vector<Line> lines;
  std::size_t depth = 0;
};
thread_local Pending pending;

struct Context : at::ObserverContext {
  std::size_t line = 0;
  std::vector<std::pair<std::string, at::Tensor>> written;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 29);
}

/// Four words at a time, of which none waits for another, and the rest word by word.
std::uint64_t hashed(std::uint64_t hash, const void* data, std::size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  std::array<std::uint64_t, 4> lanes = {hash, 0, 0, 0};
  for (; bytes >= sizeof lanes; begin += sizeof lanes, bytes -= sizeof lanes) {
    std::array<std::uint64_t, 4> words;
    std::memcpy(words.data(), begin, sizeof words);
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  hash = lanes[0];
  for (std::size_t i = 1; i < lanes.size(); ++i) hash = mixed(hash, lanes[i]);
  while (bytes > 0) {
    std::uint64_t word = 0;
    const std::size_t count = std::min<std::size_t>(bytes, 8);
    std::memcpy(&word, begin, count);
    hash = mixed(hash, word);
    begin += count;
    bytes -= count;
  }
  return hash;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Of the logical elements, last dimension fastest, whatever the strides.
std::uint64_t digest(const at::Tensor& t) {
  std::uint64_t hash = t.is_conj() ? 3 : t.is_neg() ? 2 : 1;
  const char* data = static_cast<const char*>(t.const_data_ptr());
  const std::size_t item = t.element_size();
  if (t.is_contiguous()) return hashed(hash, data, item * static_cast<std::size_t>(t.numel()));
  const at::IntArrayRef sizes = t.sizes();
  const at::IntArrayRef strides = t.strides();
  std::vector<std::int64_t> index(sizes.size(), 0);
  std::vector<char> elements(item * static_cast<std::size_t>(t.numel()));
  for (std::size_t to = 0; to < elements.size(); to += item) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    const char* element = data + offset * static_cast<std::int64_t>(item);
    std::copy(element, element + item, elements.data() + to);
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
  }
  return hashed(hash, elements.data(), elements.size());
}

std::string described(const std::string& name, const at::Tensor& t, bool meaningless) {
  if (!t.defined()) return name + "=none ";
  std::string text = name + "=" + c10::toString(t.scalar_type()) + "[";
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) text = name + "=number[";
  for (const std::int64_t size : t.sizes()) text += std::to_string(size) + ",";
  const bool readable = t.layout() == at::kStrided && t.is_cpu() && t.has_storage();
  return text + "]#" + (meaningless || !readable ? "-" : hex(digest(t))) + " ";
}

/// Calls `on_tensor(name, tensor)` for the tensors in a value and `on_other(text)` for the rest.
template <class OnTensor, class OnOther>
void visit(const std::string& name, const c10::IValue& value, OnTensor on_tensor,
           OnOther on_other) {
  char number[32];
  if (value.isTensor()) {
    on_tensor(name, value.toTensor());
  } else if (value.isList()) {
    on_other(name + "=list ");
    std::size_t i = 0;
    for (const c10::IValue& item : value.toListRef()) {
      visit(name + "." + std::to_string(i++), item, on_tensor, on_other);
    }
  } else if (value.isDouble()) {
    std::snprintf(number, sizeof number, "%.17g", value.toDouble());
    on_other(name + "=" + number + " ");
  } else if (value.isInt()) {
    on_other(name + "=" + std::to_string(value.toInt()) + " ");
  } else if (value.isBool()) {
    on_other(name + (value.toBool() ? "=true " : "=false "));
  } else if (value.isNone()) {
    on_other(name + "=none ");
  } else if (value.isString()) {
    on_other(name + "=" + value.toStringRef() + " ");
  } else {
    on_other(name + "=" + value.tagKind() + " ");
  }
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

/// Whether argument 0 is written without being read.
bool overwrites_self(const std::string& name) {
  return starts_with_any(
      name, {"aten::copy_", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_",
             "aten::bernoulli_", "aten::random_", "aten::exponential_", "aten::log_normal_",
             "aten::cauchy_", "aten::geometric_", "aten::resize_", "aten::_resize_"});
}

bool returns_noise(const std::string& name) {
  return starts_with_any(
      name, {"aten::empty", "aten::new_empty", "aten::_empty", "aten::resize_", "aten::_resize_"});
}

/// Batch normalization writes its running statistics without declaring it.
bool writes_undeclared(const std::string& name, const std::string& argument) {
  return name.find("batch_norm") != std::string::npos && argument.rfind("running_", 0) == 0;
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return true;
  }
  return false;
}

std::string generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  auto* cpu = at::check_generator<at::CPUGeneratorImpl>(generator);
  const auto state = cpu->engine().data();
  std::uint64_t hash = hashed(1, state.state_.data(), sizeof state.state_);
  hash = mixed(hash, static_cast<std::uint64_t>(state.left_));
  hash = mixed(hash, state.next_);
  if (const auto normal = cpu->next_float_normal_sample()) hash = hashed(hash, &*normal, 4);
  if (const auto normal = cpu->next_double_normal_sample()) hash = hashed(hash, &*normal, 8);
  return hex(hash);
}

/// A boxed call passes the whole interpreter stack, of which its values are the last.
template <class Stack>
c10::ArrayRef<const c10::IValue> last(std::size_t count, const Stack& stack) {
  return c10::ArrayRef<const c10::IValue>(stack.data() + stack.size() - count, count);
}

void start_op(const at::RecordFunction& fn, const c10::OperatorHandle& op, Context& context) {
  Line& line = pending.lines.back();
  const c10::FunctionSchema& schema = op.schema();
  const std::string name = schema.name();
  const auto values = last(fn.num_inputs(), fn.inputs());
  for (std::size_t i = 0; i < schema.arguments().size() && i < values.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool declared = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    const bool written = declared || writes_undeclared(name, argument.name());
    const bool meaningless =
        (declared && argument.kwarg_only()) || (i == 0 && overwrites_self(name));
    visit(
        argument.name(), values[i],
        [&](const std::string& tensor, const at::Tensor& t) {
          line.inputs += described(tensor, t, meaningless);
          if (written && t.defined()) context.written.emplace_back(tensor + "'", t);
        },
        [&](const std::string& text) { line.arguments += text; });
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  auto context = std::make_unique<Context>();
  context->line = pending.lines.size();
  std::string kind = fn.scope() == at::RecordScope::BACKWARD_FUNCTION ? "node" : "scope";
  std::string name = fn.name();
  std::string generator = "-";
  const auto operator_name = fn.operator_name();
  const auto op = operator_name ? c10::Dispatcher::singleton().findSchema(*operator_name)
                                : std::optional<c10::OperatorHandle>();
  if (op) {
    kind = is_view(op->schema()) ? "view" : "op";
    if (!operator_name->overload_name.empty()) name += "." + operator_name->overload_name;
    if (op->hasTag(at::Tag::nondeterministic_seeded)) generator = generator_state();
  }
  const char* grad = c10::GradMode::is_enabled() ? "grad" : "no_grad";
  pending.lines.push_back(
      {pending.depth, kind + "\t" + name + "\t" + grad + "\t" + generator, "", "", ""});
  ++pending.depth;
  if (op) start_op(fn, *op, *context);
  return context;
}

void flush() {
  static std::mutex mutex;
  static std::FILE* log = std::fopen(std::getenv("ORACLE_LOG"), "w");
  const std::lock_guard lock(mutex);
  if (log == nullptr) std::abort();
  for (const Line& line : pending.lines) {
    std::fprintf(log, "%llu\t%zu\t%s\t%s\t%s\t%s\n",
                 static_cast<unsigned long long>(at::RecordFunction::currentThreadId()), line.depth,
                 line.head.c_str(), line.inputs.c_str(), line.arguments.c_str(),
                 line.outputs.c_str());
  }
  std::fflush(log);
  pending.lines.clear();
}

void on_end(const at::RecordFunction& fn, at::ObserverContext* observer) {
  auto& context = *static_cast<Context*>(observer);
  std::string& outputs = pending.lines.at(context.line).outputs;
  const bool noise = returns_noise(fn.name());
  if (fn.outputs().size() >= fn.num_outputs()) {
    const auto values = last(fn.num_outputs(), fn.outputs());
    for (std::size_t i = 0; i < values.size(); ++i) {
      visit(
          std::to_string(i), values[i],
          [&](const std::string& name, const at::Tensor& t) {
            outputs += described(name, t, noise);
          },
          [&](const std::string& text) { outputs += text; });
    }
  }
  for (const auto& [name, t] : context.written) outputs += described(name, t, noise);
  if (--pending.depth == 0) flush();
}

/// Without a log to write, the preloaded library does nothing.
const bool observing = std::getenv("ORACLE_LOG") != nullptr && [] {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&on_start, &on_end).needsInputs(true).needsOutputs(true));
  return true;
}();

}  // namespace
