#include "capture/onednn_isa.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace ulpscope::capture {
namespace {

struct Isa {
  std::string_view name;
  std::string_view flags;  ///< beyond those of what it is based on
  std::size_t base;        ///< index of what it is based on; its own index: of nothing
};

/// From narrow to wide, as oneDNN looks for the widest (src/cpu/x64/cpu_isa_traits.hpp).
constexpr std::array kSets = {
    Isa{"SSE41", "sse4_1", 0},
    Isa{"AVX", "avx", 0},
    Isa{"AVX2", "avx2 fma bmi1 bmi2", 1},
    Isa{"AVX2_VNNI", "avx_vnni", 2},
    Isa{"AVX2_VNNI_2", "avx_vnni_int8 avx_ne_convert", 3},
    Isa{"AVX512_CORE", "avx512f avx512bw avx512vl avx512dq", 2},
    Isa{"AVX512_CORE_VNNI", "avx512_vnni", 5},
    Isa{"AVX512_CORE_BF16", "avx512_bf16", 6},
    Isa{"AVX10_1_512", "avx512_fp16 avx_vnni", 7},
    Isa{"AVX10_1_512_AMX", "amx_tile amx_int8 amx_bf16", 8},
    Isa{"AVX10_1_512_AMX_FP16", "amx_fp16", 9},
};

struct Alias {
  std::string_view name;
  std::string_view meant;
};
constexpr std::array kAliases = {
    Alias{"AVX512_CORE_FP16", "AVX10_1_512"},
    Alias{"AVX512_CORE_AMX", "AVX10_1_512_AMX"},
    Alias{"AVX512_CORE_AMX_FP16", "AVX10_1_512_AMX_FP16"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || words[at - 1] == ' ';
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool has_words(std::string_view words, std::string_view wanted) {
  while (!wanted.empty()) {
    const std::size_t blank = std::min(wanted.find(' '), wanted.size());
    if (!has_word(words, wanted.substr(0, blank))) return false;
    wanted.remove_prefix(std::min(blank + 1, wanted.size()));
  }
  return true;
}

/// Whether `set` is `limit` or something that it is based on.
bool is_part_of(std::size_t set, std::size_t limit) {
  while (limit != set && kSets[limit].base != limit) limit = kSets[limit].base;
  return limit == set;
}

bool is_there(std::string_view cpu_flags, std::size_t set) {
  if (!has_words(cpu_flags, kSets[set].flags)) return false;
  return kSets[set].base == set || is_there(cpu_flags, kSets[set].base);
}

/// Index of the set that `limit` names; the widest if it names none.
std::size_t widest_allowed(std::string_view limit) {
  std::string name(limit);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const Alias& alias : kAliases)
    if (name == alias.name) name = alias.meant;
  const auto found =
      std::find_if(kSets.begin(), kSets.end(), [&](const Isa& isa) { return isa.name == name; });
  return found == kSets.end() ? kSets.size() - 1 : static_cast<std::size_t>(found - kSets.begin());
}

}  // namespace

std::string onednn_isa(std::string_view cpu_flags, std::string_view limit) {
  const std::size_t widest = widest_allowed(limit);
  const bool limited = widest + 1 < kSets.size();
  for (std::size_t set = kSets.size(); set-- > 0;)
    if ((!limited || is_part_of(set, widest)) && is_there(cpu_flags, set))
      return std::string(kSets[set].name);
  return {};
}

}  // namespace ulpscope::capture
