#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace torch::nn {
class Module;
}

namespace ulpscope::capture {

/// Grows with every change of ProgramCalls.
inline constexpr std::uint32_t kProgramCallsVersion = 1;

/// What the capture library does for the program's own calls (ulpscope/ulpscope.hpp). It is loaded
/// at run time, to match the program's LibTorch, and exports this table as
/// `ulpscope_program_calls`. No call throws; while nothing is recorded none has an effect.
struct ProgramCalls {
  std::uint32_t version;

  /// True while events are wanted.
  bool (*recording)() noexcept;
  /// Why `ulpscope_capture_start_recorder` failed, as a sentence.
  std::string_view (*refusal)() noexcept;
  /// Ends the recording that the program began; returns when its dump is complete.
  void (*finish)() noexcept;

  void (*watch)(const torch::nn::Module& root, std::string_view name) noexcept;
  void (*step)() noexcept;
  /// Null if nothing is recorded. Ends on the thread on which it began, innermost first.
  void* (*begin_scope)(std::string_view name) noexcept;
  void (*end_scope)(void* scope) noexcept;
  void (*note)(std::string_view key, std::string_view value) noexcept;
  void (*note_rng)(std::string_view name, std::span<const std::byte> state) noexcept;
  void (*note_batch)(std::span<const std::int64_t> ids) noexcept;
  /// A sentence for the dump.
  void (*notice)(std::string_view sentence) noexcept;
};

using GetProgramCalls = const ProgramCalls*();

}  // namespace ulpscope::capture
