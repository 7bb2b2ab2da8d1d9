#include "capture/running_modules.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "capture/module_names.hpp"
#include "capture/program_symbols.hpp"

namespace ulpscope::capture {
namespace {

const void* key(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

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

bool prepares(std::string_view method) {
  static constexpr auto kPreparations =
      std::to_array<std::string_view>({"to", "load", "save", "clone", "reset", "reset_parameters",
                                       "flatten_parameters", "train", "zero_grad"});
  return std::find(kPreparations.begin(), kPreparations.end(), method) != kPreparations.end();
}

std::span<const RunningModule> RunningModules::look(std::uint32_t child) {
  stack_.take();
  running_.clear();
  for (std::size_t frame = stack_.size(); frame-- > 0;) {
    Code& code = code_at(stack_[frame].address);
    find_class(code.function);
    if (code.function.module_class != 0)
      add(frame, code.function, module_of(frame, code.function, child));
    for (Known& inlined : code.inlined) {
      find_class(inlined);
      const std::uint32_t module = inlined.module_class == 0 ? 0 : module_at_self(frame, inlined);
      if (module != 0) add(frame, inlined, module);
    }
  }
  return running_;
}

void RunningModules::add(std::size_t frame, const Known& function, std::uint32_t module) {
  const bool helper = !running_.empty() && running_.back().module == module;
  if (helper && module != 0) {
    if (!prepares(running_.back().method) || prepares(function.method)) return;
    running_.pop_back();
  }
  running_.push_back({module, function.method, function.begin, stack_.end_of(frame)});
}

RunningModules::Code& RunningModules::code_at(std::uintptr_t address) {
  if (Code* known = code_.find(key(address))) return *known;
  // A call may be its function's last instruction: the return address is after it.
  const Function function = function_at(address - 1);
  const CallPlace& place = call_place(address - 1);
  Code& code = code_.add(key(address), memory_);
  code.function.begin = function.begin;
  code.function.name = function.name;
  code.function.is_described = place.is_member;
  code.function.self = place.self;
  for (const InlinedFunction& each : place.inlined) {
    Known& known = code.inlined.emplace_back();
    known.begin = each.id;
    known.name = each.name;
    known.is_described = true;
    known.self = each.self;
  }
  return code;
}

void RunningModules::find_class(Known& function) {
  if (function.module_class != 0 || function.name.empty() || function.classes == known_classes())
    return;
  function.classes = known_classes();
  const ModuleClass found = class_of_function(function.name);
  function.module_class = found.number;
  function.method = found.method;
}

/// Where debug information says that `this` is, else the only one of its class.
std::uint32_t RunningModules::module_at_self(std::size_t frame, const Known& function) const {
  const bool is_kept = function.self.base != ring::SelfPlace::kNowhere;
  const std::uintptr_t self = is_kept ? stack_.at(frame, function.self) : 0;
  std::uint32_t found = 0;
  visit_instances(function.module_class, [&](std::span<const Instance> instances) {
    if (self != 0)
      found = instance_at(instances, self);
    else if (instances.size() == 1)
      found = instances.front().module;
  });
  return found;
}

std::uint32_t RunningModules::module_of(std::size_t frame, const Known& function,
                                        std::uint32_t child) {
  if (function.is_described) return module_at_self(frame, function);
  const std::uint32_t found = module_in(frame, function, child);
  return found != 0 && is_called_by_its_class(found, function.module_class) ? 0 : found;
}

/// By what the frame holds.
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
    // A register with the same content as in the caller says nothing about this function.
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
