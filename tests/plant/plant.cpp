// Preloaded into a program, changes what an op computes, inside the op, so that nobody who looks on
// from outside can tell it from another kernel.
//
//   LD_PRELOAD=libplant.so PLANT=aten::mul:3 ./program     the fourth call of aten::mul
//   ... PLANT=aten::mm:all                                 every call
//   ... PLANT_FAULT=ulp                                    one element of the result, one ULP up
//   ... PLANT_FAULT=element                                one element, larger by half
//   ... PLANT_FAULT=scale                                  every element, times 1.01
//   ... PLANT_FAULT=zero                                   the last eighth of the elements is 0
//   ... PLANT_FAULT=tf32 | bfloat16                        its operands, rounded before it
//   LD_PRELOAD=libplant.so PLANT_LIST=FILE ./program       which ops could be changed, how often
//
// Calls are counted where the first result is a floating-point tensor that the op itself has
// computed: views, fresh uninitialised memory, and what an op inside has left just so are left out.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

/// What an op has left in memory.
struct Left {
  const c10::StorageImpl* storage;
  std::uint64_t content;
};

/// For each op that is running on this thread, what the ops inside it have left.
thread_local std::vector<std::vector<Left>> running;

struct Plan {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> calls;
  std::string op;
  std::uint64_t call = 0;
  bool all = false;
  std::string fault = "ulp";
};

Plan& plan() {
  static Plan* const kept = new Plan;
  return *kept;
}

std::vector<const c10::StorageImpl*> storages(const c10::OperatorHandle& op,
                                              const torch::jit::Stack& stack) {
  std::vector<const c10::StorageImpl*> found;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage())
      found.push_back(tensor.storage().unsafeGetStorageImpl());
  };
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor()) add(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
  }
  return found;
}

/// The first result, where the op has written it itself.
at::Tensor written_result(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                          const std::vector<const c10::StorageImpl*>& given) {
  const auto& returns = op.schema().returns();
  if (returns.empty()) return {};
  const c10::IValue& value = torch::jit::peek(stack, 0, returns.size());
  if (!value.isTensor()) return {};
  at::Tensor tensor = value.toTensor();
  if (!tensor.defined() || !tensor.has_storage() || !tensor.device().is_cpu() ||
      tensor.numel() == 0 ||
      (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble))
    return {};
  const auto* alias = returns[0].alias_info();
  if (alias && !alias->isWrite()) return {};
  const bool shared =
      std::find(given.begin(), given.end(), tensor.storage().unsafeGetStorageImpl()) != given.end();
  if (shared && !alias) return {};
  return tensor;
}

std::uint64_t content_of(const at::Tensor& tensor) {
  const auto* const byte = static_cast<const unsigned char*>(tensor.storage().data());
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < tensor.storage().nbytes(); ++i)
    hash = (hash ^ byte[i]) * 0x100000001b3;
  return hash;
}

/// Calls visit(element) for all, in row-major order.
template <class T, class Visit>
void for_each(const at::Tensor& tensor, Visit visit) {
  T* const begin = tensor.mutable_data_ptr<T>();
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim()), 0);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      offset += index[d] * tensor.stride(static_cast<std::int64_t>(d));
    visit(begin[offset]);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.size(static_cast<std::int64_t>(d))) break;
      index[d] = 0;
    }
  }
}

template <class T>
void change(const at::Tensor& tensor) {
  const std::string& fault = plan().fault;
  if (fault == "scale") return for_each<T>(tensor, [](T& element) { element *= T(1.01); });
  if (fault == "zero") {
    std::int64_t left = tensor.numel() - tensor.numel() / 8;
    return for_each<T>(tensor, [&](T& element) {
      if (left-- <= 0) element = 0;
    });
  }
  T* largest = nullptr;
  for_each<T>(tensor, [&](T& element) {
    if (largest == nullptr || (std::isfinite(element) && std::abs(element) > std::abs(*largest)))
      largest = &element;
  });
  if (fault == "element")
    *largest *= T(1.5);
  else
    *largest = std::nextafter(*largest, std::numeric_limits<T>::infinity());
}

