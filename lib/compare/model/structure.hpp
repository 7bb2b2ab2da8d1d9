#pragma once

#include <cstdint>

#include "ulpscope/run.hpp"

namespace ulpscope::comparison {

/// Whether an event's place in the program is part of what must agree: for ops in user code it is;
/// for what runs inside an op it adds nothing.
enum class Place : std::uint8_t { counts, ignored };

/// Gives its tensor different memory and computes nothing: the content of that memory, and its
/// size, come from others.
[[nodiscard]] bool gives_memory(const Event& event) noexcept;

/// The op is given this memory, to read it or to write there.
[[nodiscard]] bool is_given(const Event& op, std::uint64_t storage) noexcept;

/// The op returns a number to the program.
[[nodiscard]] bool gives_number(const Event& op);

/// True if both events are the same thing done to tensors of the same dtypes and shapes.
[[nodiscard]] bool same_structure(const Event& a, const Event& b, Place place);

/// Equal for events with the same structure.
[[nodiscard]] std::uint64_t structure_key(const Event& event, Place place);

/// Equal for events that can still be the same op with other shapes, dtypes or place.
[[nodiscard]] std::uint64_t name_key(const Event& event);

/// Hash of the digests an event reads, and of those it leaves; 0 if there are none.
[[nodiscard]] std::uint64_t input_key(const Event& event);
[[nodiscard]] std::uint64_t output_key(const Event& event);

/// Equal for events with the same non-tensor arguments.
[[nodiscard]] std::uint64_t argument_key(const Event& event);

}  // namespace ulpscope::comparison
