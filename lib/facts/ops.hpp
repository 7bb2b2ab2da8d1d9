#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What is known about LibTorch's ops and not in their schemas: one row an op (op_table.cpp), for
/// capture, the comparison, its causes, checks and budgets. Names are those of
/// native_functions.yaml (aten/src/ATen/native upstream).
namespace ulpscope::facts {

/// Each rounding error model by its name (lib/compare/measure/BUDGET.md).
#define ULPSCOPE_ERROR_MODELS(X) \
  X(exact)                       \
  X(exact_unless_complex)        \
  X(exact_unless_scaled)         \
  X(quotient)                    \
  X(square_root)                 \
  X(function)                    \
  X(gated_function)              \
  X(gamma_function)              \
  X(log_odds)                    \
  X(function_backward)           \
  X(difference_from_one)         \
  X(halves_backward)             \
  X(difference_of_products)      \
  X(fused_arithmetic)            \
  X(interpolation)               \
  X(evenly_spaced)               \
  X(sampling)                    \
  X(random_numbers)              \
  X(matrix_product)              \
  X(trilinear)                   \
  X(convolution)                 \
  X(convolution_backward)        \
  X(attention)                   \
  X(attention_backward)          \
  X(recurrent)                   \
  X(recurrent_backward)          \
  X(cell_backward)               \
  X(sum)                         \
  X(mean)                        \
  X(cumulative_sum)              \
  X(product)                     \
  X(margin_loss)                 \
  X(positive_sum)                \
  X(nll_loss)                    \
  X(pooling)                     \
  X(pooling_backward)            \
  X(accumulated_rows)            \
  X(bag_of_rows)                 \
  X(fourier)                     \
  X(gathered_rows)               \
  X(padding_backward)            \
  X(layer_norm)                  \
  X(layer_norm_backward)         \
  X(batch_norm)                  \
  X(batch_norm_backward)         \
  X(group_norm)                  \
  X(group_norm_backward)         \
  X(rms_norm)                    \
  X(rms_norm_backward)           \
  X(weight_norm)                 \
  X(weight_norm_backward)        \
  X(softmax)                     \
  X(log_softmax)                 \
  X(softmax_backward)            \
  X(log_softmax_backward)        \
  X(log_sum)                     \
  X(ctc_loss)                    \
  X(ctc_loss_backward)

enum class ErrorModel : std::uint8_t {
  none,
#define ULPSCOPE_ENUMERATOR(model) model,
  ULPSCOPE_ERROR_MODELS(ULPSCOPE_ENUMERATOR)
#undef ULPSCOPE_ENUMERATOR
};

/// True for the models of sums of products, whose operands a matrix unit may round.
[[nodiscard]] bool multiplies(ErrorModel model) noexcept;

/// What an op does, as far as that decides which settings can change its bits.
enum class OpClass : std::uint8_t {
  other,
  gemm,  ///< sums of products
  convolution,
  reduction,  ///< sums, so that their order matters
  normalization,
  transcendental,  ///< functions that libraries approximate
  random,
  elementwise,  ///< moves elements, or rounds each once: no setting of the CPU matters
};

/// Facts of which a row has any number.
namespace fact {

// What its results depend on.
inline constexpr std::uint32_t symmetric = 1U << 0;  ///< not on the order of its operands
inline constexpr std::uint32_t picks = 1U << 1;      ///< its arguments choose elements of its input
inline constexpr std::uint32_t chooses = 1U << 2;    ///< returns the place of one of equal elements
inline constexpr std::uint32_t scatters = 1U << 3;   ///< writes to where its indices point
inline constexpr std::uint32_t casts = 1U << 4;      ///< may convert to a different dtype
inline constexpr std::uint32_t adds_self = 1U << 5;  ///< a sum of products, and of `self`
/// Adds or writes in no fixed order outside deterministic mode, in several CPU threads or on a GPU:
/// from the places in ATen that check for it (LibTorch 2.6 to 2.14).
inline constexpr std::uint32_t unordered_on_threads = 1U << 6;
inline constexpr std::uint32_t unordered_on_gpu = 1U << 7;

// Who calls it.
/// Between nodes, autograd's engine sums gradients of a value that several read, and gives them the
/// value's shape and dtype.
inline constexpr std::uint32_t of_engine = 1U << 8;
/// AccumulateGrad keeps the first gradient of a parameter: unchanged, or copied into its layout.
inline constexpr std::uint32_t takes_over = 1U << 9;
inline constexpr std::uint32_t ends_update = 1U << 10;  ///< in place, the last op of an update
inline constexpr std::uint32_t relays_out = 1U << 11;   ///< copies into a different layout

// What it does to memory.
inline constexpr std::uint32_t factory = 1U << 12;  ///< returns memory that nothing has written
/// In place, `self`'s old content does not matter.
inline constexpr std::uint32_t overwrites_self = 1U << 13;
/// In place, `self` is left as it is but where the other arguments say.
inline constexpr std::uint32_t keeps_rest = 1U << 23;
/// Of its first argument only shape, dtype and device matter.
inline constexpr std::uint32_t self_is_metadata = 1U << 14;
inline constexpr std::uint32_t other_is_metadata = 1U << 15;  ///< of its second argument
/// Marked as writing `self`, but changes only what it refers to.
inline constexpr std::uint32_t rearranges = 1U << 16;
inline constexpr std::uint32_t may_copy = 1U << 17;  ///< what it returns as a view may be a copy
/// Has a kernel of its own that computes only through the ops it calls.
inline constexpr std::uint32_t wrapper = 1U << 18;
/// `set_data` asks it whether its first tensor may refer to the second's memory.
inline constexpr std::uint32_t adopts = 1U << 20;
/// What it reads leaves the run: as numbers of Python or NumPy after it, by no op, or in a file.
inline constexpr std::uint32_t leaves_run = 1U << 22;
/// Its overload `Scalar` wraps the number and calls the overload `Tensor`.
inline constexpr std::uint32_t wraps_number = 1U << 19;

// How a GPU computes it.
/// With a constant or a function of float32, numbers of float64 too.
inline constexpr std::uint32_t float32_on_gpu = 1U << 21;

}  // namespace fact

/// One op's row; an op without one has no facts.
class Row {
 public:
  constexpr Row(std::string_view name, ErrorModel model, std::uint32_t facts = 0) noexcept
      : name_(name), facts_(facts), model_(model) {}
  constexpr Row(std::string_view name, OpClass op_class, std::uint32_t facts = 0) noexcept
      : name_(name), facts_(facts), class_(op_class) {}

