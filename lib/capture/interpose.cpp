#include "capture/interpose.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Type.h>
#include <caffe2/serialize/inline_container.h>
#include <dlfcn.h>
#include <torch/nn/modules.h>
#include <torch/optim.h>
#include <torch/serialize/input-archive.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <tuple>
#include <type_traits>

#include "capture/backend_calls.hpp"
#include "capture/backend_functions.hpp"
#include "capture/collectives.hpp"
#include "capture/demangled_names.hpp"
#include "capture/environment.hpp"
#include "capture/environment_flags.hpp"
#include "capture/graphs.hpp"
#include "capture/memory.hpp"
#include "capture/module_calls.hpp"
#include "capture/module_names.hpp"
#include "capture/object_numbers.hpp"
#include "capture/op_observer.hpp"
#include "capture/optimizer_options.hpp"
#include "capture/outcomes.hpp"
#include "capture/saved_archives.hpp"
#include "capture/saved_options.hpp"
#include "capture/saved_state.hpp"
#include "capture/saved_tensors.hpp"
#include "capture/step_window.hpp"
#include "capture/system_calls.hpp"
#include "capture/thread_starts.hpp"

namespace ulpscope::capture {
namespace {

enum Index : std::size_t {
#define ULPSCOPE_SYMBOL(group, class_name, mangled) k##mangled,
#include "preload/symbols.def"
#undef ULPSCOPE_SYMBOL
  kCount
};

/// What each wrapper calls: the definition that the program would have called without Ulpscope.
std::array<void*, kCount> next_functions{};

constexpr std::array<std::string_view, kCount> kClassNames = {
#define ULPSCOPE_SYMBOL(group, class_name, mangled) #class_name,
#include "preload/symbols.def"
#undef ULPSCOPE_SYMBOL
};

constexpr std::array<std::string_view, kCount> kMangledNames = {
#define ULPSCOPE_SYMBOL(group, class_name, mangled) #mangled,
#include "preload/symbols.def"
#undef ULPSCOPE_SYMBOL
};

template <std::size_t kIndex, class Function>
Function* next() noexcept {
  return reinterpret_cast<Function*>(next_functions[kIndex]);
}

/// The tensors among the arguments or results of a forward, in order; tuples are opened.
class TensorList {
 public:
  template <class... Values>
  explicit TensorList(const Values&... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::span<const at::Tensor* const> get() const noexcept {
    return {tensors_.data(), count_};
  }

 private:
  void add(const at::Tensor& tensor) { tensors_[count_++] = &tensor; }
  template <class... Values>
  void add(const std::tuple<Values...>& values) {
    std::apply([this](const Values&... value) { (add(value), ...); }, values);
  }
  template <class Value>
  void add(const std::optional<Value>& value) {
    if (value) add(*value);
  }
  void add(const torch::nn::ASMoutput& value) { add(value.output); }
  template <class Value>
  void add(const Value& /*no tensor*/) {}

  std::array<const at::Tensor*, 16> tensors_{};
  std::size_t count_ = 0;
};

/// One event around a call; ends with the scope, also by an exception.
class CallEvent {
 public:
  /// A module's forward.
  CallEvent(std::size_t index, const void* module, bool trusted, const TensorList& given) noexcept
      : CallEvent() {
    begin([&](Thread& thread) {
      begin_module_call(thread, call_info(EventKind::module, index, "forward"), module_at(module),
                        object_number(module), trusted, given.get());
    });
  }
  /// A method of an optimizer or a module that is not a forward.
  CallEvent(EventKind kind, std::size_t index, std::string_view method, const void* object,
            bool trusted) noexcept
      : CallEvent() {
    begin([&](Thread& thread) {
      if (kind == EventKind::optimizer) sample_at_step(thread);
      begin_event(thread, call_info(kind, index, method), object_number(object), trusted);
      if (kind == EventKind::optimizer && !idle())
        write_options(thread, kClassNames[index],
                      *static_cast<const torch::optim::Optimizer*>(object));
    });
  }
  CallEvent(const CallEvent&) = delete;
  CallEvent& operator=(const CallEvent&) = delete;