bool rounds_operands() { return plan().fault == "tf32" || plan().fault == "bfloat16"; }

/// To nearest even.
float rounded(float value, unsigned dropped) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  bits += (std::uint32_t{1} << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
  return std::bit_cast<float>(bits & ~((std::uint32_t{1} << dropped) - 1));
}

/// Has the op read rounded operands, without calling any op: while it lives, the memory of its
/// float32 arguments but what it only adds is rounded.
class RoundedOperands {
 public:
  RoundedOperands(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const unsigned dropped = plan().fault == "tf32" ? 13 : 16;
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& value = torch::jit::peek(stack, i, arguments.size());
      if (!value.isTensor() || arguments[i].name() == "bias" ||
          (arguments[i].name() == "self" && op.schema().name() == "aten::addmm"))
        continue;
      const at::Tensor& tensor = value.toTensor();
      if (tensor.defined() && tensor.scalar_type() == at::kFloat && tensor.device().is_cpu())
        round(tensor.storage(), dropped);
    }
  }
  RoundedOperands(const RoundedOperands&) = delete;
  RoundedOperands& operator=(const RoundedOperands&) = delete;
  ~RoundedOperands() {
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept)
      std::memcpy(kept->first.mutable_data(), kept->second.data(), kept->second.size());
  }

 private:
  void round(const c10::Storage& storage, unsigned dropped) {
    const auto* const bytes = static_cast<const std::byte*>(storage.data());
    kept_.emplace_back(storage, std::vector<std::byte>(bytes, bytes + storage.nbytes()));
    auto* const numbers = static_cast<float*>(storage.mutable_data());
    for (std::size_t i = 0; i < storage.nbytes() / sizeof(float); ++i)
      numbers[i] = rounded(numbers[i], dropped);
  }

  std::vector<std::pair<c10::Storage, std::vector<std::byte>>> kept_;
};

bool is_planted(const std::string& name) {
  if (name != plan().op) return false;
  const std::lock_guard lock(plan().mutex);
  return plan().all || plan().calls[name] == plan().call;
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto given = storages(op, *stack);
  running.emplace_back();
  struct Leave {
    ~Leave() { running.pop_back(); }
  };
  std::vector<Left> inside;
  {
    std::optional<RoundedOperands> rounding;
    if (rounds_operands() && is_planted(op.schema().name())) rounding.emplace(op, *stack);
    const Leave leave;
    op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
    inside = std::move(running.back());
  }
  const at::Tensor result = written_result(op, *stack, given);
  const std::string& name = op.schema().name();
  if (!result.defined() || name.rfind("aten::empty", 0) == 0 || name == "aten::resize_") return;
  const Left left{result.storage().unsafeGetStorageImpl(), content_of(result)};
  if (!running.empty()) running.back().push_back(left);
  const bool handed_on = std::any_of(inside.begin(), inside.end(), [&](const Left& one) {
    return one.storage == left.storage && one.content == left.content;
  });
  if (handed_on) return;
  {
    const std::lock_guard lock(plan().mutex);
    const std::uint64_t call = plan().calls[name]++;
    if (name != plan().op || rounds_operands() || !(plan().all || call == plan().call)) return;
  }
  if (result.scalar_type() == at::kFloat)
    change<float>(result);
  else
    change<double>(result);
  if (!running.empty()) running.back().back().content = content_of(result);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

struct Session {
  Session() {
    if (const char* planted = std::getenv("PLANT")) {
      const std::string text = planted;
      const std::size_t colon = text.rfind(':');
      plan().op = text.substr(0, colon);
      plan().all = text.substr(colon + 1) == "all";
      if (!plan().all) plan().call = std::stoull(text.substr(colon + 1));
    }
    if (const char* fault = std::getenv("PLANT_FAULT")) plan().fault = fault;
    c10::impl::tls_set_dispatch_key_included(kKey, true);
  }

  ~Session() {
    if (const char* path = std::getenv("PLANT_LIST")) {
      std::ofstream list(path);
      for (const auto& [op, calls] : plan().calls) list << op << ' ' << calls << '\n';
    }
  }
} session;

}  // namespace
