#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/model/value_match.hpp"
#include "compare/model/words.hpp"
#include "compare/report/causes/rules.hpp"
#include "core/glob.hpp"
#include "facts/ops.hpp"

namespace ulpscope::comparison::causes {
namespace {

[[nodiscard]] bool is_origin(const Case& of) { return of.is(FindingKind::origin); }

void add_settings(Cause& cause, const std::vector<const EnvironmentDifference*>& settings) {
  constexpr std::size_t kMost = 6;
  for (std::size_t k = 0; k < std::min(settings.size(), kMost); ++k)
    cause.evidence.push_back(words(*settings[k]));
  if (settings.size() > kMost)
    cause.evidence.push_back(fmt::format("{} more settings differ", settings.size() - kMost));
}

void add_children(Cause& cause, const Finding& finding) {
  if (finding.children.reference == finding.children.candidate) {
    cause.evidence.push_back("the ops it calls inside have different dtypes or shapes");
    return;
  }
  cause.evidence.push_back(fmt::format("it calls [{}] and [{}] inside",
                                       listed(finding.children.reference),
                                       listed(finding.children.candidate)));
}

[[nodiscard]] bool other_kernels(const Finding& finding) {
  const auto& [reference, candidate] = finding.kernels;
  return !reference.empty() && !candidate.empty() && reference != candidate;
}

void add_kernels(Cause& cause, const Finding& finding) {
  cause.evidence.push_back(fmt::format("it launched the kernels [{}] and [{}]",
                                       listed(finding.kernels.reference),
                                       listed(finding.kernels.candidate)));
}

[[nodiscard]] std::vector<std::string_view> backends(const std::vector<std::string>& ops) {
  std::vector<std::string_view> found;
  for (const std::string& op : ops)
    if (const auto backend = facts::backend_of(op); !backend.empty()) found.push_back(backend);
  return found;
}

[[nodiscard]] bool other_backend(const Case& of) {
  return is_origin(of) && of.evidence().inside_differs &&
         backends(of.finding().children.reference) != backends(of.finding().children.candidate);
}

[[nodiscard]] bool other_device(const Case& of) {
  return is_origin(of) && of.evidence().on_gpu.reference != of.evidence().on_gpu.candidate;
}

/// Threads, instruction sets and versions of libraries decide which backend is called, too.
[[nodiscard]] bool others_choose_backend(const Case& of) {
  const auto& used = of.evidence().threads;
  return used.reference != used.candidate || !of.settings(Setting::threads).empty() ||
         !of.settings(Setting::isa).empty() || !of.settings(Setting::library).empty();
}

[[nodiscard]] bool other_flag(const Case& of, std::uint32_t flag) {
  return (of.evidence().event_flags.reference ^ of.evidence().event_flags.candidate) & flag;
}

}  // namespace

std::optional<Cause> threads(const Case& of) {
  if (!is_origin(of) || other_device(of)) return std::nullopt;
  const auto settings = of.settings(Setting::threads);
  const auto& used = of.evidence().threads;
  if (settings.empty() && used.reference == used.candidate) return std::nullopt;
  const OpClass op = class_of(of.finding());
  const bool reached = op == OpClass::gemm || op == OpClass::convolution ||
                       op == OpClass::reduction || op == OpClass::normalization ||
                       of.evidence().inside_differs;
  const bool untouched = !reached && op == OpClass::elementwise;
  Cause cause = of.cause("threads", untouched                              ? Confidence::possible
                                    : reached && of.only(Setting::threads) ? Confidence::certain
                                                                           : Confidence::likely);
  if (used.reference != used.candidate)
    cause.evidence.push_back(
        fmt::format("the op ran with {} and {} threads", used.reference, used.candidate));
  add_settings(cause, settings);
  if (of.evidence().inside_differs) add_children(cause, of.finding());
  if (untouched)
    cause.against.push_back(
        fmt::format("{} works element by element, where threads change nothing", of.finding().op));
  cause.attempt = {of.command("OMP_NUM_THREADS=1 MKL_NUM_THREADS=1")};
  return cause;
}

std::optional<Cause> isa(const Case& of) {
  if (!is_origin(of) || other_device(of)) return std::nullopt;
  const auto settings = of.settings(Setting::isa);
  if (settings.empty()) return std::nullopt;
  const OpClass op = class_of(of.finding());
  const bool untouched = op == OpClass::elementwise;
  Cause cause = of.cause("isa", untouched               ? Confidence::possible
                                : of.only(Setting::isa) ? Confidence::certain
                                                        : Confidence::likely);
  add_settings(cause, settings);
  if (untouched)
    cause.against.push_back(
        fmt::format("{} is rounded the same way on all instruction sets", of.finding().op));
  cause.attempt = {of.command("ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=AVX2")};
  return cause;
}

std::optional<Cause> library(const Case& of) {
  if (!is_origin(of) || other_device(of)) return std::nullopt;
  const auto settings = of.settings(Setting::library);
  if (settings.empty()) return std::nullopt;
  const bool only_program = std::all_of(
      settings.begin(), settings.end(),
      [](const EnvironmentDifference* setting) { return setting->key == "program.build_id"; });
  if (only_program) return std::nullopt;
  Cause cause =
      of.cause("library", of.only(Setting::library) ? Confidence::likely : Confidence::possible);
  add_settings(cause, settings);
  cause.attempt = {of.command("LD_LIBRARY_PATH=<the other run's libraries>")};
  return cause;
}

std::optional<Cause> backend(const Case& of) {
  if (other_device(of)) {
    Cause cause = of.cause("backend", Confidence::certain);
    const bool first = of.evidence().on_gpu.reference;
    cause.evidence = {fmt::format("the op ran on {} and on {}", first ? "a GPU" : "the CPU",
                                  first ? "the CPU" : "a GPU")};
    if (of.evidence().inside_differs) add_children(cause, of.finding());
    return cause;
  }
  const auto settings = of.settings(Setting::backend);
  const bool seen = other_backend(of);
  const OpClass op = class_of(of.finding());
  const bool reached = is_origin(of) && op != OpClass::elementwise;
  if (!seen && (settings.empty() || !reached)) return std::nullopt;
  const bool follows = settings.empty() && others_choose_backend(of);
  const Confidence of_setting =
      of.only(Setting::backend) ? Confidence::likely : Confidence::possible;
  Cause cause = of.cause("backend", !seen     ? of_setting
                                    : follows ? Confidence::possible
                                              : Confidence::certain);
  if (seen) add_children(cause, of.finding());
  add_settings(cause, settings);
  if (follows) return cause;
  cause.attempt = {
      "enable the same backends in both programs: torch.backends.mkldnn.enabled or "
      "cudnn.enabled, in C++ at::globalContext().setUserEnabledMkldnn() or CuDNN"};
  return cause;
}

/// How the kernel that a finding names is launched, where that was chosen by measuring.
std::vector<const EnvironmentDifference*> launch_of(const Case& of) {
  auto settings = of.settings(Setting::launch);
  const std::string& op = of.finding().op;
  const std::string key = "triton." + op.substr(op.rfind(':') + 1);
  settings.erase(std::remove_if(settings.begin(), settings.end(),
                                [&](const auto* setting) { return setting->key != key; }),
                 settings.end());
  return settings;
}

std::optional<Cause> algorithm(const Case& of) {
  const auto launch = launch_of(of);
  const bool kernels_differ = other_kernels(of.finding());
  if (!is_origin(of) || other_backend(of) || other_device(of)) return std::nullopt;
  if (!of.evidence().inside_differs && !kernels_differ && launch.empty()) return std::nullopt;
  const auto& used = of.evidence().threads;
  const bool threads_differ =
      used.reference != used.candidate || !of.settings(Setting::threads).empty();
  Cause cause = of.cause("algorithm", kernels_differ   ? Confidence::certain
                                      : threads_differ ? Confidence::possible
                                                       : Confidence::likely);
  if (of.evidence().inside_differs) add_children(cause, of.finding());
  if (kernels_differ) add_kernels(cause, of.finding());
  add_settings(cause, launch);
  if (threads_differ && !kernels_differ)
    cause.against.emplace_back("the thread count differs, which changes what is called inside");
  return cause;
}

std::optional<Cause> flush_denormal(const Case& of) {
  if (!is_origin(of) || !other_flag(of, event_flag::flush_denormal)) return std::nullopt;
  Cause cause = of.cause("flush-denormal", Confidence::likely);
  cause.evidence = {"denormal numbers were flushed to zero in one run only while the op ran"};
  for (const TensorReport& tensor : of.finding().tensors) {
    if (!tensor.difference) continue;
    const Difference& difference = *tensor.difference;
    const auto subnormal = std::max(difference.subnormal.reference, difference.subnormal.candidate);
    if (difference.differing > 0 && subnormal == 0) {
      cause.confidence = Confidence::possible;
      cause.against.emplace_back("no subnormal number is among the results");
    }
  }
  cause.attempt = {"call at::globalContext().setFlushDenormal(false) in both programs"};
  return cause;
}

/// A result that is explained only by operands rounded as matrix units do it.
std::optional<Cause> rounded_operands(const Case& of) {
  for (const Side side : kSides) {
    const std::string& operands = on(of.evidence().operands, side);
    if (operands.empty()) continue;
    Cause cause = of.cause(operands == "TF32" ? "tf32" : "reduced-precision", Confidence::likely);
    cause.evidence = {
        fmt::format("replayed with operands rounded to {}, {} gives the {}'s result; as they were "
                    "recorded it does not",
                    operands, of.finding().op, name(side))};
    return cause;
  }
  return std::nullopt;
}

std::optional<Cause> tf32(const Case& of) {
  if (!is_origin(of)) return std::nullopt;
  if (auto cause = rounded_operands(of)) {
    add_settings(*cause, of.settings(Setting::precision));
    cause->attempt = {of.command("NVIDIA_TF32_OVERRIDE=0")};
    return cause;
  }
  const auto settings = of.settings(Setting::precision);
  const OpClass op = class_of(of.finding());
  if (settings.empty() || (op != OpClass::gemm && op != OpClass::convolution)) return std::nullopt;
  const bool tf32 =
      std::any_of(settings.begin(), settings.end(), [](const EnvironmentDifference* setting) {
        return core::glob_match("*tf32*", setting->key) || core::glob_match("*TF32*", setting->key);
      });
  Cause cause = of.cause(tf32 ? "tf32" : "reduced-precision", Confidence::likely);
  add_settings(cause, settings);
  cause.attempt = {of.command("NVIDIA_TF32_OVERRIDE=0")};
  return cause;
}

std::optional<Cause> alignment(const Case& of) {
  if (!is_origin(of) || !of.same_settings() || of.evidence().inside_differs) return std::nullopt;
  const auto& tensors = of.evidence().tensors;
  const bool moved = std::any_of(tensors.begin(), tensors.end(), [](const TensorEvidence& tensor) {
    return tensor.alignment.reference != tensor.alignment.candidate;
  });
  const OpClass op = class_of(of.finding());
  if (!moved || op == OpClass::elementwise) return std::nullopt;
  Cause cause = of.cause("alignment", Confidence::possible);
  cause.evidence = {
      "settings are equal, and a tensor lies at a different offset from a 64-byte line"};
  cause.attempt = {of.command("MKL_CBWR=COMPATIBLE")};
  return cause;
}

std::optional<Cause> atomic(const Case& of) {
  if (!is_origin(of) || !of.same_settings()) return std::nullopt;
  const auto& flags = of.evidence().event_flags;
  const bool told = (flags.reference & flags.candidate) & event_flag::not_deterministic;
  const bool on_cpu = of.finding().device == "cpu";
  const bool serial = on_cpu && of.evidence().threads.reference < 2;
  const bool known =
      facts::Op(of.finding().op)
          .has(on_cpu ? facts::fact::unordered_on_threads : facts::fact::unordered_on_gpu);
  if (!told && (!known || serial)) return std::nullopt;
  Cause cause = of.cause("atomic", Confidence::likely);
  cause.evidence = {
      told ? fmt::format("inputs and settings are equal, and LibTorch itself says that {} is not "
                         "deterministic",
                         of.finding().op)
           : fmt::format("inputs and settings are equal, and {} adds in no fixed order",
                         of.finding().op)};
  const auto& kernels = of.finding().kernels;
  if (!kernels.reference.empty() && kernels.reference == kernels.candidate)
    cause.evidence.push_back(
        fmt::format("both runs launched the same kernels: {}", listed(kernels.reference)));
  if (told && serial) cause.against = {"it ran with one thread"};
  cause.attempt = {"at::globalContext().setDeterministicAlgorithms(true, false)",
                   of.command("OMP_NUM_THREADS=1")};
  return cause;
}

std::optional<Cause> collective(const Case& of) {
  if (!is_origin(of) || !of.finding().op.starts_with("c10d::")) return std::nullopt;
  if (const auto rank = of.evidence().contributor) {
    Cause cause = of.cause("collective", Confidence::certain);
    cause.evidence = {fmt::format("rank {}'s contribution differs", *rank)};
    cause.attempt = {fmt::format("look at the first finding of rank {}", *rank)};
    return cause;
  }
  Cause cause = of.cause("collective", Confidence::likely);
  cause.evidence = {fmt::format(
      "what this rank gave to {} is equal, what came back is not: another rank contributed "
      "something else, "
      "or the ranks were summed in a different order",
      of.finding().op)};
  cause.attempt = {"compare the other ranks up to this op", of.command("NCCL_ALGO=Ring")};
  return cause;
}

std::optional<Cause> layout(const Case& of) {
  if (!is_origin(of)) return std::nullopt;
  if (const std::string& input = of.evidence().not_compared; !input.empty()) {
    Cause cause = of.cause("layout", Confidence::likely);
    cause.evidence = {fmt::format("{} has a different layout in memory", input)};
    cause.against = {"its values were not compared"};
    cause.attempt = {"call contiguous() on the inputs in both programs"};
    return cause;
  }
  for (std::size_t k = 0; k < of.finding().tensors.size(); ++k) {
    const TensorReport& tensor = of.finding().tensors[k];
    const auto& geometry = of.evidence().tensors[k].geometry;
    if (tensor.role != Role::input || geometry.reference.strides == geometry.candidate.strides ||
        same_memory_order(geometry.reference, geometry.candidate))
      continue;
    Cause cause = of.cause("layout", of.same_settings() ? Confidence::certain : Confidence::likely);
    cause.evidence = {fmt::format("{} has equal values and a different memory format",
                                  tensor.name.empty() ? "an input" : tensor.name)};
    cause.attempt = {"call contiguous() on the inputs in both programs"};
    return cause;
  }
  return std::nullopt;
}

}  // namespace ulpscope::comparison::causes
