#include "capture/saved_archives.hpp"

#include <torch/csrc/jit/api/module.h>
#include <torch/serialize/output-archive.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/memory.hpp"
#include "capture/recorder.hpp"
#include "capture/thread.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::capture {

/// An archive shows nobody what was written to it.
template <auto kModule>
struct Shown {
  friend const torch::jit::Module& module_of(const torch::serialize::OutputArchive& archive) {
    return archive.*kModule;
  }
};
template struct Shown<&torch::serialize::OutputArchive::module_>;
const torch::jit::Module& module_of(const torch::serialize::OutputArchive& archive);

namespace {

constexpr std::uint32_t kMostFiles = 1024;  // of each of the main thread and all others
constexpr std::size_t kMostLines = std::size_t{1} << 16;
constexpr std::size_t kMostText = std::size_t{1} << 14;
constexpr int kDeepest = 32;
constexpr std::size_t kShortestAddress = 6;
constexpr std::string_view kHyperparameters = "param_groups";  // recorded of the optimizer itself

using Words = std::pmr::string;
using Lines = std::pmr::vector<Words>;
using Memory = std::pmr::unordered_map<const void*, Words>;

/// Optimizers of C++ name what belongs to a parameter by its address.
bool is_address(std::string_view name) {
  return name.size() >= kShortestAddress &&
         std::ranges::all_of(name, [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// In the order of the letters: an archive finds what it holds by its key.
class Contents {
 public:
  explicit Contents(const torch::jit::Module& module) {
    visit_parts({}, *module._ivalue(), 0);
    std::ranges::sort(keys_);
    std::ranges::sort(numbers_);
  }
  [[nodiscard]] Words keys() const { return joined(keys_); }
  [[nodiscard]] Words numbers() const { return joined(numbers_); }
  /// Those of tensors, by the memory that they begin in; several of one memory are none.
  [[nodiscard]] Memory take_memory() { return std::move(memory_); }

  static Words joined(const Lines& lines) {
    Words text(&process_memory());
    for (const Words& line : lines) {
      if (!text.empty()) text += '\n';
      text += line;
    }
    return text;
  }

 private:
  void visit_parts(std::string_view path, const c10::ivalue::Object& object, int depth) {
    const c10::ClassType& type = *object.type();
    const std::size_t count = std::min(type.numAttributes(), object.slots().size());
    for (std::size_t k = 0; k < count; ++k) {
      const std::string& name = type.getAttributeName(k);
      if (name == kHyperparameters || keys_.size() >= kMostLines) continue;
      Words part(path, &process_memory());
      if (!part.empty()) part += '.';
      part += is_address(name) ? std::string_view("*") : std::string_view(name);
      visit(part, object.slots()[k], depth + 1);
    }
  }

  void visit(const Words& path, const c10::IValue& value, int depth) {
    if (value.isObject()) {
      if (depth < kDeepest) visit_parts(path, value.toObjectRef(), depth);
      return;
    }
    keys_.push_back(path + ": ");
    if (value.isTensor())
      add_tensor(path, value.toTensor());
    else
      keys_.back() += value.tagKind();
    if (value.isInt())
      add_number(path, std::to_string(value.toInt()));
    else if (value.isBool())
      add_number(path, value.toBool() ? "true" : "false");
    else if (value.isIntList())
      add_number(path, c10::str(value.toIntVector()));
  }

  void add_tensor(const Words& path, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    keys_.back() += c10::toString(tensor.scalar_type());
    if (tensor.layout() == c10::kStrided && !tensor.unsafeGetTensorImpl()->is_python_dispatch())
      keys_.back() += c10::str(' ', tensor.sizes());
    if (tensor.requires_grad()) keys_.back() += " requires_grad";
    if (!tensor.has_storage() || path.find('*') != Words::npos) return;
    const auto [known, is_new] =
        memory_.try_emplace(tensor.storage().unsafeGetStorageImpl()->data(), path);
    if (!is_new) known->second.clear();
  }

  void add_number(const Words& path, std::string_view number) {
    numbers_.push_back(path + "=");
    numbers_.back() += number;
  }

  Lines keys_{&process_memory()};
  Lines numbers_{&process_memory()};
  Memory memory_{&process_memory()};
};

std::string digest_of(std::string_view text) {
  return to_string(digest(std::as_bytes(std::span(text))));
}

/// Of long text the first lines, and one that stands for all.
void shorten(Words& text) {
  if (text.size() <= kMostText) return;
  const std::string rest = "\ndigest of all=" + digest_of(text);
  text.resize(kMostText - rest.size());
  text.resize(std::min(text.rfind('\n'), text.size()));
  text += rest;
}

/// Whether this recording has not sent these keys lately.
bool are_new(std::string_view digest) {
  static std::array<std::atomic<std::size_t>, 64> sent{};
  const std::size_t hash = std::hash<std::string_view>()(digest) ^ generation();
  return sent[hash % sent.size()].exchange(hash, std::memory_order_relaxed) != hash;
}

/// Its folder, name and extension.
std::string_view end_of_path(std::string_view file) {
  const std::size_t name = file.rfind('/');
  if (name == std::string_view::npos || name == 0) return file;
  const std::size_t folder = file.rfind('/', name - 1);
  return folder == std::string_view::npos ? file : file.substr(folder + 1);
}

/// Its key among the settings; empty where there are too many.
Words next_file() {
  static std::atomic<std::uint32_t> of_main{0};
  static std::atomic<std::uint32_t> of_others{0};
  const bool in_main = ::getpid() == ::gettid();
  const std::uint32_t number = (in_main ? of_main : of_others).fetch_add(1);
  Words key(&process_memory());
  if (number >= kMostFiles) return key;
  key = in_main ? "saved.archive." : "saved.archive.t";
  key += std::to_string(number);
  return key;
}

}  // namespace

SavedArchive::SavedArchive(Thread& thread, const torch::serialize::OutputArchive& archive,
                           std::string_view file)
    : thread_(thread), setting_(next_file()), written_(&process_memory()) {
  if (setting_.empty()) return;
  Contents contents(module_of(archive));
  Words keys = contents.keys();
  const std::string digest = digest_of(keys);
  shorten(keys);
  if (are_new(digest)) thread.send_environment("saved.keys." + digest, keys);
  thread.send_environment(setting_, digest);
  if (const std::string_view path = end_of_path(file); !path.empty()) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    thread.send_environment(setting_ + ".name", name.substr(0, name.rfind('.')));
    thread.send_environment(setting_ + ".path", path);
  }
  Words numbers = contents.numbers();
  shorten(numbers);
  if (!numbers.empty()) thread.send_environment(setting_ + ".numbers", numbers);
  keys_ = contents.take_memory();
  thread_.saved = &written_;
}

SavedArchive::~SavedArchive() { thread_.saved = nullptr; }

void SavedArchive::end() {
  thread_.saved = nullptr;
  if (setting_.empty() || idle()) return;
  const Thread::Inside inside(thread_);
  guarded("an archive that was saved", [&] {
    thread_.send_environment(setting_ + ".tensors", std::to_string(written_.size()));
    Lines keys(&process_memory());
    for (const void* data : written_)
      if (const auto key = keys_.find(data); key != keys_.end() && !key->second.empty())
        keys.push_back(key->second);
    const Words order = Contents::joined(keys);
    if (keys.size() == written_.size() && order.size() <= kMostText && !order.empty())
      thread_.send_environment(setting_ + ".order", order);
  });
}

}  // namespace ulpscope::capture