  void returned(const TensorList& results) noexcept {
    if (!is_recorded()) return;
    const Thread::Inside inside(*thread_);
    guarded("the result of a call", [&] {
      if (thread_->frames.size() < frames_) return;
      close_frames_above(*thread_, frames_);
      module_call_returns(*thread_, results.get());
    });
  }

  ~CallEvent() {
    if (!is_recorded()) return;
    const bool threw = std::uncaught_exceptions() > exceptions_;
    const Thread::Inside inside(*thread_);
    guarded("the end of a call", [&] { end_event(*thread_, frames_, threw); });
  }

 private:
  CallEvent() noexcept : thread_(Thread::current()), exceptions_(std::uncaught_exceptions()) {}

  template <class Begin>
  void begin(Begin&& begin) noexcept {
    if (thread_ == nullptr) return;
    const Thread::Inside inside(*thread_);
    guarded("the start of a call", [&] {
      begin(*thread_);
      frames_ = thread_->frames.size();
    });
  }

  [[nodiscard]] bool is_recorded() const noexcept {
    return thread_ != nullptr && frames_ != 0 && Thread::current() == thread_;
  }

  static const OpInfo& call_info(EventKind kind, std::size_t index, std::string_view method) {
    static auto& known = immortal<std::array<std::atomic<const OpInfo*>, kCount>>();
    const OpInfo* info = known[index].load(std::memory_order_acquire);
    if (info == nullptr) {
      const bool steps = kind == EventKind::optimizer;
      info = &named_info(kind, std::string(kClassNames[index]) + "::" + std::string(method),
                         steps ? option_names(kClassNames[index]) : std::string_view());
      known[index].store(info, std::memory_order_release);
    }
    return *info;
  }

