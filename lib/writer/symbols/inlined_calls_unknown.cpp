#include "writer/symbols/inlined_calls.hpp"

namespace ulpscope::writer {

struct InlinedCallReader::State {};

InlinedCallReader::InlinedCallReader() = default;
InlinedCallReader::InlinedCallReader(InlinedCallReader&&) noexcept = default;
InlinedCallReader& InlinedCallReader::operator=(InlinedCallReader&&) noexcept = default;
InlinedCallReader::~InlinedCallReader() = default;

void InlinedCallReader::read(std::string_view /*object*/, std::uint64_t /*address*/,
                             ring::InlinedCalls& /*answer*/) {}

}  // namespace ulpscope::writer
