#include "capture/running_modules.hpp"

#include <algorithm>
#include <optional>

#include "capture/module_names.hpp"
#include "capture/program_symbols.hpp"

namespace ulpscope::capture {
namespace {

const void* key(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

std::uint32_t instance_at(std::span<const Instance> instances, std::uintptr_t address) {
  const auto found = std::lower_bound(
      instances.begin(), instances.end(), address,
      [](const Instance& instance, std::uintptr_t wanted) { return instance.address < wanted; });
  return found != instances.end() && found->address == address ? found->module : 0;
}

/// The one module among several words; nothing if there are none or different ones.
class OnlyOne {
 public:
  void add(std::uint32_t module) noexcept {
    if (module == 0) return;
    several_ = several_ || (one_ != 0 && one_ != module);
    one_ = module;
  }
  [[nodiscard]] std::uint32_t get() const noexcept { return several_ ? 0 : one_; }

 private:
  std::uint32_t one_ = 0;
  bool several_ = false;
};

}  // namespace

std::span<const RunningModule> RunningModules::look(std::uint32_t child) {
  stack_.take();
  running_.clear();
  for (std::size_t frame = stack_.size(); frame-- > 0;) {
    const Known& function = function_of(stack_[frame].address);
    if (function.module_class == 0) continue;
    const std::uint32_t module = module_in(frame, function, child);
    const bool helper = !running_.empty() && running_.back().module == module;
    if (helper && module != 0) continue;
    running_.push_back({module, function.method, function.begin, stack_.end_of(frame)});
  }
  return running_;
}

const RunningModules::Known& RunningModules::function_of(std::uintptr_t address) {
  Known* known = functions_.find(key(address));
  if (known == nullptr) {
    // A call may be its function's last instruction: the return address lies behind it.
    const Function function = function_at(address - 1);
    known = &functions_.add(key(address));
    known->begin = function.begin;
    known->name = function.name;
  }
  if (known->module_class == 0 && known->classes != known_classes() && !known->name.empty()) {
    known->classes = known_classes();
    const ModuleClass found = class_of_function(known->name);
    known->module_class = found.number;
    known->method = found.method;
  }
  return *known;
}

std::uint32_t RunningModules::module_in(std::size_t frame, const Known& function,
                                        std::uint32_t child) {
  if (child != 0) {
    const Instance above = above_of_class(child, function.module_class);
    if (above.module != 0 && learn(frame, function, above.address)) return above.module;
  }
  std::uint32_t found = 0;
  visit_instances(function.module_class, [&](std::span<const Instance> instances) {
    if (instances.size() == 1) {
      found = instances.front().module;
      return;
    }
    const auto words = stack_.words(frame);
    if (const Place* place = places_.find(key(function.begin))) {
      if (place->preserved != Place::kNowhere)
        found =
            instance_at(instances, stack_[frame].saved[static_cast<std::size_t>(place->preserved)]);
      else if (static_cast<std::size_t>(place->word) < words.size())
        found =
            instance_at(instances, words[words.size() - 1 - static_cast<std::size_t>(place->word)]);
      if (found != 0) return;
    }
    // A register that still holds what it held in the caller says nothing about this function.
    OnlyOne in_registers;
    for (std::size_t i = 0; i < stack_[frame].saved.size(); ++i)
      if (stack_[frame].saved[i] != stack_[frame + 1].saved[i])
        in_registers.add(instance_at(instances, stack_[frame].saved[i]));
    found = in_registers.get();
    if (found != 0) return;
    // Code that keeps a frame pointer keeps `this` in the frame too.
    const std::uintptr_t frame_pointer = stack_[frame].saved[0];
    if (frame_pointer < stack_[frame].stack || frame_pointer >= stack_.end_of(frame)) return;
    OnlyOne in_words;
    for (const std::uintptr_t word : words) in_words.add(instance_at(instances, word));
    found = in_words.get();
  });
  return found;
}

/// Whether the frame holds the address of the module that must be running in it; remembers where,
/// unless the caller's registers hold it too: then the function itself may not have kept it.
bool RunningModules::learn(std::size_t frame, const Known& function, std::uintptr_t module) {
  const auto& saved = stack_[frame].saved;
  const auto& in_caller = stack_[frame + 1].saved;
  const auto words = stack_.words(frame);
  const auto in_words = std::find(words.rbegin(), words.rend(), module);
  const auto in_register = std::find(saved.begin(), saved.end(), module);
  if (in_register == saved.end() && in_words == words.rend()) return false;
  if (std::find(in_caller.begin(), in_caller.end(), module) != in_caller.end()) return true;
  Place place;
  if (in_register != saved.end())
    place.preserved = in_register - saved.begin();
  else
    place.word = in_words - words.rbegin();
  Place* known = places_.find(key(function.begin));
  if (known == nullptr) known = &places_.add(key(function.begin));
  *known = place;
  return true;
}

}  // namespace ulpscope::capture
