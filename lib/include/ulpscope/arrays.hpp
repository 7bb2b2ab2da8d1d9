#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// xtensor 0.26 moved its headers.
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#endif

#include "ulpscope/dtype.hpp"
#include "ulpscope/error.hpp"
#include "ulpscope/stored_value.hpp"

/// Values of a dump as xtensor's arrays:
///
///     const auto dump = ulpscope::open_dump("runs/a");
///     const auto output =
///         ulpscope::read_value<float>(*dump, "steps/000003/forward/conv1/0/output.0");
///     for (const ulpscope::Value& value : ulpscope::values(*dump, "steps/000003/**"))
///       if (value.dtype() == ulpscope::Dtype::float32) use(value.view<float>());
///
/// Link `ulpscope::arrays`, which brings xtensor and `ulpscope::values`; no other header needs it.
///
/// Axes, their order and units are those of the recorded tensor, in row-major order whatever its
/// strides were: an output of Conv2d is [batch, channel, height, width]. A 0-d tensor is an array
/// without dimensions, an empty one has a size of 0.
///
/// float16, bfloat16 and the fp8 types are widened to float, and complex32 to std::complex<float>,
/// which changes no number. The payload of a NaN is lost in that, and only there.
namespace ulpscope {

namespace detail {

template <class T>
struct IsComplex : std::false_type {};
template <std::floating_point T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

/// The dtype whose elements T is.
template <class T>
[[nodiscard]] constexpr Dtype dtype_of() {
  if constexpr (std::same_as<T, bool>) return Dtype::bool_;
  if constexpr (std::same_as<T, float>) return Dtype::float32;
  if constexpr (std::same_as<T, double>) return Dtype::float64;
  if constexpr (std::same_as<T, std::complex<float>>) return Dtype::complex64;
  if constexpr (std::same_as<T, std::complex<double>>) return Dtype::complex128;
  if constexpr (Integer<T>) {
    constexpr bool kSigned = std::signed_integral<T>;
    if constexpr (sizeof(T) == 1) return kSigned ? Dtype::int8 : Dtype::uint8;
    if constexpr (sizeof(T) == 2) return kSigned ? Dtype::int16 : Dtype::uint16;
    if constexpr (sizeof(T) == 4) return kSigned ? Dtype::int32 : Dtype::uint32;
    if constexpr (sizeof(T) == 8) return kSigned ? Dtype::int64 : Dtype::uint64;
  }
  return Dtype::undefined;
}

/// Whether T has every number that From has.
template <class T, class From>
[[nodiscard]] constexpr bool holds() {
  if constexpr (IsComplex<T>::value) {
    if constexpr (IsComplex<From>::value)
      return holds<typename T::value_type, typename From::value_type>();
    else
      return holds<typename T::value_type, From>();
  } else if constexpr (IsComplex<From>::value || std::same_as<T, bool>) {
    return std::same_as<T, From>;
  } else {
    using To = std::numeric_limits<T>;
    using Of = std::numeric_limits<From>;
    return To::is_integer <= Of::is_integer && To::digits >= Of::digits &&
           To::is_signed >= Of::is_signed;
  }
}

template <class T, class From>
[[nodiscard]] T converted(From element) {
  if constexpr (IsComplex<T>::value && !IsComplex<From>::value)
    return T(static_cast<typename T::value_type>(element));
  else
    return static_cast<T>(element);
}

/// Calls use(From{}) for the type that holds elements of a dtype in memory.
template <class Use>
decltype(auto) with_type(Dtype in_memory, Use&& use) {
  switch (in_memory) {
    case Dtype::bool_:
      return use(bool{});
    case Dtype::uint8:
      return use(std::uint8_t{});
    case Dtype::uint16:
      return use(std::uint16_t{});
    case Dtype::uint32:
      return use(std::uint32_t{});
    case Dtype::uint64:
      return use(std::uint64_t{});
    case Dtype::int8:
      return use(std::int8_t{});
    case Dtype::int16:
      return use(std::int16_t{});
    case Dtype::int32:
      return use(std::int32_t{});
    case Dtype::int64:
      return use(std::int64_t{});
    case Dtype::float64:
      return use(double{});
    case Dtype::complex64:
      return use(std::complex<float>{});
    case Dtype::complex128:
      return use(std::complex<double>{});
    default:
      return use(float{});
  }
}

[[noreturn]] void refuse_type(const StoredValue& value, Dtype asked);

}  // namespace detail

/// What an element can be in C++: bool, an integer, float, double, or a complex of those two.
template <class T>
concept Element = detail::dtype_of<T>()
!= Dtype::undefined;

/// An array over the elements of a value that were read, which it keeps in memory.
template <Element T>
using ArrayView =
    decltype(xt::adapt_smart_ptr(std::declval<const T*>(), std::declval<std::vector<std::size_t>>(),
                                 std::declval<std::shared_ptr<const Elements>>()));

/// A value of a dump. Its bytes are read by each call of read() and view(), and not kept.
class Value {
 public:
  /// `run` must outlive it.
  Value(const Run& run, StoredValue about) : run_(&run), about_(std::move(about)) {}

