#include "cli/check/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "cli/base/nearest.hpp"
#include "cli/base/words.hpp"
#include "ulpscope/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view kEnvironment = "env:";

/// An instruction set, as the libraries that choose kernels by it call it.
struct Isa {
  std::string_view name;
  std::string_view aten;
  std::string_view onednn;
  std::string_view mkl;
};

// ATen: aten/src/ATen/native/DispatchStub.cpp; oneDNN:
// doc/performance_considerations/dispatcher_control.md.
constexpr std::array kIsas{
    Isa{"default", "default", "SSE41", "SSE4_2"},
    Isa{"avx2", "avx2", "AVX2", "AVX2"},
    Isa{"avx512", "avx512", "AVX512_CORE", "AVX512"},
};

const Isa* find_isa(std::string_view name) {
  const auto found =
      std::find_if(kIsas.begin(), kIsas.end(), [&](const Isa& isa) { return isa.name == name; });
  return found == kIsas.end() ? nullptr : &*found;
}

bool is_thread_count(std::string_view value) {
  unsigned number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && rest == value.data() + value.size() && number > 0 &&
         number <= 4096;
}

bool takes(const Variation& variation, const std::string& value) {
  if (variation.name == "threads") return is_thread_count(value);
  if (variation.name == "isa") return find_isa(value) != nullptr;
  if (variation.name.starts_with(kEnvironment)) return true;
  return value == "on" || value == "off";
}

std::string_view expected_values(const std::string& name) {
  if (name == "threads") return "thread counts, as threads=1,2";
  if (name == "isa") return "default, avx2 and avx512, as isa=default,avx2";
  return "on and off";
}

void require_known(const std::string& source, const std::string& name) {
  if (name.starts_with(kEnvironment) && name.size() > kEnvironment.size()) return;
  const std::vector<std::string> known{"threads", "isa", "mkldnn", "deterministic", "env:NAME"};
  if (std::find(known.begin(), known.end() - 1, name) != known.end() - 1) return;
  const std::string meant = nearest(name, known);
  throw Error(ErrorCode::usage, fmt::format("{} does not know '{}'", source, name),
              meant.empty() ? fmt::format("it takes {}", fmt::join(known, ", "))
                            : fmt::format("did you mean {}?", meant));
}

void set_isa(Variant& variant, const Isa& isa) {
  variant.variables.emplace_back("ATEN_CPU_CAPABILITY", isa.aten);
  variant.variables.emplace_back("ONEDNN_MAX_CPU_ISA", isa.onednn);
  variant.variables.emplace_back("MKL_ENABLE_INSTRUCTIONS", isa.mkl);
}

void apply(Variant& variant, const Variation& variation, const std::string& value) {
  for (std::string& word : variant.command)
    word = replaced(word, fmt::format("{{{}}}", variation.name), value);
  if (variation.name == "threads") {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"})
      variant.variables.emplace_back(name, value);
  } else if (variation.name == "isa") {
    set_isa(variant, *find_isa(value));
  } else if (variation.name.starts_with(kEnvironment)) {
    variant.variables.emplace_back(variation.name.substr(kEnvironment.size()), value);
  } else {
    variant.record_options.insert(variant.record_options.end(),
                                  {"--set", fmt::format("{}={}", variation.name, value)});
  }
  const std::string setting = fmt::format("{}={}", variation.name, value);
  variant.label = variant.label.empty() ? setting : fmt::format("{} {}", variant.label, setting);
}

}  // namespace

Variation variation(const std::string& source, const std::string& value) {
  const std::size_t equals = value.find('=');
  Variation result{value.substr(0, equals), {}};
  require_known(source, result.name);
  if (equals != std::string::npos) result.values = split(value.substr(equals + 1), ',');
  if (result.values.size() < 2) {
    throw Error(ErrorCode::usage,
                fmt::format("{} {} needs two values or more", source, result.name),
                fmt::format("give it as {} {}=a,b", source, result.name));
  }
  for (const std::string& one : result.values) {
    if (takes(result, one)) continue;
    throw Error(ErrorCode::usage, fmt::format("{} {} does not take '{}'", source, result.name, one),
                fmt::format("it takes {}", expected_values(result.name)));
  }
  return result;
}

std::string key_of(const Variation& variation) {
  if (variation.name == "threads") return "threads.intra_op";
  if (variation.name == "isa") return "cpu.capability";
  if (variation.name == "mkldnn") return "flag.mkldnn.enabled";
  if (variation.name == "deterministic") return "flag.deterministic_algorithms";
  return {};
}

std::vector<Variant> variants_of(const std::vector<std::string>& command,
                                 const std::vector<Variation>& variations) {
  std::vector<Variant> variants{{{}, command, {}, {}}};
  for (const Variation& variation : variations) {
    std::vector<Variant> more;
    for (const Variant& variant : variants) {
      for (const std::string& value : variation.values) {
        more.push_back(variant);
        apply(more.back(), variation, value);
      }
    }
    variants = std::move(more);
  }
  return variants;
}

std::vector<std::string> command_of_run(const std::vector<std::string>& command, std::size_t run) {
  std::vector<std::string> words;
  for (const std::string& word : command)
    words.push_back(replaced(word, "{run}", std::to_string(run)));
  return words;
}

}  // namespace ulpscope::cli
