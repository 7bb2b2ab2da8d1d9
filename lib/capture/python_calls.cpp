/// What the Python hooks (lib/python/hooks) call, by ctypes: plain functions of plain types. None
/// throws; while nothing is recorded none has an effect. Those that begin something return a number
/// for the one that ends it, 0 if there is nothing to end.
#include "capture/python_calls.hpp"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/drawn_generators.hpp"
#include "capture/environment.hpp"
#include "capture/kept_tensors.hpp"
#include "capture/module_calls.hpp"
#include "capture/module_names.hpp"
#include "capture/object_numbers.hpp"
#include "capture/op_info.hpp"
#include "capture/op_observer.hpp"
#include "capture/outcomes.hpp"
#include "capture/program_calls.hpp"
#include "capture/python_frames.hpp"
#include "capture/saved_tensors.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"
#include "ulpscope/run.hpp"

namespace ulpscope::capture {
namespace {

using Object = Interpreter::Object;

/// The same as arguments or results of an op.
class GivenValues {
 public:
  explicit GivenValues(const PythonTensors& found) {
    const GivenTensors tensors(found);
    for (const at::Tensor* tensor : tensors.get()) values_.emplace_back(*tensor);
  }
  void add(const c10::IValue& value) { values_.push_back(value); }
  [[nodiscard]] c10::ArrayRef<const c10::IValue> get() const noexcept {
    return c10::ArrayRef<const c10::IValue>(values_.data(), values_.size());
  }

 private:
  std::vector<c10::IValue> values_;
};

}  // namespace
}  // namespace ulpscope::capture

extern "C" const ulpscope::capture::ProgramCalls* ulpscope_program_calls();

using namespace ulpscope::capture;
using ulpscope::EventKind;