  /// Writes these arguments though its schema does not say so.
  template <class... Index>
  [[nodiscard]] constexpr Row writes(Index... arguments) const noexcept {
    Row row = *this;
    row.undeclared_ = static_cast<std::uint8_t>((... | (1U << arguments)));
    return row;
  }

  /// The bytes of these returns are working memory, or partly unwritten.
  template <class... Index>
  [[nodiscard]] constexpr Row leaves_unspecified(Index... returns) const noexcept {
    Row row = *this;
    row.unspecified_ = static_cast<std::uint8_t>((... | (1U << returns)));
    return row;
  }

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] constexpr ErrorModel error_model() const noexcept { return model_; }
  [[nodiscard]] OpClass op_class() const noexcept;
  [[nodiscard]] constexpr bool has(std::uint32_t any_fact) const noexcept {
    return (facts_ & any_fact) != 0;
  }
  [[nodiscard]] constexpr bool writes_undeclared(std::size_t argument) const noexcept {
    return argument < kMost && (undeclared_ >> argument & 1U) != 0;
  }
  [[nodiscard]] constexpr bool is_unspecified(std::size_t returned) const noexcept {
    return returned < kMost && (unspecified_ >> returned & 1U) != 0;
  }

 private:
  static constexpr std::size_t kMost = 8;

  std::string_view name_;
  std::uint32_t facts_ = 0;
  ErrorModel model_ = ErrorModel::none;
  OpClass class_ = OpClass::other;
  std::uint8_t undeclared_ = 0;
  std::uint8_t unspecified_ = 0;
};

/// An op by the name that the dispatcher gives it ("aten::_foreach_add_"), taken apart.
class Op {
 public:
  /// `name` must outlive it.
  explicit Op(std::string_view name) noexcept;

  /// Without namespace, the underscore of an in-place op, and `_foreach_`: "add".
  [[nodiscard]] std::string_view plain_name() const noexcept { return plain_; }
  [[nodiscard]] bool is_in_place() const noexcept { return in_place_; }
  [[nodiscard]] bool is_foreach() const noexcept { return foreach_; }
  /// The row of an op of the namespace `aten`, in place, foreach or not.
  [[nodiscard]] const Row& row() const noexcept { return *row_; }
  [[nodiscard]] bool has(std::uint32_t any_fact) const noexcept { return row_->has(any_fact); }

 private:
  const Row* row_;
  std::string_view plain_;
  bool in_place_ = false;
  bool foreach_ = false;
};

/// What an op does. One without a row is judged by the words in its name: ops that a program
/// defines are called after what they compute.
[[nodiscard]] OpClass class_of(std::string_view op) noexcept;

/// The library that computes an op, by its name; empty for ATen's own kernels.
[[nodiscard]] std::string_view backend_of(std::string_view op) noexcept;

/// True for an op or scope that a compiler has put in place of several ops.
[[nodiscard]] bool is_compiled(std::string_view op) noexcept;

/// False for an op registered by the program or by a library other than LibTorch: what its kernel
/// does is known only from memory. Rare namespaces of LibTorch may be missing.
[[nodiscard]] bool is_of_libtorch(std::string_view op) noexcept;

}  // namespace ulpscope::facts
