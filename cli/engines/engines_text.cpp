#include "cli/engines/engines_text.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/base/library_beside.hpp"
#include "cli/engines/recorded_convolution.hpp"
#include "cli/term/escape.hpp"
#include "cli/term/table.hpp"
#include "core/counts.hpp"
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
    throw Error(ErrorCode::usage, fmt::format("{} has a different version", kName),
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
  return fmt::format("{} differ, {} ULP", core::grouped(difference.differing),
                     core::grouped(difference.ulp_max));
}

std::vector<Cell> outcome_row(const EngineOutcome& outcome, bool used, std::size_t runs) {
  const auto number = fmt::format("{}{}", used ? "> " : "", outcome.trial.engine);
  if (outcome.trial.repeats.empty()) return {{number, Ink::dim, true}, {outcome.why_not, Ink::dim}};
  const bool same = repeats_agree(outcome.trial);
  std::vector<Cell> row{{number, used ? Ink::bold : Ink::plain, true},
                        {outcome.trial.noted_deterministic ? "yes" : "no"},
                        {same ? "agree" : "differ", same ? Ink::plain : Ink::yellow}};
  for (std::size_t run = 0; run < runs; ++run)
    row.push_back({distance_text(outcome.trial.to_runs[run])});
  row.push_back({outcome.from_float64 ? distance_text(*outcome.from_float64) : "not known"});
  row.push_back({notes_text(outcome.run.notes), Ink::dim});
  return row;
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

[[nodiscard]] bool same_inputs(const EventConvolution& a, const EventConvolution& b) {
  const auto same = [](const device::RecordedTensor& left, const device::RecordedTensor& right) {
    return left.sizes == right.sizes && left.bytes == right.bytes;
  };
  return a.result == b.result && a.convolution.dtype == b.convolution.dtype &&
         a.bytes.size() == b.bytes.size() && a.convolution.padding == b.convolution.padding &&
         a.convolution.stride == b.convolution.stride &&
         a.convolution.dilation == b.convolution.dilation &&
         same(a.convolution.image, b.convolution.image) &&
         same(a.convolution.filter, b.convolution.filter) &&
         same(a.convolution.response, b.convolution.response);
}

/// The same convolutions as the other run recorded them; empty without one.
std::vector<EventConvolution> of_the_other(const std::vector<EventConvolution>& own,
                                           const RecordedEvent* other) {
  if (other == nullptr) return {};
  std::vector<EventConvolution> theirs = convolutions_of(other->run, other->rank, other->event);
  if (!std::equal(own.begin(), own.end(), theirs.begin(), theirs.end(), same_inputs))
    throw Error(
        ErrorCode::usage,
        fmt::format("in '{}' event {} is a different convolution, or has other inputs",
                    escaped(other->run.info().path), other->event.position),
        "engines are identified by their results on equal inputs: name the first finding of "
        "ulpscope compare");
  return theirs;
}

void print_outcomes(const EngineOutcomes& outcomes, std::size_t runs, Page& page) {
  Table table;
  std::vector<Cell> head{
      {"engine", Ink::dim, true}, {"deterministic", Ink::dim}, {"repeats", Ink::dim}};
  head.push_back({"from the run", Ink::dim});
  if (runs > 1) head.push_back({"from the other run", Ink::dim});
  head.push_back({"from float64", Ink::dim});
  head.push_back({"notes", Ink::dim});
  table.row(std::move(head));
  for (const EngineOutcome& outcome : outcomes.engines) {
    bool used = false;
    for (std::size_t run = 0; run < runs; ++run)
      used = used || (outcomes.used[run].match != EngineMatch::none &&
                      outcomes.used[run].engine == outcome.trial.engine);
    table.row(outcome_row(outcome, used, runs));
  }
  for (const std::string& line : table.lines(page.terminal())) page.line(line);
}

}  // namespace

void render_engines(const RecordedEvent& recorded, const RecordedEvent* other, Page& page) {
  const EngineFunctions& functions = engine_functions();
  const device::EngineOptions options;
  const auto own = convolutions_of(recorded.run, recorded.rank, recorded.event);
  const auto theirs = of_the_other(own, other);
  for (std::size_t k = 0; k < own.size(); ++k) {
    std::vector<std::span<const std::byte>> results{own[k].bytes};
    if (!theirs.empty()) results.emplace_back(theirs[k].bytes);
    const EngineOutcomes outcomes = try_engines(functions, own[k].convolution, results, options);
    page.line();
    page.labelled("result", own[k].result, Ink::bold);
    if (!outcomes.failure.empty()) {
      page.labelled("engines", fmt::format("none: {}", escaped(outcomes.failure)));
      continue;
    }
    page.labelled("engines", fmt::format("{} that cuDNN {}.{}.{} has, each run {} times",
                                         outcomes.engines.size(), functions.library / 10000,
                                         functions.library / 100 % 100, functions.library % 100,
                                         options.repeats));
    page.labelled("used", used_text(outcomes.used[0]));
    if (!theirs.empty()) page.labelled("other run", used_text(outcomes.used[1]));
    page.line();
    print_outcomes(outcomes, results.size(), page);
  }
}

}  // namespace ulpscope::cli
