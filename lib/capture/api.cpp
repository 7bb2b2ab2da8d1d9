#include "capture/api.hpp"

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <torch/nn/module.h>

#include <atomic>
#include <string>

#include "capture/memory.hpp"
#include "capture/module_names.hpp"
#include "capture/op_observer.hpp"
#include "capture/program_calls.hpp"
#include "capture/step_window.hpp"
#include "capture/thread.hpp"
#include "ulpscope/digest.hpp"

namespace ulpscope::capture {
namespace {

/// A batch of more samples is noted by its size and a digest.
constexpr std::size_t kMostIdsInWords = 64;

/// Runs `body` with the calling thread, if something is recorded.
template <class Body>
void with_thread(std::string_view call, Body&& body) noexcept {
  Thread* thread = Thread::current();
  if (thread == nullptr) return;
  const Thread::Inside inside(*thread);
  guarded(call, [&] { body(*thread); });
}

void watch(const torch::nn::Module& root, std::string_view name) noexcept {
  with_thread("Recorder::watch", [&](Thread&) { learn_module(root, name); });
}

/// What comes after it has a later epoch, which distinguishes notes.
void step() noexcept {
  with_thread("Recorder::step", [](Thread& thread) {
    step_window_sees_step();
    begin_event(thread, named_info(EventKind::step, "step"), 0, true);
    end_event(thread, thread.frames.size(), false);
    thread.epoch = next_epoch();
    thread.look_at_settings = true;
  });
}

/// A LibTorch range, so that its profiler shows it too.
void* begin_scope(std::string_view name) noexcept {
  if (!recording()) return nullptr;
  void* memory = nullptr;
  guarded("Scope", [&] {
    memory = process_memory().allocate(sizeof(at::RecordFunction), alignof(at::RecordFunction));
    auto* scope = new (memory) at::RecordFunction(at::RecordScope::USER_SCOPE);
    if (scope->isActive()) scope->before(std::string(name));
  });
  with_thread("Scope", [&](Thread& thread) {
    const std::uint32_t module = module_named(name);
    if (module != 0 && !thread.frames.empty()) thread.frames.back().module = module;
  });
  return memory;
}

void end_scope(void* memory) noexcept {
  guarded("Scope", [&] {
    auto* scope = static_cast<at::RecordFunction*>(memory);
    scope->~RecordFunction();
    process_memory().deallocate(memory, sizeof(at::RecordFunction), alignof(at::RecordFunction));
  });
}

void note(std::string_view key, std::string_view value) noexcept {
  with_thread("note",
              [&](Thread& thread) { thread.send_environment("note." + std::string(key), value); });
}

void note_rng(std::string_view name, std::span<const std::byte> state) noexcept {
  with_thread("note_rng", [&](Thread& thread) {
    thread.send_environment("note.rng." + std::string(name), to_string(digest(state)));
  });
}

std::string in_words(std::span<const std::int64_t> ids) {
  if (ids.size() > kMostIdsInWords)
    return std::to_string(ids.size()) + " ids, digest " + to_string(digest(std::as_bytes(ids)));
  std::string words = "[";
  for (const std::int64_t id : ids) words += (words.size() > 1 ? ", " : "") + std::to_string(id);
  return words + "]";
}

void note_batch(std::span<const std::int64_t> ids) noexcept {
  with_thread("note_batch",
              [&](Thread& thread) { thread.send_environment("note.batch", in_words(ids)); });
}

void notice(std::string_view sentence) noexcept {
  with_thread("Recorder", [&](Thread& thread) { thread.send_notice(sentence, /*fatal=*/false); });
}

constexpr ProgramCalls kCalls{.version = kProgramCallsVersion,
                              .recording = []() noexcept { return recording(); },
                              .refusal = refusal,
                              .finish = finish_recording,
                              .watch = watch,
                              .step = step,
                              .begin_scope = begin_scope,
                              .end_scope = end_scope,
                              .note = note,
                              .note_rng = note_rng,
                              .note_batch = note_batch,
                              .notice = notice};

using Active = std::atomic<const ProgramCalls*>;

/// The program's side as it was last notified.
std::atomic<Active*> told{nullptr};

/// The library stays mapped, because a child may be forked after the program has closed it.
Active* find_active() noexcept {
  auto* const active = static_cast<Active*>(dlsym(RTLD_DEFAULT, "ulpscope_active_calls"));
  Dl_info library{};
  if (active != nullptr && active != told.load() && dladdr(active, &library) != 0)
    (void)dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  return active;
}

}  // namespace

void tell_program(bool recording) noexcept {
  Active* const active = find_active();
  if (active != nullptr) active->store(recording ? &kCalls : nullptr, std::memory_order_release);
  told.store(active);
}

void tell_program_in_child() noexcept {
  Active* const active = told.load();
  if (active != nullptr) active->store(nullptr, std::memory_order_release);
}

}  // namespace ulpscope::capture

extern "C" __attribute__((visibility("default"))) const ulpscope::capture::ProgramCalls*
ulpscope_program_calls() {
  return &ulpscope::capture::kCalls;
}
