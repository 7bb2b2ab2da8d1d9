#include "ulpscope/digest.hpp"

#include "core/digest_kernel.hpp"

namespace ulpscope {
namespace core {

const DigestKernel& digest_kernel(CpuLevel level) noexcept {
#if defined(__x86_64__)
  if (level == CpuLevel::avx512) return kDigestAvx512;
  if (level == CpuLevel::avx2) return kDigestAvx2;
#else
  static_cast<void>(level);
#endif
  return kDigestBaseline;
}

}  // namespace core

namespace {

const core::DigestKernel& best_kernel() noexcept {
  static const core::DigestKernel& best = core::digest_kernel(core::best_level());
  return best;
}

}  // namespace

std::string to_string(const Digest& digest) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    const auto shift = static_cast<unsigned>(60 - 4 * i);
    text[i] = kHex[(digest.high >> shift) & 15];
    text[16 + i] = kHex[(digest.low >> shift) & 15];
  }
  return text;
}

Digest digest(std::span<const std::byte> bytes) noexcept {
  return best_kernel().whole(bytes.data(), bytes.size());
}

DigestStream::DigestStream() noexcept {
  static_assert(sizeof(state_) == core::kTreeBytes);
  static_assert(alignof(DigestStream) == core::kTreeAlignment);
  best_kernel().start(state_.data());
}

void DigestStream::update(std::span<const std::byte> bytes) noexcept {
  best_kernel().update(state_.data(), bytes.data(), bytes.size());
}

void DigestStream::update_zeros(std::uint64_t size) noexcept {
  best_kernel().update_zeros(state_.data(), size);
}

Digest DigestStream::finish() noexcept { return best_kernel().finish(state_.data()); }

}  // namespace ulpscope
