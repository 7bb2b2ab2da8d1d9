#include <fmt/format.h>

#include "cli/record/symboliser.hpp"

namespace ulpscope::cli {

struct Symboliser::State {};

Symboliser::Symboliser() = default;
Symboliser::Symboliser(Symboliser&&) noexcept = default;
Symboliser& Symboliser::operator=(Symboliser&&) noexcept = default;
Symboliser::~Symboliser() = default;

std::string Symboliser::operator()(std::string_view object, std::uint64_t offset) {
  return fmt::format("{}+{:#x}", object.substr(object.rfind('/') + 1), offset);
}

std::string Symboliser::library() { return "no library (addresses only)"; }

}  // namespace ulpscope::cli
