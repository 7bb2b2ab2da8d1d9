#pragma once

#include <cstddef>
#include <string_view>

/// What a schema does not say about an op. Names with namespace, as in native_functions.yaml
/// (aten/src/ATen/native upstream); the sources of each fact are in op_tables.cpp.
namespace ulpscope::capture {

/// Returns memory that nothing has written (`empty`, `empty_like`, `new_empty`, ...).
[[nodiscard]] bool is_factory(std::string_view op) noexcept;

/// The written argument's old content does not matter (`fill_`, random fills, `copy_`'s target).
[[nodiscard]] bool only_overwrites(std::string_view op, std::size_t argument) noexcept;

/// False for an op registered by the program or by a library other than LibTorch: what its kernel
/// does is known only from memory. Rare namespaces of LibTorch may be missing.
[[nodiscard]] bool is_of_libtorch(std::string_view op) noexcept;

/// May write the argument without an alias mark in its schema (batch-norm running statistics,
/// arguments of ops that the program defines).
[[nodiscard]] bool writes_undeclared(std::string_view op, std::size_t argument) noexcept;

/// Uses only the argument's shape, dtype or device (`empty_like`, `new_zeros`, ...).
[[nodiscard]] bool reads_metadata_only(std::string_view op, std::size_t argument) noexcept;

/// Marked as writing its argument, but only changes what it refers to (`set_data`,
/// `requires_grad_`).
[[nodiscard]] bool rearranges_in_place(std::string_view op) noexcept;

/// Its alias return may be a copy (`contiguous`, `to`, `reshape`).
[[nodiscard]] bool may_copy(std::string_view op) noexcept;

/// Has its own kernel, but computes only through the ops it calls (`clone`, `zeros`,
/// `convolution`): its result has been digested when the inner op ended.
[[nodiscard]] bool computes_through_ops(std::string_view op, std::string_view overload) noexcept;

/// The return's bytes are working memory that no later op interprets by value across runs, or is
/// left partly unwritten by the op itself.
[[nodiscard]] bool is_scratch(std::string_view op, std::size_t index) noexcept;

}  // namespace ulpscope::capture
