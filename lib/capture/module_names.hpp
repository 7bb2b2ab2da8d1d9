#pragma once

#include <cstdint>
#include <string_view>

namespace torch::nn {
class Module;
}

/// Which module is which: dotted paths of named_modules() below their root, found by walking a root
/// whenever the program hands one to LibTorch (`parameters()`, `train()`, `to()`, ...).
namespace ulpscope::capture {

/// Names are process-wide name ids (recorder.hpp).
struct ModuleName {
  std::uint32_t path = 0;  ///< "layer1.conv1", "" for the root
  std::uint32_t root = 0;  ///< class name of the root, numbered when it occurs again
  std::uint32_t type = 0;  ///< "Conv2d"
};

/// Walks `module` and everything below it, unless it is known to lie inside another root, and ties
/// its parameters and buffers to their storages. Call it with the thread marked as inside a hook.
/// @param name of the root; empty for its class name.
void learn_module(const torch::nn::Module& module, std::string_view name = {});

/// The number of the module at `address`, or 0 if no walk has met it. Recognises an address that
/// another class of module has taken over.
[[nodiscard]] std::uint32_t module_at(const void* address);

/// The number of the module of the latest root that has one at `path`, or 0.
[[nodiscard]] std::uint32_t module_named(std::string_view path);

/// @pre `module` came from module_at() or a storage.
[[nodiscard]] ModuleName module_name(std::uint32_t module);

/// Whether `inner` lies strictly below `outer` in the same root.
[[nodiscard]] bool is_below(std::uint32_t inner, std::uint32_t outer);

void lock_module_names();  ///< for fork()
void unlock_module_names();

}  // namespace ulpscope::capture
