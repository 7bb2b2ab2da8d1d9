#include "cli/engines/engines_text.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/engines/recorded_convolution.hpp"
#include "cli/library_beside.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/numbers.hpp"
#include "cli/term/table.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

using device::EngineFunctions;
using device::EngineMatch;
using device::EngineOutcome;
using device::EngineOutcomes;

const EngineFunctions& engine_functions() {
  constexpr std::string_view kName = "libulpscope_cudnn.so";
  const auto path = library_beside(kName);
  if (!path)
    throw Error(ErrorCode::usage, fmt::format("there is no {} beside this ulpscope", kName),
                "build it where nvcc and cuDNN 9 are");
  void* const library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorCode::usage, fmt::format("{} cannot be loaded: {}", kName, escaped(dlerror())),
                "cuDNN 9 must be among the libraries of this machine");
  const auto get = reinterpret_cast<decltype(&ulpscope_cudnn_functions)>(
      dlsym(library, "ulpscope_cudnn_functions"));
  const EngineFunctions* const functions =
      get == nullptr ? nullptr : get(EngineFunctions::kVersion);
  if (functions == nullptr)
    throw Error(ErrorCode::usage, fmt::format("{} is of another version", kName),
                "install both from one build");
  if (const char* const why = functions->problem())
    throw Error(ErrorCode::usage, fmt::format("no engine of cuDNN can run here: {}", escaped(why)),
                "call it where a GPU is; a dump may be copied there");
  return *functions;
}

std::string notes_text(std::uint32_t notes) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 5> kWords{
      {{device::kTensorCores, "tensor cores"},
       {device::kConvertsInputsDown, "rounds inputs"},
       {device::kReducedPrecisionSums, "short sums"},
       {device::kFourier, "FFT"},
       {device::kWinograd, "Winograd"}}};
  std::vector<std::string_view> words;
  for (const auto& [note, word] : kWords)
    if (notes & note) words.push_back(word);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string distance_text(const Difference& difference) {
  if (difference.differing == 0) return "same bits";
  return fmt::format("{} differ, {} ULP", grouped(difference.differing),
                     grouped(difference.ulp_max));
}

std::vector<Cell> outcome_row(const EngineOutcome& outcome, bool used) {
  const auto number = fmt::format("{}{}", used ? "> " : "", outcome.trial.engine);
  if (outcome.trial.repeats.empty()) return {{number, Ink::dim, true}, {outcome.why_not, Ink::dim}};
  const bool same = repeats_agree(outcome.trial);
  return {{number, used ? Ink::bold : Ink::plain, true},
          {outcome.trial.noted_deterministic ? "yes" : "no"},
          {same ? "agree" : "differ", same ? Ink::plain : Ink::yellow},
          {distance_text(outcome.trial.to_runs[0])},
          {outcome.from_float64 ? distance_text(*outcome.from_float64) : "not known"},
          {notes_text(outcome.run.notes), Ink::dim}};
}

std::string used_text(const device::UsedEngine& used) {
  switch (used.match) {
    case EngineMatch::none:
      return "none: no engine ran";
    case EngineMatch::nearest:
      return fmt::format("no engine gives the recorded bits; {} is nearest", used.engine);
    case EngineMatch::bits:
      break;
  }
  if (used.others.empty()) return fmt::format("engine {} gives the recorded bits", used.engine);
  return fmt::format("engine {} gives the recorded bits, as do {}", used.engine,
                     fmt::join(used.others, ", "));
}

}  // namespace

void render_engines(const Run& run, std::uint32_t rank, const Event& event, Page& page) {
  const EngineFunctions& functions = engine_functions();
  const device::EngineOptions options;
  for (const EventConvolution& one : convolutions_of(run, rank, event)) {
    const std::array<std::span<const std::byte>, 1> results{one.bytes};
    const EngineOutcomes outcomes = try_engines(functions, one.convolution, results, options);
    page.line();
    page.labelled("result", one.result, Ink::bold);
    if (!outcomes.failure.empty()) {
      page.labelled("engines", fmt::format("none: {}", escaped(outcomes.failure)));
      continue;
    }
    page.labelled("engines", fmt::format("{} that cuDNN {}.{}.{} has, each run {} times",
                                         outcomes.engines.size(), functions.library / 10000,
                                         functions.library / 100 % 100, functions.library % 100,
                                         options.repeats));
    page.labelled("used", used_text(outcomes.used[0]));
    page.line();
    Table table;
    table.row({{"engine", Ink::dim, true},
               {"deterministic", Ink::dim},
               {"repeats", Ink::dim},
               {"from the run", Ink::dim},
               {"from float64", Ink::dim},
               {"notes", Ink::dim}});
    for (const EngineOutcome& outcome : outcomes.engines) {
      const bool used = outcomes.used[0].match != EngineMatch::none &&
                        outcomes.used[0].engine == outcome.trial.engine;
      table.row(outcome_row(outcome, used));
    }
    for (const std::string& line : table.lines(page.terminal())) page.line(line);
  }
}

}  // namespace ulpscope::cli