  Thread* thread_;
  int exceptions_;
  std::size_t frames_ = 0;  ///< number of frames including this call's; 0: it has none
};

void learn(const void* module) noexcept {
  if (Thread* thread = Thread::current()) {
    const Thread::Inside inside(*thread);
    guarded("looking at a module",
            [&] { learn_module(*static_cast<const torch::nn::Module*>(module)); });
  }
}

/// A module's tensors are replaced while it lives, which is not a forward. The module is examined
/// before and after.
class Changing {
 public:
  explicit Changing(const void* module) noexcept : module_(module), thread_(Thread::current()) {
    learn(module_);
    if (thread_ != nullptr) ++thread_->changing_modules;
  }
  ~Changing() {
    if (thread_ != nullptr && thread_ == Thread::current() && thread_->changing_modules > 0)
      --thread_->changing_modules;
    learn(module_);
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  const void* module_;
  Thread* thread_;
};

/// These call a function of the program, so that nothing inside can be trusted.
constexpr bool runs_user_code(std::string_view class_name) {
  return class_name == "Functional" || class_name == "TripletMarginWithDistanceLoss";
}

/// The classes of symbols.def, by the name that its modules have.
namespace declared {
using namespace torch::nn;
using ModuleImpl = torch::nn::Module;
using OptimizerImpl = torch::optim::Optimizer;
using AdagradImpl = torch::optim::Adagrad;
using AdamImpl = torch::optim::Adam;
using AdamWImpl = torch::optim::AdamW;
using LBFGSImpl = torch::optim::LBFGS;
using RMSpropImpl = torch::optim::RMSprop;
using SGDImpl = torch::optim::SGD;
using ContextImpl = at::Context;
using ParallelImpl = void;
using AllocatorImpl = void;
using NamesImpl = void;
using RecordFunctionImpl = void;
using TensorMakerImpl = void;
using ProcessImpl = void;
using CUDAGraphImpl = void;
using WorkImpl = c10d::Work;
using OutputArchiveImpl = torch::serialize::OutputArchive;
using PyTorchStreamWriterImpl = caffe2::serialize::PyTorchStreamWriter;
// Its own header needs those of Gloo; what it overrides has the signature declared here.
using ProcessGroupGlooImpl = c10d::Backend;
}  // namespace declared

/// Whether the class declares `member` with this signature. Mangled names contain parameters but
/// not the return type: a wrapper is used only if both match.
#define ULPSCOPE_DECLARES(member, signature) \
  template <class Class>                     \
  static constexpr bool kFits = requires {   \
    static_cast<signature>(&Class::member);  \
  }

template <class Signature>
struct Forward;

template <class Return, class... Arguments>
struct Forward<Return(Arguments...)> {
  ULPSCOPE_DECLARES(forward, Return (Class::*)(Arguments...));
  template <std::size_t kIndex>
  static Return call(void* self, Arguments... arguments) {
    CallEvent event(kIndex, self, !runs_user_code(kClassNames[kIndex]), TensorList(arguments...));
    Return result =
        next<kIndex, Return(void*, Arguments...)>()(self, std::forward<Arguments>(arguments)...);
    event.returned(TensorList(result));
    return result;
  }
};

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

struct forward_unary : Forward<Tensor(const Tensor&)> {};
struct forward_unary_by_value : Forward<Tensor(Tensor)> {};
struct forward_binary : Forward<Tensor(const Tensor&, const Tensor&)> {};
struct forward_ternary : Forward<Tensor(const Tensor&, const Tensor&, const Tensor&)> {};
struct forward_quaternary
    : Forward<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&)> {};
struct forward_conv_transpose
    : Forward<Tensor(const Tensor&, const std::optional<at::IntArrayRef>&)> {};
struct forward_max_unpool
    : Forward<Tensor(const Tensor&, const Tensor&, const std::optional<std::vector<int64_t>>&)> {};
struct forward_recurrent : Forward<Pair(const Tensor&, Tensor)> {};
struct forward_lstm : Forward<std::tuple<Tensor, Pair>(const Tensor&, std::optional<Pair>)> {};
struct forward_lstm_cell : Forward<Pair(const Tensor&, std::optional<Pair>)> {};
struct forward_attention : Forward<Pair(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                        bool, const Tensor&, bool)> {};
struct forward_transformer
    : Forward<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                     const Tensor&, const Tensor&, const Tensor&)> {};
struct forward_decoder : Forward<Tensor(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                        const Tensor&, const Tensor&)> {};
struct forward_decoder_layer : Forward<Tensor(Tensor, const Tensor&, const Tensor&, const Tensor&,
                                              const Tensor&, const Tensor&)> {};
struct forward_adaptive_log_softmax : Forward<torch::nn::ASMoutput(const Tensor&, const Tensor&)> {
};

struct optimizer_step {
  using Closure = std::function<Tensor()>;
  ULPSCOPE_DECLARES(step, Tensor (Class::*)(Closure));
  template <std::size_t kIndex>
  static Tensor call(void* self, Closure closure) {
    CallEvent event(EventKind::optimizer, kIndex, "step", self, !closure);
    return next<kIndex, Tensor(void*, Closure)>()(self, std::move(closure));
  }
};

struct optimizer_save {
  using Archive = torch::serialize::OutputArchive;
  ULPSCOPE_DECLARES(save, void (Class::*)(Archive&) const);
  template <std::size_t kIndex>
  static void call(const void* self, Archive& archive) {
    if (Thread* const thread = Thread::current(); thread != nullptr && !idle()) {
      const Thread::Inside inside(*thread);
      guarded("an optimizer that is saved", [&] {
        const auto& optimizer = *static_cast<const torch::optim::Optimizer*>(self);
        send_saved_options(*thread, kClassNames[kIndex], optimizer);
        name_saved_state(optimizer);
      });
    }
    next<kIndex, void(const void*, Archive&)>()(self, archive);
  }
};

template <class Target>
struct SaveArchive {
  ULPSCOPE_DECLARES(save_to, void (Class::*)(Target));
  template <std::size_t kIndex>
  static void call(void* self, Target target) {
    std::optional<SavedArchive> saved;
    if (Thread* const thread = Thread::current(); thread != nullptr && !idle()) {
      const Thread::Inside inside(*thread);
      guarded("an archive that is saved", [&] {
        std::string_view file;
        if constexpr (std::is_same_v<Target, const std::string&>) file = target;
        saved.emplace(*thread, *static_cast<const torch::serialize::OutputArchive*>(self), file);
      });
    }
    next<kIndex, void(void*, Target)>()(self, target);
    if (saved) saved->end();
  }
};
struct archive_to_file : SaveArchive<const std::string&> {};
struct archive_to_stream : SaveArchive<std::ostream&> {};
struct archive_to_function
    : SaveArchive<const std::function<std::size_t(const void*, std::size_t)>&> {};

/// What a constructor of an optimizer calls that is not inlined.
struct optimizer_add_group {
  using Group = torch::optim::OptimizerParamGroup;
  ULPSCOPE_DECLARES(add_param_group, void (Class::*)(const Group&));
  template <std::size_t kIndex>
  static void call(void* self, const Group& group) {
    if (static_cast<const torch::optim::Optimizer*>(self)->param_groups().empty())
      guarded("a new optimizer", [&] { object_begins(self); });
    next<kIndex, void(void*, const Group&)>()(self, group);
  }
};

struct ZeroGrad {
  ULPSCOPE_DECLARES(zero_grad, void (Class::*)(bool));
  template <std::size_t kIndex>
  static void call(void* self, bool set_to_none) {
    CallEvent event(EventKind::zero_grad, kIndex, "zero_grad", self, true);
    next<kIndex, void(void*, bool)>()(self, set_to_none);
  }
};
struct optimizer_zero_grad : ZeroGrad {};
struct module_zero_grad : ZeroGrad {};

/// Members by which the program shows us a root.
template <class Signature>
struct Show;

template <class Return, class... Arguments>
struct Show<Return(Arguments...)> {
  template <std::size_t kIndex>
  static Return call(void* self, Arguments... arguments) {
    learn(self);
    return next<kIndex, Return(void*, Arguments...)>()(self, std::forward<Arguments>(arguments)...);
  }
};

/// Those that give a root other tensors, and do the same to what lies below it first.
template <class Signature>
struct Change;

template <class... Arguments>
struct Change<void(Arguments...)> {
  template <std::size_t kIndex>
  static void call(void* self, Arguments... arguments) {
    const Changing changing(self);
    next<kIndex, void(void*, Arguments...)>()(self, std::forward<Arguments>(arguments)...);
  }
};

struct module_parameters : Show<std::vector<Tensor>(bool)> {
  ULPSCOPE_DECLARES(parameters, std::vector<Tensor> (Class::*)(bool) const);
};
struct module_named_parameters : Show<torch::OrderedDict<std::string, Tensor>(bool)> {
  using Named = torch::OrderedDict<std::string, Tensor>;
  ULPSCOPE_DECLARES(named_parameters, Named (Class::*)(bool) const);
};
struct module_train : Show<void(bool)> {
  ULPSCOPE_DECLARES(train, void (Class::*)(bool));
};
struct module_to_dtype : Change<void(c10::ScalarType, bool)> {
  ULPSCOPE_DECLARES(to, void (Class::*)(c10::ScalarType, bool));
};
struct module_to_device_dtype : Change<void(c10::Device, c10::ScalarType, bool)> {
  ULPSCOPE_DECLARES(to, void (Class::*)(c10::Device, c10::ScalarType, bool));
};
struct module_to_device : Change<void(c10::Device, bool)> {
  ULPSCOPE_DECLARES(to, void (Class::*)(c10::Device, bool));
};
struct module_load : Change<void(torch::serialize::InputArchive&)> {
  ULPSCOPE_DECLARES(load, void (Class::*)(torch::serialize::InputArchive&));
};
/// LibTorch reports ops without a fixed order to its deterministic mode, whether it is on or not.
struct alert_not_deterministic {
  ULPSCOPE_DECLARES(alertNotDeterministic, void (*)(std::string_view const&));
  template <std::size_t kIndex>
  static void call(std::string_view const& caller) {
    if (Thread* thread = Thread::current())
      for (auto frame = thread->frames.rbegin(); frame != thread->frames.rend(); ++frame) {
        if (frame->position == ring::kNone) continue;
        frame->flags |= event_flag::not_deterministic;
        break;
      }
    next<kIndex, void(std::string_view const&)>()(caller);
  }
};
struct set_inter_op_threads {
  template <class>
  static constexpr bool kFits = requires {
    static_cast<void (*)(int)>(&at::set_num_interop_threads);
  };
  template <std::size_t kIndex>
  static void call(int threads) {
    next<kIndex, void(int)>()(threads);
    note_inter_op_threads(threads);
  }
};

/// For members without a declaration here that a wrapper could be checked against.
struct Unchecked {
  template <class>
  static constexpr bool kFits = true;
};

/// Ends without what is called at exit.
struct exit_at_once : Unchecked {
  template <std::size_t kIndex>
  [[noreturn]] static void call(int status) {
    send_outcomes_of_run(/*at_once=*/true);
    next<kIndex, void(int)>()(status);
    __builtin_unreachable();
  }
};

struct create_a_thread : Unchecked {
  template <std::size_t kIndex>
  static int call(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                  void* argument) {
    return create_thread(
        next<kIndex, int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(), thread,
        attributes, function, argument);
  }
};

/// A variadic function is called as one that takes as many long integers.
struct process_control : Unchecked {
  template <std::size_t kIndex>
  static int call(int option, unsigned long first, unsigned long second, unsigned long third,
                  unsigned long fourth) {
    before_prctl(static_cast<unsigned long>(option), first, second);
    return next<kIndex, int(int, unsigned long, unsigned long, unsigned long, unsigned long)>()(
        option, first, second, third, fourth);
  }
};

struct system_call : Unchecked {
  template <std::size_t kIndex>
  static void* wrapper() {
    return system_call_wrapper(&next_functions[kIndex]);
  }
};

/// A collective's results are complete when its Work has been waited for.
struct work_wait {
  template <class Class>
  static constexpr bool kFits = requires {
    static_cast<bool (Class::*)(std::chrono::milliseconds)>(&Class::wait);
  };
  template <std::size_t kIndex>
  static bool call(void* self, std::chrono::milliseconds timeout) {
    const bool done = next<kIndex, bool(void*, std::chrono::milliseconds)>()(self, timeout);
    if (done) note_work_done(self);
    return done;
  }
};

struct work_is_completed {
  ULPSCOPE_DECLARES(isCompleted, bool (Class::*)());
  template <std::size_t kIndex>
  static bool call(void* self) {
    const bool done = next<kIndex, bool(void*)>()(self);
    if (done && static_cast<const c10d::Work*>(self)->isSuccess()) note_work_done(self);
    return done;
  }
};

struct work_future {
  using Future = c10::intrusive_ptr<c10::ivalue::Future>;
  ULPSCOPE_DECLARES(getFuture, Future (Class::*)());
  template <std::size_t kIndex>
  static Future call(void* self) {
    note_future(self);
    return next<kIndex, Future(void*)>()(self);
  }
};

/// `data` may be a tensor's, or text that describes the archive.
struct write_record {
  using Record = const std::string&;
  ULPSCOPE_DECLARES(writeRecord, void (Class::*)(Record, const void*, std::size_t, bool));
  template <std::size_t kIndex>
  static void call(void* self, Record name, const void* data, std::size_t size, bool compress) {
    note_saved(data);
    next<kIndex, void(void*, Record, const void*, std::size_t, bool)>()(self, name, data, size,
                                                                        compress);
  }
};

#undef ULPSCOPE_DECLARES

/// An exchange of tensors that the program requests from a backend.
template <class Function, class Signature = typename Function::Signature>
struct BackendFunction;

template <class Function, class Return, class... Arguments>
struct BackendFunction<Function, Return(Arguments...)> {
  template <class Class>
  static constexpr bool kFits = Function::template kFits<Class>;