  /// Rank, step, digest and geometry.
  [[nodiscard]] const StoredValue& about() const noexcept { return about_; }
  /// As `ulpscope inspect` prints and takes it.
  [[nodiscard]] const std::string& path() const noexcept { return about_.path; }
  /// As recorded: `bfloat16` where view() has floats.
  [[nodiscard]] Dtype dtype() const noexcept { return about_.geometry.dtype; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept {
    return about_.geometry.sizes;
  }

  /// Its elements, without a copy of what was read: T is the type of its dtype, float for float16,
  /// bfloat16 and fp8.
  /// @throws Error: usage (another T), and as read_elements().
  template <Element T>
  [[nodiscard]] ArrayView<T> view() const {
    require(detail::dtype_of<T>() == in_memory(), detail::dtype_of<T>());
    auto elements = std::make_shared<const Elements>(read_elements(*run_, about_));
    return xt::adapt_smart_ptr(reinterpret_cast<const T*>(elements->bytes.data()), elements->shape,
                               std::move(elements));
  }

  /// Its elements as numbers of type T, which may be wider than the value's dtype: float for int16,
  /// double for float, std::complex<double> for all but 64-bit integers.
  /// @throws Error: usage (a T that cannot hold every number of the dtype), and as read_elements().
  template <Element T>
  [[nodiscard]] xt::xarray<T> read() const {
    return detail::with_type(in_memory(), [&]<class From>(From) -> xt::xarray<T> {
      require(detail::holds<T, From>(), detail::dtype_of<T>());
      if constexpr (detail::holds<T, From>()) {
        const auto elements = view<From>();
        xt::xarray<T> array = xt::xarray<T>::from_shape(elements.shape());
        std::transform(elements.data(), elements.data() + elements.size(), array.data(),
                       [](From element) { return detail::converted<T>(element); });
        return array;
      }
      return {};
    });
  }

 private:
  [[nodiscard]] Dtype in_memory() const noexcept {
    return dtype_in_memory(dtype()).value_or(Dtype::undefined);
  }
  /// A dtype that C++ has no type for is read_elements() to refuse.
  void require(bool fits, Dtype asked) const {
    if (fits) return;
    if (in_memory() == Dtype::undefined) static_cast<void>(read_elements(*run_, about_));
    detail::refuse_type(about_, asked);
  }

  const Run* run_;
  StoredValue about_;
};

/// The values that a glob names, by rank, then by path: those of the layer tree if it is left out,
/// those of an event for "17/140913". Only what a loop asks for is read, one value at a time.
/// `run` must outlive them.
/// @throws Error as find_values().
[[nodiscard]] inline std::vector<Value> values(const Run& run, std::string_view glob = "**") {
  std::vector<Value> values;
  for (StoredValue& about : find_values(run, glob)) values.emplace_back(run, std::move(about));
  return values;
}

/// One value: read_value<float>(*dump, "steps/000003/forward/layer1.conv1/0/output.0"), or
/// "17/140913/output.0" of an event.
/// @throws Error as find_value() and Value::read().
template <Element T>
[[nodiscard]] xt::xarray<T> read_value(const Run& run, std::string_view path) {
  return Value(run, find_value(run, path)).template read<T>();
}

}  // namespace ulpscope
