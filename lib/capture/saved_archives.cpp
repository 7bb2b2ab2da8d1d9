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
      add_tensor(value.toTensor());
    else
      keys_.back() += value.tagKind();
    if (value.isInt())
      add_number(path, std::to_string(value.toInt()));
    else if (value.isBool())
      add_number(path, value.toBool() ? "true" : "false");
    else if (value.isIntList())
      add_number(path, c10::str(value.toIntVector()));
  }

  void add_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    keys_.back() += c10::toString(tensor.scalar_type());
    if (tensor.layout() == c10::kStrided && !tensor.unsafeGetTensorImpl()->is_python_dispatch())
      keys_.back() += c10::str(' ', tensor.sizes());
  }

  void add_number(const Words& path, std::string_view number) {
    numbers_.push_back(path + "=");
    numbers_.back() += number;
  }

  static Words joined(const Lines& lines) {
    Words text(&process_memory());
    for (const Words& line : lines) {
      if (!text.empty()) text += '\n';
      text += line;
    }
    return text;
  }

  Lines keys_{&process_memory()};
  Lines numbers_{&process_memory()};
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

void send_saved_archive(Thread& thread, const torch::serialize::OutputArchive& archive,
                        std::string_view file) {
  const Words key = next_file();
  if (key.empty()) return;
  const Contents contents(module_of(archive));
  Words keys = contents.keys();
  const std::string digest = digest_of(keys);
  shorten(keys);
  if (are_new(digest)) thread.send_environment("saved.keys." + digest, keys);
  thread.send_environment(key, digest);
  file = file.substr(file.rfind('/') + 1);
  file = file.substr(0, file.rfind('.'));
  if (!file.empty()) thread.send_environment(key + ".name", file);
  Words numbers = contents.numbers();
  shorten(numbers);
  if (!numbers.empty()) thread.send_environment(key + ".numbers", numbers);
}

}  // namespace ulpscope::capture
