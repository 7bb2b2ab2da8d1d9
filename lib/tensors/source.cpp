#include "tensors/source.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ulpscope::tensors {

HeldBytes Source::hold(std::uint64_t offset, std::uint64_t bytes) const {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  auto held = std::make_shared<std::vector<std::byte>>();
  const auto reader = stream(offset, bytes);
  // It grows with what arrives: a size that is merely claimed takes no memory.
  while (held->size() < bytes) {
    const std::size_t done = held->size();
    held->resize(done + std::min<std::uint64_t>(kPiece, bytes - done));
    reader->read(std::span(*held).subspan(done));
  }
  return {*held, held};
}

}  // namespace ulpscope::tensors
