// Preloaded into a program, changes one result of one op by one ULP, inside the op, so that nobody
// who looks on from outside can tell it from a kernel that rounds otherwise.
//
//   LD_PRELOAD=libplant.so PLANT=aten::mul:3 ./program     the fourth call of aten::mul
//   LD_PRELOAD=libplant.so PLANT_LIST=FILE ./program       which ops could be changed, how often
//
// Calls are counted where the first result is a floating-point tensor that the op itself has
// computed: views, fresh uninitialised memory, and what an op inside has left just so are left out.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
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

/// Moves the element of largest magnitude one ULP up.
template <class T>
void change(const at::Tensor& tensor) {
  T* const begin = tensor.mutable_data_ptr<T>();
  std::int64_t largest = 0;
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor.dim()), 0);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d)
      offset += index[d] * tensor.stride(static_cast<std::int64_t>(d));
    if (std::isfinite(begin[offset]) && std::abs(begin[offset]) > std::abs(begin[largest]))
      largest = offset;
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor.size(static_cast<std::int64_t>(d))) break;
      index[d] = 0;
    }
  }
  begin[largest] = std::nextafter(begin[largest], std::numeric_limits<T>::infinity());
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const auto given = storages(op, *stack);
  running.emplace_back();
  struct Leave {
    ~Leave() { running.pop_back(); }
  };
  std::vector<Left> inside;
  {
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
    if (name != plan().op || call != plan().call) return;
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
      plan().call = std::stoull(text.substr(colon + 1));
    }
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