  template <std::size_t kIndex>
  static Return call(void* self, Arguments... arguments) {
    BackendCall event(self, info, [&](const c10::IValue& group) {
      return Function::arguments(group, arguments...);
    });
    const auto go_on = next<kIndex, Return(void*, Arguments...)>();
    if constexpr (std::is_void_v<Return>) {
      go_on(self, arguments...);
      event.returned([] { return c10::ArrayRef<const c10::IValue>(); });
    } else {
      Return work = go_on(self, arguments...);
      event.returned([&] { return results(work, arguments...); });
      return work;
    }
  }

 private:
  static const OpInfo* info() {
    static std::atomic<const OpInfo*> known{nullptr};
    const OpInfo* info = known.load(std::memory_order_acquire);
    if (info == nullptr) known.store(info = op_info(Function::kOp), std::memory_order_release);
    return info;
  }

  template <class First, class... Rest>
  static auto results(const backend::Work& work, const First& first, const Rest&... /*others*/) {
    if constexpr (Function::kReturns == backend::Returns::outputs_and_work)
      return backend::values(first, work);
    else
      return backend::values(work);
  }
};

using backend_broadcast = BackendFunction<backend::broadcast>;
using backend_allreduce = BackendFunction<backend::allreduce>;
using backend_allreduce_coalesced = BackendFunction<backend::allreduce_coalesced>;
using backend_reduce = BackendFunction<backend::reduce>;
using backend_allgather = BackendFunction<backend::allgather>;
using backend_allgather_base = BackendFunction<backend::allgather_base>;
using backend_allgather_coalesced = BackendFunction<backend::allgather_coalesced>;
using backend_allgather_into_tensor_coalesced =
    BackendFunction<backend::allgather_into_tensor_coalesced>;
using backend_gather = BackendFunction<backend::gather>;
using backend_scatter = BackendFunction<backend::scatter>;
using backend_reduce_scatter = BackendFunction<backend::reduce_scatter>;
using backend_reduce_scatter_base = BackendFunction<backend::reduce_scatter_base>;
using backend_reduce_scatter_tensor_coalesced =
    BackendFunction<backend::reduce_scatter_tensor_coalesced>;
using backend_alltoall_base = BackendFunction<backend::alltoall_base>;
using backend_send = BackendFunction<backend::send>;
using backend_recv = BackendFunction<backend::recv>;
using backend_recv_any_source = BackendFunction<backend::recv_any_source>;
using backend_barrier = BackendFunction<backend::barrier>;
using backend_monitored_barrier = BackendFunction<backend::monitored_barrier>;

struct foreign_memory {
  template <class>
  static constexpr bool kFits = requires {
    static_cast<at::Tensor (at::TensorMaker::*)()>(&at::TensorMaker::make_tensor);
  };
  template <std::size_t kIndex>
  static at::Tensor call(at::TensorMaker* self) {
    at::Tensor made = next<kIndex, at::Tensor(at::TensorMaker*)>()(self);
    note_foreign(made);
    return made;
  }
};

struct free_memory {
  template <class>
  static constexpr bool kFits = requires {
    static_cast<void (*)(void*)>(&c10::free_cpu);
  };
  template <std::size_t kIndex>
  static void call(void* memory) {
    if (recording() && !idle()) note_freed(memory);
    next<kIndex, void(void*)>()(memory);
  }
};

/// The autograd engine gives its thread the state of the one that called backward, around each
/// node. LibTorch then prepares the observers of ops anew for all scopes, though it nearly always
/// is the state that the thread has: where no thread has observers of its own, nothing changes.
struct observers_of_thread {
  template <class>
  static constexpr bool kFits = requires {
    static_cast<void (*)(const at::RecordFunctionTLS&)>(&at::set_record_function_tls_);
  };
  template <std::size_t kIndex>
  static void call(const at::RecordFunctionTLS& state) {
    const at::RecordFunctionTLS& known = at::get_record_function_tls_();
    const bool is_known = state.sorted_tls_callbacks_.empty() &&
                          known.sorted_tls_callbacks_.empty() &&
                          state.tls_record_function_enabled_ == known.tls_record_function_enabled_;
    if (!is_known) next<kIndex, void(const at::RecordFunctionTLS&)>()(state);
  }
};

/// An observed node is asked for its name twice, which is that of its type.
struct demangled_name {
  template <class>
  static constexpr bool kFits = requires {
    static_cast<std::string (*)(const char*)>(&c10::demangle);
  };
  template <std::size_t kIndex>
  static std::string call(const char* name) {
    if (const char* const known = known_demangled(name)) return known;
    std::string found = next<kIndex, std::string(const char*)>()(name);
    if (recording()) guarded("a name", [&] { keep_demangled(name, found); });
    return found;
  }
};

/// Members of at::cuda::CUDAGraph, whose header needs CUDA's: tests/device/graph_calls.cpp checks
/// these against it.
struct graph_capture_begin : Unchecked {
  using Pool = std::pair<unsigned long long, unsigned long long>;
  template <std::size_t kIndex>
  static void call(void* self, Pool pool, int mode) {
    next<kIndex, void(void*, Pool, int)>()(self, pool, mode);
    graph_capture_begins(self);
  }
};
struct graph_capture_end : Unchecked {
  template <std::size_t kIndex>
  static void call(void* self) {
    const struct AtEnd {
      ~AtEnd() { graph_capture_ends(graph); }
      const void* graph;
    } at_end{self};
    next<kIndex, void(void*)>()(self);
  }
};
struct graph_replay : Unchecked {
  template <std::size_t kIndex>
  static void call(void* self) {
    const GraphReplay replay(self);
    next<kIndex, void(void*)>()(self);
  }
};

constexpr std::size_t kNotOurs = kCount;

std::size_t index_of(std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (kMangledNames[i] == name) return i;
  return kNotOurs;
}

/// What calls of a symbol go through; null if this LibTorch declares it differently.
template <class Group, class Class, std::size_t kIndex>
void* wrapper_for() {
  if constexpr (!Group::template kFits<Class>)
    return nullptr;
  else if constexpr (requires { Group::template wrapper<kIndex>(); })
    return Group::template wrapper<kIndex>();
  else
    return reinterpret_cast<void*>(&Group::template call<kIndex>);
}

void* wrapper(std::size_t index) {
  static const std::array<void*, kCount> kWrappers = {
#define ULPSCOPE_SYMBOL(group, class_name, mangled) \
  wrapper_for<group, declared::class_name##Impl, k##mangled>(),
#include "preload/symbols.def"
#undef ULPSCOPE_SYMBOL
  };
  return kWrappers[index];
}

std::span<const UlpscopeSymbol> interposed;

}  // namespace

void interpose(const UlpscopeSymbol* symbols, std::size_t count) {
  interposed = {symbols, count};
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = index_of(symbols[i].name);
    if (index == kNotOurs || *symbols[i].slot == nullptr || wrapper(index) == nullptr) continue;
    if (next_functions[index] != nullptr) continue;  // wrapped for an earlier recording
    next_functions[index] = *symbols[i].slot;
    *symbols[i].slot = wrapper(index);
  }
}

void interpose_cuda() {
  void* const torch = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return;
  for (const UlpscopeSymbol& symbol : interposed) {
    const std::size_t index = index_of(symbol.name);
    if (index == kNotOurs || kClassNames[index] != "CUDAGraph") continue;
    if (next_functions[index] != nullptr) continue;
    next_functions[index] = dlsym(torch, symbol.name);
    if (next_functions[index] == nullptr) continue;
    std::atomic_ref(*symbol.slot).store(wrapper(index), std::memory_order_release);
  }
  dlclose(torch);
}

}  // namespace ulpscope::capture
