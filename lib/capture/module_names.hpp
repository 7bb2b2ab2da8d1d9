#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace c10::ivalue {
struct Object;
}
namespace torch::nn {
class Module;
}

/// Which module is which: dotted paths of named_modules() below their root, found by walking a root
/// whenever the program passes one to LibTorch (`parameters()`, `train()`, `to()`, ...).
namespace ulpscope::capture {

/// Names are process-wide name ids (recorder.hpp).
struct ModuleName {
  std::uint32_t path = 0;  ///< "layer1.conv1", "" for the root
  std::uint32_t root = 0;  ///< as watched, else its class name, numbered when it occurs again
  std::uint32_t type = 0;  ///< "Conv2d"
};

/// Walks `module` and everything below it, unless it is known to be inside another root, and maps
/// its parameters and buffers to their storages. A module that is registered twice keeps its first
/// name. Call it with the thread marked as inside a hook.
/// @param name of the root; empty for its class name.
void learn_module(const torch::nn::Module& module, std::string_view name = {});

/// The same for a TorchScript module that is called, and its number. One that is known to be inside
/// another is not walked.
std::uint32_t learn_script_module(const c10::ivalue::Object& module);

/// A tree of modules that are not objects of LibTorch's, as Python's nn.Module.
struct DescribedRoot {
  struct Module {
    std::string path;       ///< "layer1.conv1", "" for the root, which is the first one
    std::string type;       ///< "Conv2d"
    std::size_t above = 0;  ///< which one it is registered in
  };
  struct Tensor {
    const at::TensorImpl* tensor = nullptr;  ///< alive during the call
    std::string name;                        ///< "layer1.conv1.weight"
    std::uint32_t flag = 0;                  ///< slot_flag::parameter or buffer
    std::size_t module = 0;                  ///< which one owns it
  };
  std::uint32_t known_as = 0;  ///< its number if it has been walked before
  std::string name;            ///< of the root in events; empty: its class name
  std::vector<Module> modules;
  std::vector<Tensor> tensors;
};

/// Maps the tensors of a described tree to their storages. @return the modules' numbers, in order.
std::vector<std::uint32_t> learn_described(const DescribedRoot& root);

/// A root is now inside another one.
void forget_root(std::uint32_t module);

/// The program makes two tensors swap what they hold, which PyTorch refuses while anything refers
/// to that weakly (torch.utils.swap_tensors): until end_swap() nothing does.
void begin_swap(const at::TensorImpl* first, const at::TensorImpl* second);
/// What was known of `first` is known of `first_now` from now on: of nothing, if that is null.
/// @param first_now what the one that held `first` holds now, also if nothing was swapped.
void end_swap(const at::TensorImpl* first, const at::TensorImpl* second,
              const at::TensorImpl* first_now, const at::TensorImpl* second_now);

/// Gives memory the names that the tensors of all roots have now: two that have taken each other's
/// memory over (`a.data, b.data = b.data, a.data`) have left one name for both.
void renew_names();

/// The number of the module at `address`, or 0 if no walk has found it. Recognizes an address that
/// a module of a different class has taken over.
[[nodiscard]] std::uint32_t module_at(const void* address);

/// The number of the module of the latest root that has one at `path`, or 0.
[[nodiscard]] std::uint32_t module_named(std::string_view path);

/// @pre `module` came from module_at() or a storage.
[[nodiscard]] ModuleName module_name(std::uint32_t module);

/// Whether `inner` is strictly below `outer` in the same root.
[[nodiscard]] bool is_below(std::uint32_t inner, std::uint32_t outer);

/// The number of the root that a module belongs to.
[[nodiscard]] std::uint32_t root_of(std::uint32_t module);

/// A class of known modules, or one that they derive from.
struct ModuleClass {
  std::uint32_t number = 0;  ///< from 1; 0: the function is not a member of such a class
  std::string_view method;   ///< "forward"
};
/// The class that a function, by its mangled name, is a member of.
[[nodiscard]] ModuleClass class_of_function(std::string_view function);
/// Grows when a class becomes known: answers of class_of_function() may change then.
[[nodiscard]] std::uint32_t known_classes() noexcept;

/// A module as an object of the program.
struct Instance {
  std::uintptr_t address = 0;
  std::uint32_t module = 0;
};
/// Calls visit with the modules of a class, by address.
void visit_instances(std::uint32_t module_class,
                     c10::function_ref<void(std::span<const Instance>)> visit);
/// The one among `instances`, by address, that is at `address`; 0 if there is none.
[[nodiscard]] std::uint32_t instance_at(std::span<const Instance> instances,
                                        std::uintptr_t address);
/// The nearest module above `module` that is of the class; zeros if there is none.
[[nodiscard]] Instance above_of_class(std::uint32_t module, std::uint32_t module_class);
/// Whether a different module of the class is an ancestor of `module` and calls what leads to it:
/// compilers may inline the forward of one into a member of the other. Children of a Sequential are
/// called through a virtual function, which is not inlined.
[[nodiscard]] bool is_called_by_its_class(std::uint32_t module, std::uint32_t module_class);

/// A parameter or buffer of a root that is still alive.
struct NamedTensor {
  at::Tensor tensor;
  std::uint32_t name = 0;
  std::uint32_t flag = 0;  ///< slot_flag::parameter or buffer
  std::uint32_t module = 0;
};
/// What the last walk of a root found, in the order of named_parameters() and named_buffers() of
/// each module. Release it before the hook ends: the program's tensors are counted references.
[[nodiscard]] std::pmr::vector<NamedTensor> state_of(std::uint32_t root);
/// Numbers of the roots that have been walked.
[[nodiscard]] std::pmr::vector<std::uint32_t> known_roots();

void lock_module_names();  ///< for fork()
void unlock_module_names();

}  // namespace ulpscope::capture