/// @param known_as the root's number if it has been walked before, else 0.
/// @param name of the root in events; empty for its class name.
ULPSCOPE_FOR_PYTHON DescribedRoot* ulpscope_python_root(std::uint32_t known_as, const char* name) {
  return new DescribedRoot{.known_as = known_as, .name = name, .modules = {}, .tensors = {}};
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_add_module(DescribedRoot* root, const char* path,
                                                    const char* type, std::size_t above) {
  root->modules.push_back({path, type, above});
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_add_tensor(DescribedRoot* root,
                                                    const at::TensorImpl* tensor, const char* name,
                                                    int is_buffer, std::size_t module) {
  const std::uint32_t flag =
      is_buffer != 0 ? ulpscope::slot_flag::buffer : ulpscope::slot_flag::parameter;
  root->tensors.push_back({tensor, name, flag, module});
}

/// Releases the description. @param numbers room for as many as it has modules; zeros if nothing is
/// recorded.
ULPSCOPE_FOR_PYTHON void ulpscope_python_learn(DescribedRoot* root, std::uint32_t* numbers) {
  const std::unique_ptr<DescribedRoot> described(root);
  with_thread("learning modules", [&](Thread&) {
    const std::vector<std::uint32_t> found = learn_described(*described);
    std::copy(found.begin(), found.end(), numbers);
  });
}

/// To be called before what is kept in the end is named.
ULPSCOPE_FOR_PYTHON void ulpscope_python_forget_gradients() {
  with_thread("naming gradients", [](Thread&) { forget_gradient_names(); });
}

/// @param name "layer1.conv1.weight.grad" @param of_optimizer whether an optimizer keeps it @param
/// module the number of the one that owns the parameter
ULPSCOPE_FOR_PYTHON void ulpscope_python_keep(const at::TensorImpl* tensor, const char* name,
                                              int of_optimizer, std::uint32_t module) {
  using namespace ulpscope::slot_flag;
  with_thread("naming what is kept", [&](Thread&) {
    name_kept(tensor, name, of_optimizer != 0 ? optimizer_state : gradient, module);
  });
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_forget_root(std::uint32_t module) {
  with_thread("learning modules", [&](Thread&) { forget_root(module); });
}

/// Two objects are about to swap the tensors that they hold. Has an effect also when nothing is
/// recorded any more.
ULPSCOPE_FOR_PYTHON void ulpscope_python_begin_swap(const at::TensorImpl* first,
                                                    const at::TensorImpl* second) {
  guarded("a swap of tensors", [&] { begin_swap(first, second); });
}

/// They hold these now; null: one that is not to be known.
ULPSCOPE_FOR_PYTHON void ulpscope_python_end_swap(const at::TensorImpl* first,
                                                  const at::TensorImpl* second,
                                                  const at::TensorImpl* first_now,
                                                  const at::TensorImpl* second_now) {
  guarded("a swap of tensors", [&] { end_swap(first, second, first_now, second_now); });
}

/// Which objects are tensors: of these two types. @param address_of a function that returns the
/// address of a tensor's TensorImpl.
ULPSCOPE_FOR_PYTHON void ulpscope_python_tensors(Object* tensor, Object* parameter,
                                                 Object* address_of) {
  learn_python_tensors(tensor, parameter, address_of);
}

namespace {

std::size_t begin_of_optimizer(const OpInfo& info, std::uint64_t optimizer, bool trusted,
                               std::span<const std::byte> arguments) {
  std::size_t frames = 0;
  with_thread("the start of a call", [&](Thread& thread) {
    if (info.kind == EventKind::optimizer) sample_at_step(thread);
    begin_event(thread, info, optimizer, trusted);
    if (!idle())
      thread.arguments.insert(thread.arguments.end(), arguments.begin(), arguments.end());
    frames = thread.frames.size();
  });
  return frames;
}

}  // namespace

/// A number for an object that has none.
ULPSCOPE_FOR_PYTHON std::uint64_t ulpscope_python_new_object() { return new_object_number(); }

/// @param name "SGD::step" @param optimizer the number of the object: which one it is.
/// @param option_names of its hyperparameters, joined by ',' @param options their values, in the
///        form of core/argument_codec.hpp
ULPSCOPE_FOR_PYTHON std::size_t ulpscope_python_begin_step(const char* name,
                                                           std::uint64_t optimizer, int trusted,
                                                           const char* option_names,
                                                           const std::byte* options,
                                                           std::size_t size) {
  return begin_of_optimizer(named_info(EventKind::optimizer, name, option_names), optimizer,
                            trusted != 0, {options, size});
}

/// @param name "SGD::zero_grad"
ULPSCOPE_FOR_PYTHON std::size_t ulpscope_python_begin_zero_grad(const char* name,
                                                                std::uint64_t optimizer) {
  return begin_of_optimizer(named_info(EventKind::zero_grad, name), optimizer, /*trusted=*/true,
                            {});
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_end(std::size_t frames, int threw) {
  with_thread("the end of a call", [&](Thread& thread) { end_event(thread, frames, threw != 0); });
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_setting(const char* key, const char* value) {
  with_thread("a setting", [&](Thread& thread) { thread.send_environment(key, value); });
}

/// @param data where a storage of the CPU begins
ULPSCOPE_FOR_PYTHON void ulpscope_python_saved(const void* data) { note_saved(data); }

/// How many tensors this thread has saved that are recorded.
ULPSCOPE_FOR_PYTHON std::uint64_t ulpscope_python_saves() {
  const Thread* const thread = Thread::current();
  return thread == nullptr ? 0 : thread->saves;
}

namespace {

constexpr std::size_t kBesideTensors = 2;  // its source and its numbers

struct GeneratedKernel {
  const OpInfo& info;
  c10::IValue source;
};

}  // namespace

/// A kernel that a compiler has generated.
/// @param argument_names joined by ',' @param access a letter each: 'r' it is read, 'w' it is
///        written, and may be read, 'p' it is read, and perhaps written.
/// @param source what identifies its code.
ULPSCOPE_FOR_PYTHON const GeneratedKernel* ulpscope_python_kernel(const char* name,
                                                                  const char* argument_names,
                                                                  const char* access,
                                                                  const char* source) {
  std::vector<ArgumentInfo> arguments;
  for (const char letter : std::string_view(access))
    arguments.push_back(
        {.access = letter == 'r' ? Access::read : Access::written, .undeclared = letter == 'p'});
  arguments.resize(arguments.size() + kBesideTensors);
  const std::string names = std::string(argument_names) + ",source,numbers";
  return new GeneratedKernel{kernel_info(name, names, arguments, 0), std::string(source)};
}

/// It is called with these tensors and with these numbers, by name. Nothing begins if they are not
/// as many as it has.
ULPSCOPE_FOR_PYTHON std::size_t ulpscope_python_begin_kernel(const GeneratedKernel* kernel,
                                                             Object* tensors, const char* numbers) {
  std::size_t frames = 0;
  with_thread("the start of a kernel", [&](Thread& thread) {
    PythonTensors found(tensors);
    if (found.raise_again()) return;
    if (found.get().size() + kBesideTensors != kernel->info.arguments.size()) return;
    GivenValues inputs(found);
    inputs.add(kernel->source);
    inputs.add(std::string(numbers));
    if (begin_direct_call(thread, kernel->info, inputs.get())) frames = thread.frames.size();
  });
  return frames;
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_end_kernel(std::size_t frames, int threw) {
  with_thread("the end of a kernel",
              [&](Thread& thread) { end_direct_call(thread, frames, threw != 0, {}); });
}

namespace {

c10::IValue tensor_list(const c10::TensorImpl* const* tensors, std::size_t count) {
  c10::List<at::Tensor> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(given_tensor(tensors[i]));
  return list;
}

}  // namespace

/// A whole graph that a compiler has made one function of is called with these tensors: its only
/// argument. What it calls is the compiler's.
/// @return for the end, which must come
ULPSCOPE_FOR_PYTHON std::size_t ulpscope_python_begin_graph(const GeneratedKernel* graph,
                                                            const c10::TensorImpl* const* tensors,
                                                            std::size_t count) {
  std::size_t frames = 0;
  with_thread("the start of a graph", [&](Thread& thread) {
    const std::array<const c10::IValue, 3> inputs{tensor_list(tensors, count), graph->source,
                                                  std::string()};
    if (begin_direct_call(thread, graph->info,
                          c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size())))
      frames = thread.frames.size();
    ++thread.compilers;
  });
  return frames;
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_end_graph(std::size_t frames, int threw,
                                                   const c10::TensorImpl* const* results,
                                                   std::size_t count) {
  with_thread("the end of a graph", [&](Thread& thread) {
    if (thread.compilers > 0) --thread.compilers;
    if (frames == 0) return;
    const c10::IValue list = tensor_list(results, count);
    end_direct_call(thread, frames, threw != 0, c10::ArrayRef<const c10::IValue>(&list, 1));
  });
}

/// Compiled code has allocated memory.
ULPSCOPE_FOR_PYTHON void ulpscope_python_allocated(Object* tensor) {
  with_thread("an allocation", [&](Thread& thread) {
    static const OpInfo& allocation =
        kernel_info("inductor::empty_strided", "", {}, ulpscope::event_flag::factory);
    PythonTensors found(tensor);
    const GivenValues results(found);
    if (begin_direct_call(thread, allocation, {}))
      end_direct_call(thread, thread.frames.size(), /*threw=*/false, results.get());
    found.raise_again();
  });
}

/// Code in this file is generated: frames in it are not the program's.
ULPSCOPE_FOR_PYTHON void ulpscope_python_generated(const char* file) {
  guarded("generated code", [&] { leave_out_frames_in(file); });
}

/// A compiler begins or ends its work on this thread.
ULPSCOPE_FOR_PYTHON void ulpscope_python_compiler(int begins) {
  with_thread("a compiler", [&](Thread& thread) {
    if (begins != 0)
      ++thread.compilers;
    else if (thread.compilers > 0)
      --thread.compilers;
  });
}

/// Whether code that Dynamo has compiled runs on this thread, perhaps where it calls the program's.
ULPSCOPE_FOR_PYTHON int ulpscope_python_in_compiled_code() {
  bool inside = false;
  with_thread("compiled code", [&](Thread& thread) {
    inside = std::any_of(thread.frames.begin(), thread.frames.end(), [](const Frame& frame) {
      return frame.info->name.starts_with("Torch-Compiled Region");  // _dynamo/convert_frame.py
    });
  });
  return inside ? 1 : 0;
}

/// Ends a step.
ULPSCOPE_FOR_PYTHON void ulpscope_python_step() { ulpscope_program_calls()->step(); }

/// Null if there is nothing to end.
ULPSCOPE_FOR_PYTHON void* ulpscope_python_begin_scope(const char* name) {
  return ulpscope_program_calls()->begin_scope(name);
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_end_scope(void* scope) {
  ulpscope_program_calls()->end_scope(scope);
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_note_rng(const char* name, const std::byte* state,
                                                  std::size_t size) {
  ulpscope_program_calls()->note_rng(name, {state, size});
}

ULPSCOPE_FOR_PYTHON void ulpscope_python_note_batch(const std::int64_t* ids, std::size_t count) {
  ulpscope_program_calls()->note_batch({ids, count});
}

/// A sentence for the dump.
ULPSCOPE_FOR_PYTHON void ulpscope_python_notice(const char* sentence) {
  with_thread("a notice", [&](Thread& thread) { thread.send_notice(sentence, /*fatal=*/false); });
}

/// A process of a pool has done a task. To be called without the interpreter's lock.
ULPSCOPE_FOR_PYTHON void ulpscope_python_end_task() { send_outcomes_of_task(); }

/// How often a process of multiprocessing draws depends on time.
ULPSCOPE_FOR_PYTHON void ulpscope_python_leave_out_generators() {
  with_thread("generators of a process", [](Thread&) { leave_out_generators(); });
}

/// The interpreter ends: what comes later takes apart what the run leaves. To be called without the
/// interpreter's lock.
ULPSCOPE_FOR_PYTHON void ulpscope_python_finish() {
  end_python_frames();
  send_outcomes_of_run();
}
