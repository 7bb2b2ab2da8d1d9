// What ulpscope/arrays.hpp reads of a dump: print_values DUMP. A line for each value: its path, its
// dtype, that of its elements in memory, its shape, and the bytes of read() and view().
#include <cstdio>
#include <iostream>
#include <string>

#include "ulpscope/arrays.hpp"
#include "ulpscope/dump_reader.hpp"

namespace {

template <class Array>
std::string hex_of(const Array& array) {
  std::string text(1, 'x');
  const auto* const bytes = reinterpret_cast<const unsigned char*>(array.data());
  constexpr const char* kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < array.size() * sizeof(typename Array::value_type); ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

template <class T>
void print(const ulpscope::Run& run, const ulpscope::Value& value) {
  const auto array = ulpscope::read_value<T>(run, value.path());
  std::string shape = "(";
  for (const std::size_t size : array.shape()) shape += std::to_string(size) + ",";
  std::cout << value.path() << ' ' << name(value.dtype()) << ' '
            << name(*ulpscope::dtype_in_memory(value.dtype())) << ' ' << shape << ") "
            << hex_of(array) << ' ' << hex_of(value.view<T>()) << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const auto run = ulpscope::open_dump(argv[1]);
  for (const ulpscope::Value& value : ulpscope::values(*run)) {
    const auto in_memory = ulpscope::dtype_in_memory(value.dtype());
    if (!in_memory) return 3;
    ulpscope::detail::with_type(*in_memory, [&]<class T>(T) { print<T>(*run, value); });
  }
} catch (const ulpscope::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
